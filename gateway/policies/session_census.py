"""The census of a server's sessions: their mean length, and the time between their requests (SBAC,
section 12: C_r, C_s, inter-request time).

The paper's running ratio C_r/C_s (requests / sessions) is too low while most sessions are in
progress, and when sessions are aborted. An overloaded server would then seem to have room for more
sessions.

So here, a session counts in the denominator only once it has ended by itself. C_r is the count at
the arrival of the session's last request. This estimate is unbiased for geometric lengths, even if
sessions are cut short. If no sessions are aborted, the estimate equals C_r/C_s in the long run.
"""

from collections import OrderedDict
from dataclasses import dataclass

from gateway.policies.interface import Outcome

# A session has ended (the paper's T) after this number of mean inter-request times without a
# request. One in e^5 exponential gaps is longer; a session that sends a request later no longer
# counts as ended.
SILENCE_GAPS = 5

ENOUGH_SESSIONS = 30
"""The number of ended sessions that a measured mean length needs (standard error 18 %)."""

REMEMBERED = 100_000
"""The maximum number of sessions, and of requests, that are kept; the oldest are forgotten
first.
"""

_PROCESSED = frozenset({Outcome.ANSWERED, Outcome.ORPHANED})


@dataclass(slots=True, eq=False)
class _Asked:
    """A session's request: its arrival time, C_r at this time, and whether it was aborted."""

    at_s: float
    processed: int
    is_aborted: bool = False


class SessionCensus:
    """Counts of the requests of admitted sessions, and of the sessions that have ended.

    The census keeps at most `remembered` sessions and requests; a forgotten session counts as
    ended. A request without a session name is not counted as part of a session.
    """

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self.processed = 0  # all requests, with or without a session
        self.ended = 0
        self._remembered = remembered
        self._under_way: OrderedDict[str, _Asked] = OrderedDict()  # the longest inactive first
        self._silent: OrderedDict[str, _Asked] = OrderedDict()  # sessions that seem to have ended
        self._in_system: OrderedDict[int, _Asked] = OrderedDict()  # by request id
        self._processed_of_sessions = 0
        self._processed_until_end = 0
        self._gaps = 0
        self._gaps_s = 0.0

    @property
    def in_system(self) -> tuple[int, ...]:
        """The ids of the sessions' requests in the system, in order of arrival."""
        return tuple(self._in_system)

    @property
    def inter_request_s(self) -> float | None:
        """The mean time between successive requests of a session in paper seconds (response time +
        think time); None before a session has sent its second request.
        """
        return self._gaps_s / self._gaps if self._gaps else None

    def session_length(self, estimate: float = 0.0) -> float | None:
        """Return the mean number of requests per session. An `estimate` above 0 has as much weight
        as ENOUGH_SESSIONS sessions. Without an estimate, the result is None while fewer than
        ENOUGH_SESSIONS have ended.
        """
        measured = self._processed_until_end / self.ended if self.ended > 0 else None
        if estimate > 0:
            weight = self.ended / (self.ended + ENOUGH_SESSIONS)
            return estimate if measured is None else estimate + weight * (measured - estimate)
        return measured if self.ended >= ENOUGH_SESSIONS else None

    # ---- events of every admitted request ------------------------------------------------------

    def request(self, time_s: float, id: int, session: str | None) -> None:
        """Count an admitted request."""
        if session is None:
            return
        asked = self._in_system[id] = _Asked(time_s, self._processed_of_sessions)
        if len(self._in_system) > self._remembered:
            self._in_system.popitem(last=False)
        before = self._under_way.pop(session, None)
        if before is not None:
            self._gaps += 1
            self._gaps_s += asked.at_s - before.at_s
        elif session in self._silent:
            self.ended -= not self._silent.pop(session).is_aborted
        self._under_way[session] = asked
        if len(self._under_way) > self._remembered:
            self._end_oldest()

    def request_ended(self, id: int, outcome: Outcome) -> None:
        """Count the end of an admitted and dispatched request."""
        asked = self._in_system.pop(id, None)
        if outcome in _PROCESSED:
            self.processed += 1
            self._processed_of_sessions += asked is not None

    def request_aborted(self, id: int) -> None:
        """Record that a customer closed the connection, or that the queueing policy turned the
        request away.

        If the session sends no further request, it counts as cut short.
        """
        asked = self._in_system.get(id)
        if asked is not None:
            asked.is_aborted = True

    def request_dropped(self, id: int) -> None:
        """Record that a request was dropped or withdrawn, which counts as aborted."""
        self.request_aborted(id)
        self._in_system.pop(id, None)

    def count_ended(self, time_s: float) -> None:
        """Count the sessions that have ended by `time_s`; call this once per ac-interval."""
        between_s = self.inter_request_s
        if between_s is not None:
            horizon_s = time_s - SILENCE_GAPS * between_s
            while self._under_way and next(iter(self._under_way.values())).at_s <= horizon_s:
                self._end_oldest()

    # ---- internals -----------------------------------------------------------------------------

    def _end_oldest(self) -> None:
        session, asked = self._under_way.popitem(last=False)
        if not asked.is_aborted:
            self.ended += 1
            self._processed_until_end = max(self._processed_until_end, asked.processed)
        self._silent[session] = asked
        if len(self._silent) > self._remembered:
            self._silent.popitem(last=False)
