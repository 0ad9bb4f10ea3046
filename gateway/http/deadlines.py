"""Deadlines of many connections, kept by one timer.

Owns: finding out that a deadline has passed, to within `INTERVAL_S`.
Must not know: what a deadline is for. A timer per connection and state would cost more than the
requests themselves; whoever is watched sets its own `deadline_s` as often as it likes, for free.
"""

import asyncio
from math import inf
from typing import Final, Protocol

INTERVAL_S: Final = 0.1
NEVER: Final = inf


class Watched(Protocol):
    """Something with a deadline on the loop's clock (`NEVER` for none)."""

    deadline_s: float

    def deadline_passed(self) -> None:
        """Called once per interval while the deadline lies in the past."""


class Deadlines:
    """Watches whoever is in `watched`, from `start` to `stop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self.watched: set[Watched] = set()

    def start(self) -> None:
        self._timer = self._loop.call_later(INTERVAL_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def check(self) -> None:
        """Calls everybody whose deadline has passed."""
        now_s = self._loop.time()
        for one in [one for one in self.watched if one.deadline_s <= now_s]:
            one.deadline_passed()

    def _look(self) -> None:
        self.start()
        self.check()
