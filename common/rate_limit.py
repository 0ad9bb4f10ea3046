"""A limit on how often something can be done, counted in the memory of one process."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable


class RateLimit:
    """At most `most` times within `within_s` real seconds for each key."""

    def __init__(
        self, most: int, within_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most = most
        self.within_s = within_s
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def reserve(self, key: str) -> int:
        """Count one more use and return 0. If the limit is reached, return the whole seconds until
        the next use is possible.

        Threads may call this method at the same moment; the limit still holds.
        """
        with self._lock:
            times = self._recent(key)
            if len(times) >= self.most:
                return max(1, math.ceil(times[0] + self.within_s - self._clock()))
            if len(self._times) > 10_000:  # addresses that did not return
                self._times = {one: kept for one in self._times if (kept := self._recent(one))}
            self._times.setdefault(key, times).append(self._clock())
            return 0

    def count(self, key: str) -> int:
        """Return the number of uses that count for this key now."""
        with self._lock:
            return len(self._recent(key))

    def give_back(self, key: str) -> None:
        """Remove the newest use counted for this key."""
        with self._lock:
            times = self._times.get(key)
            if times:
                times.pop()

    def _recent(self, key: str) -> deque[float]:
        times = self._times.get(key, deque())
        while times and times[0] <= self._clock() - self.within_s:
            times.popleft()
        return times
