"""A timer for the deadlines of many connections, accurate to `INTERVAL_S`.

A connection only sets its `deadline_s`, which is much cheaper than a timer for each connection.
"""

import asyncio
from math import inf
from typing import Final, Protocol

INTERVAL_S: Final = 0.1
NEVER: Final = inf


class HasDeadline(Protocol):
    """An object with a deadline on the loop's clock (`NEVER` for none)."""

    deadline_s: float

    def deadline_passed(self) -> None:
        """React to the passed deadline; the timer calls this method once per interval until the
        deadline changes.
        """


class Deadlines:
    """A timer for the deadlines of all objects in `watched`, which runs between `start` and
    `stop`.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._timer: asyncio.TimerHandle | None = None
        self.watched: set[HasDeadline] = set()

    def start(self) -> None:
        self._timer = self._loop.call_later(INTERVAL_S, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def check(self) -> None:
        """Call `deadline_passed` of every object whose deadline has passed."""
        now_s = self._loop.time()
        for one in [one for one in self.watched if one.deadline_s <= now_s]:
            one.deadline_passed()

    def _look(self) -> None:
        self.start()
        self.check()
