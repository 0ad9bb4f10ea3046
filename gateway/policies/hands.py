"""How many requests may be in service at once: few hands.

Owns: the limit c on requests in service, fixed or automatic.
Must not know: who is served next.

A server with 30 workers takes 30 requests at once and works on all of them a little. What it has
taken is beyond any queue's reach: with LIFO-Pri's pages 30 × 0.179 CPU s = 5.4 s of work that a
page of a session under way has to sit through, whatever its priority.
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
    """At most `limit` requests in service; those that another policy dispatched do not count."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._busy: set[int] = set()

    @property
    def busy(self) -> int:
        """Requests in service."""
        return len(self._busy)

    @property
    def free(self) -> int:
        """How many more may be dispatched."""
        return max(0, self.limit - len(self._busy))

    def take(self, id: int) -> None:
        """This request is dispatched."""
        self._busy.add(id)

    def release(self, id: int) -> None:
        """This request is done; harmless for one that another policy dispatched."""
        self._busy.discard(id)

    def sample(self, sample: LoadSample, somebody_waits: bool) -> None:
        """Take in the load of one interval; a fixed limit does not care."""


class AutomaticHands(Hands):
    """c follows the CPU: one more while it idles and somebody waits, one less when it is full.

    Once per utilisation interval: somebody waits, all hands are busy and CPU < IDLE_RATIO → c + 1;
    after FULL_FOR_S in a row at or above FULL_RATIO → c − 1, never below FLOOR. So c settles where
    the CPU is just about full, whatever share of a page is waiting on the back end.
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
    """As the parameters say."""
    return AutomaticHands(hands) if hands_automatic else Hands(hands)
