"""Limits on how often a person or an address can do something, and on simultaneous actions.

The console is one process and keeps the counts in memory, so a restart sets them to 0.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.console.site.allowances import Allowance, AllowanceError, refusal


class Limit:
    """A rate limit: at most `most` times within `within_s` real seconds for each key."""

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

        The limit also holds for threads that call this method at the same moment.
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


class BusyError(Exception):
    """The error raised if no turn is free."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__()
        self.is_own = is_own
        """Whether the same key already has a turn; False if other keys have all turns."""


class ActionLimit:
    """A limit on simultaneous actions: one turn at a time for each key, and at most `most` in
    total."""

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)
        self._keys: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, key: str, patience_s: float) -> Iterator[None]:
        """Hold a turn until the block ends. Raises BusyError at once if the same key has a turn, or
        after `patience_s` real seconds if other keys have all turns.
        """
        with self._lock:
            if key in self._keys:
                raise BusyError(is_own=True)
            self._keys.add(key)
        try:
            if not self._free.acquire(timeout=patience_s):
                raise BusyError(is_own=False)
            try:
                yield
            finally:
                self._free.release()
        finally:
            with self._lock:
                self._keys.discard(key)


class TooOftenError(AllowanceError):
    """The error raised if a person has reached a rate limit. The person can try again
    after `wait_s` real seconds."""

    def __init__(self, message: str, wait_s: int) -> None:
        super().__init__(message)
        self.wait_s = wait_s


_WITHIN_S = {
    "launches_per_minute": 60.0,
    "predictions_per_minute": 60.0,
    "uploads_per_minute": 60.0,
    "downloads_per_minute": 60.0,
    "imports_per_hour": 3600.0,
    "notes_per_hour": 3600.0,
}
_counted: dict[tuple[str, int], Limit] = {}


def _limit(allowance: Allowance, name: str) -> Limit:
    most = getattr(allowance, name)
    return _counted.setdefault((name, most), Limit(most, _WITHIN_S[name]))


def spend(allowance: Allowance, name: str, key: str) -> None:
    """Count one more use of the limit `name` for this person; raises TooOftenError if the limit is
    reached."""
    limit = _limit(allowance, name)
    if wait_s := limit.reserve(key):
        words = refusal(allowance, name, limit.most + 1)
        raise TooOftenError(f"{words} You can try again in {wait_s} s.", wait_s)


def spent(allowance: Allowance, key: str) -> dict[str, int]:
    """Return this person's recent uses of each rate limit."""
    return {name: _limit(allowance, name).count(key) for name in _WITHIN_S}
