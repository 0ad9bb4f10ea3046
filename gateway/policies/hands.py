"""DOOR's concurrency limit c, fixed or automatic: the maximum number of requests in service.

A low limit helps sessions in progress, because a request of these sessions waits for the requests
in service. With LIFO-Pri's pages and 30 busy workers, the requests in service need 30 × 0.179 CPU s
= 5.4 CPU s of work.
"""

from gateway.policies.interface import LoadSample
from gateway.policies.sheet import Parameter

HANDS = Parameter(
    "hands",
    8,
    "requests",
    "c, the maximum number of requests in service; with hands_automatic, the initial value of c, "
    "but at least 4",
    "DOOR, rule 1",
    1,
    1_000,
)
HANDS_AUTOMATIC = Parameter(
    "hands_automatic",
    0,
    "switch",
    "1: c adapts to the CPU utilisation; 0: c is fixed",
    "DOOR, rule 1",
    0,
    1,
)


class Hands:
    """A concurrency limit: at most `limit` requests are in service. Requests that another policy
    dispatched do not count.
    """

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
        """Count this request as dispatched."""
        self._busy.add(id)

    def release(self, id: int) -> None:
        """Stop counting this ended request; ignore requests that another policy dispatched."""
        self._busy.discard(id)

    def sample(self, sample: LoadSample, somebody_waits: bool) -> None:
        """Handle the load sample of a utilisation interval; a fixed limit ignores it."""


class AutomaticHands(Hands):
    """A concurrency limit c that grows while the CPU is partly idle, and shrinks when the CPU is
    full.

    Once per utilisation interval, c grows by 1 if the utilisation is below IDLE_RATIO although new
    sessions wait and c requests are in service. After FULL_FOR_S paper seconds with a utilisation
    of at least FULL_RATIO, c shrinks by 1, but not below FLOOR. So c settles where the CPU is just
    full, even if pages mostly wait for the back end.
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
