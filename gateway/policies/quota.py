"""How many new sessions an ac-interval may admit: eq. 7, and the account of what was not used.

Owns: the formula, and the bookkeeping of fractions, unused quota and debts (SBAC, section 12).
Must not know: how capacity, load and session length are measured; drivers.
"""

from collections import deque
from math import floor

# A quota is a sum of fractions; ten times 0.1 is one session.
_WHOLE = 1 - 1e-9


def sessions_rps(
    capacity_rps: float, session_length: float, load: float, rejection_cost: float = 1.0
) -> float:
    """Sessions a second that a server can complete while it rejects the others: y of eq. 7.

    y = S_r (L − r Load) / (L (L − r)), with S_r = `capacity_rps`, L = `session_length` in
    requests, r = `rejection_cost` in requests; r = 1 is eq. 7. It follows as eq. 7 does, from
    y L + x r = S_r and x + y = Load S_r / L.

    Where the formula has no meaning: nobody is rejected while `load` is at most 1, so y = S_r / L,
    the capacity in sessions; the same if a session costs no more than its rejection (L ≤ r); from
    Load = L / r on rejections alone fill the server, y = 0.
    """
    length, r = session_length, rejection_cost
    if load <= 1 or length <= r:
        return capacity_rps / length
    return max(0.0, capacity_rps * (length - r * load) / (length * (length - r)))


class QuotaAccount:
    """New sessions that may still be admitted in the ac-interval under way.

    Fractions of a session are carried on for ever, and so is a debt (a quota that turned out too
    large). Whole sessions that an interval leaves over may be used in the `leftover_intervals`
    intervals that follow, the oldest first; then they are lost.
    """

    def __init__(self, leftover_intervals: int) -> None:
        self.quota = 0.0  # of this interval alone; below 0 after a large correction
        self._fresh = 0.0
        self._leftovers: deque[int] = deque(maxlen=leftover_intervals)

    @property
    def left(self) -> float:
        """What may still be admitted, in sessions."""
        return self._fresh + sum(self._leftovers)

    @property
    def is_used_up(self) -> bool:
        return self.left < _WHOLE

    def begin(self, quota: float) -> None:
        """The next interval begins; it may admit `quota` sessions more."""
        whole = max(0, floor(self._fresh + 1 - _WHOLE))
        self._leftovers.append(whole)
        self.quota = quota
        self._fresh += quota - whole
        self._pay_debt()

    def take(self) -> None:
        """One session is admitted; only while the account is not used up."""
        for index, leftover in enumerate(self._leftovers):
            if leftover:
                self._leftovers[index] -= 1
                return
        self._fresh -= 1

    def _pay_debt(self) -> None:
        while self._fresh < 0 and any(self._leftovers):
            self.take()
            self._fresh += 1
