"""The concurrency limit c of DOOR: the most requests in service at once, fixed or automatic.

A server with 30 workers takes 30 requests at once and works a little on each of them. No queue can
reorder the requests that it has taken. With LIFO-Pri's pages these are 30 × 0.179 CPU s = 5.4 s of
work that a page of a session in progress has to wait for, whatever its priority.
"""

from gateway.policies.interface import LoadSample
from gateway.policies.sheet import Parameter

HANDS = Parameter(
    "hands",
    8,
    "requests",
    "c, the most that are in service at once; with hands_automatic where it starts",
    "DOOR, rule 1",
    1,
    1_000,
)
HANDS_AUTOMATIC = Parameter(
    "hands_automatic",
    0,
    "switch",
    "1: c follows the CPU; 0: c is fixed",
    "DOOR, rule 1",
    0,
    1,
)


class Hands:
    """At most `limit` requests in service, without those that another policy dispatched."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._busy: set[int] = set()

    @property
    def busy(self) -> int:
        """The number of requests in service."""
        return len(self._busy)

    @property
    def free(self) -> int:
        """The number of further requests that may be dispatched."""
        return max(0, self.limit - len(self._busy))

    def take(self, id: int) -> None:
        """Count this request, which is dispatched."""
        self._busy.add(id)

    def release(self, id: int) -> None:
        """Release this request, which is done; those of another policy are ignored."""
        self._busy.discard(id)

    def sample(self, sample: LoadSample, somebody_waits: bool) -> None:
        """Take in the load of one interval; a fixed limit ignores it."""


class AutomaticHands(Hands):
    """A limit c that follows the CPU: it grows while the CPU idles, and shrinks when it is full.

    It changes once per utilisation interval. If requests wait, all of c is used and CPU <
    IDLE_RATIO, c grows by 1. After FULL_FOR_S in a row at or above FULL_RATIO, c shrinks by 1,
    never below FLOOR. So c settles where the CPU is just about full, for any share of a page that
    waits for the back end.
    """

    IDLE_RATIO = 0.98
    FULL_RATIO = 0.99
    FULL_FOR_S = 10.0
    FLOOR = 4

    def __init__(self, limit: int) -> None:
        super().__init__(max(limit, self.FLOOR))
        self._full_for_s = 0.0

    def sample(self, sample: LoadSample, somebody_waits: bool) -> None:
        utilisation_ratio = sample.cpu_utilisation_ratio
        if utilisation_ratio < self.FULL_RATIO:
            self._full_for_s = 0.0
        else:
            self._full_for_s += sample.interval_s
        if utilisation_ratio < self.IDLE_RATIO and somebody_waits and not self.free:
            self.limit += 1
        elif self._full_for_s >= self.FULL_FOR_S:
            self._full_for_s = 0.0
            self.limit = max(self.FLOOR, self.limit - 1)


def hands_of(*, hands: int, hands_automatic: int) -> Hands:
    """Return the fixed or the automatic limit, by the parameters."""
    return AutomaticHands(hands) if hands_automatic else Hands(hands)
