"""The quota of new sessions in an ac-interval (SBAC, eq. 7), and the account of unused quota."""

from collections import deque
from math import floor

# A quota is a sum of fractions: ten times 0.1 must be one session.
_ROUNDING = 1e-9


def sessions_rps(
    capacity_rps: float, session_length: float, load: float, rejection_cost: float = 1.0
) -> float:
    """Return y of eq. 7: the number of sessions per second that a server can complete while it
    rejects all others.

    y = S_r (L − r Load) / (L (L − r)), with S_r = `capacity_rps`, L = `session_length` in requests,
    r = `rejection_cost` in requests. With r = 1, this is eq. 7. The formula follows from
    y L + x r = S_r and x + y = Load S_r / L, where x is the number of rejected sessions per second.
    The formula does not apply in three cases:

    - `load` is at most 1: no session is rejected, and y = S_r / L, the capacity in sessions.
    - A session costs at most as much as its rejection (L ≤ r): again, y = S_r / L.
    - `load` is at least L / r: rejections alone fill the server, and y = 0.
    """
    length, r = session_length, rejection_cost
    if load <= 1 or length <= r:
        return capacity_rps / length
    return max(0.0, capacity_rps * (length - r * load) / (length * (length - r)))


class QuotaAccount:
    """The account of the new sessions that may still be admitted in the present ac-interval.
    Fractions of a session, and debts, are kept without a time limit. Once the quota of the present
    interval is used up, the account takes whole sessions that were left over in the last few
    intervals, beginning with the oldest interval.
    """

    def __init__(self) -> None:
        self.quota = 0.0  # of this interval only; below 0 after a large correction
        self._fresh = 0.0
        self._left_over = 0
        self._leftovers: deque[tuple[int, int]] = deque()  # (number of the interval, sessions)
        self._interval = 0

    @property
    def left(self) -> float:
        """The number of sessions that may still be admitted."""
        return self._fresh + self._left_over

    @property
    def is_used_up(self) -> bool:
        return self.left < 1 - _ROUNDING

    def begin(self, quota: float, leftover_intervals: int) -> None:
        """Begin the next interval with `quota` new sessions, and the unused quota of the last
        `leftover_intervals` intervals.
        """
        whole = self._whole_fresh
        if whole:
            self._leftovers.append((self._interval, whole))
            self._left_over += whole
        self._interval += 1
        while self._leftovers and self._leftovers[0][0] < self._interval - leftover_intervals:
            self._left_over -= self._leftovers.popleft()[1]
        self.quota = quota
        self._fresh += quota - whole
        if self._fresh < 0:
            debt = min(floor(-self._fresh) + 1, self._left_over)
            self._fresh += debt
            self._take_leftovers(debt)

    def take(self, sessions: int = 1) -> None:
        """Take `sessions` admitted sessions from the account; if it contains fewer, the difference
        becomes a debt.
        """
        beyond = max(0, sessions - self._whole_fresh)
        old = min(beyond, self._left_over)
        self._fresh -= sessions - old
        self._take_leftovers(old)

    @property
    def _whole_fresh(self) -> int:
        return max(0, floor(self._fresh + _ROUNDING))

    def _take_leftovers(self, sessions: int) -> None:
        self._left_over -= sessions
        while sessions:
            number, left = self._leftovers.popleft()
            if left > sessions:
                self._leftovers.appendleft((number, left - sessions))
                return
            sessions -= left
