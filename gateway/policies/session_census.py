"""What a server can count of its sessions: how long they are, and how far apart their requests.

Owns: the counters of SBAC, section 12 (C_r, inter-request time), and when a session has ended.
Must not know: admission rules, queues, drivers.

The running ratio C_r/C_s of the paper is biased low while sessions under way are many compared to
those that have been: with mean length 50 and think time 5 s it is still at half the truth after
500 s. So a session is counted in the denominator once it has ended, and C_r is taken as of that
moment: every request that was processed until the last session ended, over the sessions that had
ended by then. For geometric lengths that is unbiased from the first session on, and in the long run
it is C_r/C_s.
"""

from bisect import bisect_right
from collections import OrderedDict
from operator import attrgetter
from typing import NamedTuple

from gateway.policies.interface import Outcome

# A session has ended (the paper's T) once it was silent for so many mean inter-request times. One
# in e^5 exponential gaps is longer; who comes back after all is taken out of the ended ones again.
SILENCE_GAPS = 5

ENOUGH_SESSIONS = 30
"""Fewer ended sessions are no measurement of their mean length (18 % standard error)."""

PROCESSED = frozenset({Outcome.ANSWERED, Outcome.ORPHANED})
"""The outcomes of requests that the server has processed, and that C_r counts."""

REMEMBERED_SESSIONS = 100_000
"""Most sessions of each kind that are remembered; the longest silent ones are forgotten first."""


class _Seen(NamedTuple):
    """A session's newest request: when it came, and C_r at that moment."""

    time_s: float
    processed: int


_time_s = attrgetter("time_s")


class SessionCensus:
    """Counts sessions that were admitted, by what becomes of them.

    Memory is bounded by `remembered`, whatever names customers make up: a session forgotten has
    ended. Clients whose first request shows no name (the gateway's cookie comes with the answer)
    are remembered by time, and one of them, of about the usual age, is struck off when a name
    turns up for the first time.
    """

    def __init__(self, remembered: int = REMEMBERED_SESSIONS) -> None:
        self.accepted = 0  # C_s
        self.processed = 0  # C_r
        self.ended = 0
        self._remembered = remembered
        self._under_way: OrderedDict[str, _Seen] = OrderedDict()  # the longest silent first
        self._silent: OrderedDict[str, None] = OrderedDict()  # ended, as it seems
        self._nameless: list[_Seen] = []  # oldest first
        self._processed_until_end = 0
        self._gaps = 0
        self._gaps_s = 0.0

    @property
    def inter_request_s(self) -> float | None:
        """Mean time between two requests of a session (response and think time), None at first."""
        return self._gaps_s / self._gaps if self._gaps else None

    def session_length(self, estimate: float = 0.0) -> float | None:
        """Mean requests per session; None while fewer than ENOUGH_SESSIONS have ended.

        With an `estimate` (above 0) there is an answer at once: it counts as much as
        ENOUGH_SESSIONS sessions.
        """
        if estimate > 0:
            requests = ENOUGH_SESSIONS * estimate + self._processed_until_end
            return requests / (ENOUGH_SESSIONS + self.ended)
        return self._processed_until_end / self.ended if self.ended >= ENOUGH_SESSIONS else None

    def request(self, time_s: float, session: str | None, *, is_new: bool) -> None:
        """A request was let in; `is_new` for the first of its session."""
        seen = _Seen(time_s, self.processed)
        if session is None:
            if is_new:
                self.accepted += 1
                self._nameless.append(seen)
                if len(self._nameless) > self._remembered:
                    self._end(self._nameless.pop(0))
            return
        before = self._under_way.pop(session, None)
        if before is not None:
            self._gaps += 1
            self._gaps_s += time_s - before.time_s
        elif session in self._silent:
            del self._silent[session]
            self.ended -= 1
        elif is_new:
            self.accepted += 1
        else:
            self._strike_off_nameless(time_s)
        self._under_way[session] = seen
        if len(self._under_way) > self._remembered:
            self._end_oldest()

    def request_processed(self) -> None:
        """A request of an admitted session was served."""
        self.processed += 1

    def count_ended(self, time_s: float) -> None:
        """Bring `ended` up to date; to be called now and then."""
        if self.inter_request_s is None:
            return
        horizon_s = time_s - SILENCE_GAPS * self.inter_request_s
        while self._under_way and next(iter(self._under_way.values())).time_s <= horizon_s:
            self._end_oldest()
        gone = bisect_right(self._nameless, horizon_s, key=_time_s)
        for seen in self._nameless[:gone]:
            self._end(seen)
        del self._nameless[:gone]

    def _end_oldest(self) -> None:
        session, seen = self._under_way.popitem(last=False)
        self._end(seen)
        self._silent[session] = None
        if len(self._silent) > self._remembered:
            self._silent.popitem(last=False)

    def _end(self, seen: _Seen) -> None:
        self.ended += 1
        self._processed_until_end = max(self._processed_until_end, seen.processed)

    def _strike_off_nameless(self, time_s: float) -> None:
        """The name belongs to a client that came without one: probably one mean gap ago."""
        if self._nameless:
            probable_s = time_s - (self.inter_request_s or 0.0)
            index = bisect_right(self._nameless, probable_s, key=_time_s)
            del self._nameless[min(index, len(self._nameless) - 1)]
