"""DAGOR: admission by business priority and user priority, as in WeChat's services.

DAGOR admits requests whose priority is at least a level, and adjusts this level with a histogram of
the arrivals' priorities.
"""

from collections.abc import Mapping
from zlib import crc32

from gateway.policies.concurrency_limit import FixedLimit, LimitedLine
from gateway.policies.interface import PAGES, Dispatch, Drop, Request, Verdicts
from gateway.policies.sheet import Sheet, parameters

USERS = 128
"""The number of user priorities within each business priority (section 4.2.3)."""
REHASH_S = 3_600.0
"""The time, in paper seconds, after which users get new priorities."""
_RANK = {page: rank for rank, page in enumerate(reversed(PAGES))}
"""The business priority of each page; the last page has the highest priority, 0."""
_LEVELS = len(PAGES) * USERS


class Dagor(LimitedLine):
    """A policy that admits all priorities from the highest down to a level, and adjusts the level
    to the queueing time.

    Once per window, the policy adjusts the level (Algorithm 1). The server is overloaded if the
    window's mean queueing time exceeds the threshold; in a window without a dispatch, the wait of
    the oldest request counts. Under overload, the level becomes stricter until it would have
    admitted only the share 1 − α of the window's admitted requests. Otherwise, the level becomes
    less strict until the number of further requests that it would have admitted is β × all
    arrivals.
    """

    def __init__(
        self,
        *,
        queueing_threshold_s: float,
        window_s: float,
        window_requests: int,
        decrease_ratio: float,
        increase_ratio: float,
    ) -> None:
        super().__init__(DAGOR.name, FixedLimit())
        self._threshold_s = queueing_threshold_s
        self._window_s = window_s
        self._window_requests = window_requests
        self._decrease_ratio = decrease_ratio
        self._increase_ratio = increase_ratio
        self.level = _LEVELS - 1
        """The lowest admitted priority; a smaller number is a higher priority."""
        self._arrived_by_level = [0] * _LEVELS
        self._window_began_s: float | None = None
        self._arrived = self._admitted = self._dispatched = 0
        self._queued_s = 0.0

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        self._turn(time_s)
        level = _level_of(time_s, request)
        self._arrived += 1
        self._arrived_by_level[level] += 1
        if level > self.level:
            return (
                Drop(
                    request.id,
                    f"priority {level} is not admitted; admitted: 0 (highest) to {self.level}",
                ),
            )
        self._admitted += 1
        return super().arrival(time_s, request)

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        verdicts = super().workers_free(time_s, free)
        for verdict in verdicts:
            if type(verdict) is Dispatch:
                self._dispatched += 1
                self._queued_s += time_s - self._inside[verdict.id].arrived_s
        return verdicts

    def snapshot(self) -> Mapping[str, object]:
        return {**super().snapshot(), "level": self.level, "levels": _LEVELS}

    def _turn(self, time_s: float) -> None:
        if self._window_began_s is None:
            self._window_began_s = time_s
        is_over = time_s - self._window_began_s >= self._window_s
        if not is_over and self._arrived < self._window_requests:
            return
        if self._queueing_s(time_s) > self._threshold_s:
            self._fall()
        else:
            self._rise()
        self._window_began_s = time_s
        self._arrived_by_level = [0] * _LEVELS
        self._arrived = self._admitted = self._dispatched = 0
        self._queued_s = 0.0

    def _queueing_s(self, time_s: float) -> float:
        """Return the mean queueing time of the present window, in paper seconds; without a
        dispatch, the wait of the oldest request.
        """
        if self._dispatched:
            return self._queued_s / self._dispatched
        oldest = next(iter(self._line), None)
        return 0.0 if oldest is None else time_s - oldest.arrived_s

    def _fall(self) -> None:
        wanted = (1.0 - self._decrease_ratio) * self._admitted
        would = self._admitted
        while would > wanted and self.level > 0:
            would -= self._arrived_by_level[self.level]
            self.level -= 1

    def _rise(self) -> None:
        wanted = self._admitted + self._increase_ratio * self._arrived
        would = self._admitted
        while would < wanted and self.level < _LEVELS - 1:
            self.level += 1
            would += self._arrived_by_level[self.level]


def _level_of(time_s: float, request: Request) -> int:
    # Every request without a session gets a new priority.
    who = f"{int(time_s / REHASH_S)} {request.session or request.id}"
    return _RANK[request.page] * USERS + crc32(who.encode()) % USERS


_SOURCE = "Zhou et al., *Overload Control for Scaling WeChat Microservices*, SoCC 2018, "

DAGOR = Sheet(
    name="dagor",
    title="DAGOR",
    idea="The most important requests are admitted; the measured queueing time decides how many.",
    rule="admit a request whose priority (page, then a hash of session and hour) is at least "
    "the level; serve the oldest request. The level changes after window_s or window_requests "
    "arrivals, whichever comes first. If requests queued longer than "
    "queueing_threshold_s on average, the level becomes stricter until it would have turned away "
    "the share decrease_ratio (α) of the window's admitted requests. Otherwise, the level becomes "
    "less strict until the number of further requests that it would have admitted is "
    "increase_ratio (β) × all arrivals",
    source=_SOURCE + "sections 4.1 and 4.2, Algorithm 1",
    deviations="There is only one service, so the policy passes no priorities to other "
    "services. The later a page comes in a session, the higher its business priority. A window "
    "ends with the first arrival after window_s; in a window without a dispatch, the wait of the "
    "oldest request counts. A wait inside the shop does not count as queueing time. The threshold "
    "is from WeChat, whose services answer in milliseconds; it is low for pages that take a "
    "quarter of a paper second.",
    parameters=(
        *parameters(
            _SOURCE + "section 4.1",
            (
                "queueing_threshold_s",
                0.02,
                "s",
                "mean queueing time above which the server is overloaded",
                0.0,
                600.0,
            ),
            ("window_s", 1.0, "s", "length of a window", 0.01, 3600.0),
            (
                "window_requests",
                2000,
                "requests",
                "number of arrivals after which a window ends early",
                1,
                10**9,
            ),
        ),
        *parameters(
            _SOURCE + "section 4.2.3",
            (
                "decrease_ratio",
                0.05,
                "ratio",
                "α, the share of admitted requests that a stricter level turns away under overload",
                0.0001,
                1.0,
            ),
            (
                "increase_ratio",
                0.01,
                "ratio",
                "β, the further requests that a less strict level admits, as a share of all "
                "arrivals",
                0.0001,
                1.0,
            ),
        ),
    ),
)
