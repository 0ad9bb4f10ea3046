"""How often one person, or one address, may do something.

Owns: counting within a time, and when it is possible again. Must not know: who or what.
In memory: the console is one process, and a restart forgives.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable


class Limit:
    """At most `most` times within `within_s` real seconds for each key."""

    def __init__(
        self, most: int, within_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most = most
        self.within_s = within_s
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def wait_s(self, key: str) -> int:
        """Whole seconds until it is possible again; 0 when it is now."""
        with self._lock:
            times = self._recent(key)
            if len(times) < self.most:
                return 0
            return max(1, math.ceil(times[0] + self.within_s - self._clock()))

    def note(self, key: str) -> None:
        """It was done once more."""
        with self._lock:
            if len(self._times) > 10_000:  # addresses that never came back
                self._times = {
                    one: kept for one in list(self._times) if (kept := self._recent(one))
                }
            self._recent(key)
            self._times.setdefault(key, deque()).append(self._clock())

    def _recent(self, key: str) -> deque[float]:
        times = self._times.get(key, deque())
        while times and times[0] <= self._clock() - self.within_s:
            times.popleft()
        return times


LOGINS = Limit(5, 300.0)
"""Wrong passwords, for each address and name."""
LAUNCHES = Limit(30, 60.0)
"""For each person or, without accounts, each address."""
