"""Limits on how often a person or an address can do something, and on simultaneous actions. The
console is one process and keeps the counts in memory, so a restart sets them to 0."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from common.rate_limit import RateLimit
from lab.console.site.allowances import Allowance, AllowanceError, limits


class BusyError(Exception):
    """The error raised if no turn is free."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__()
        self.is_own = is_own
        """Whether the same key already has a turn; False if other keys have all turns."""


class ActionLimit:
    """A limit on simultaneous actions: one for each key, and `most` in total."""

    def __init__(self, most: int) -> None:
        self._free = threading.Semaphore(most)
        self._keys: set[str] = set()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, key: str, patience_s: float) -> Iterator[None]:
        """Hold a turn until the block ends. If the same key already has a turn or waits for one,
        raises BusyError at once. If no turn becomes free within `patience_s` real seconds, raises
        BusyError then."""
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

    def __init__(self, allowance: Allowance, limit: str, asked: float, wait_s: int) -> None:
        super().__init__(allowance, limit, asked)
        self.wait_s = wait_s

    def __str__(self) -> str:
        return f"{super().__str__()} You can try again in {self.wait_s} s."


_PERIODS_S = {"per_minute": 60.0, "per_hour": 3600.0}
"""The period of a rate limit, by the end of the limit's name."""
_WITHIN_S = {
    name: within_s
    for name in limits()
    for end, within_s in _PERIODS_S.items()
    if name.endswith(end)
}
_counted: dict[tuple[str, int], RateLimit] = {}


def _limit(allowance: Allowance, name: str) -> RateLimit:
    most = getattr(allowance, name)
    return _counted.setdefault((name, most), RateLimit(most, _WITHIN_S[name]))


def spend(allowance: Allowance, name: str, key: str) -> None:
    """Count one more use of the limit `name` for this person; raises TooOftenError if the limit is
    reached."""
    limit = _limit(allowance, name)
    if wait_s := limit.reserve(key):
        raise TooOftenError(allowance, name, limit.most + 1, wait_s)


def spent(allowance: Allowance, key: str) -> dict[str, int]:
    """Return this person's recent uses of each rate limit."""
    return {name: _limit(allowance, name).count(key) for name in _WITHIN_S}
