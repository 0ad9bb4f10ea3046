"""Slow calls of the admin API, which read students' files. A thread reads one file at a time, so
the event loop does not wait, and most of the CPU remains for customers. If several calls change
the same object, the call that arrived last takes effect, even if an earlier call finishes later.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

MOST: Final = 8
"""The maximum number of calls that wait or are being carried out."""
T = TypeVar("T")


class FullError(Exception):
    """The error for a call when too many calls already wait; the message is one line for the
    caller.
    """

    def __init__(self) -> None:
        super().__init__(
            f"{MOST} calls with policies' files are already waiting or being carried out"
        )
        self.allowed = f"at most {MOST} such calls at a time; repeat the call in a few seconds"


class ReadingRoom:
    """A thread that carries out calls in the order in which they arrive."""

    def __init__(self) -> None:
        self._calls = 0
        self._thread = ThreadPoolExecutor(1, "students-files")

    async def do(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which may block. Raises FullError if there are already MOST
        calls, and any error of `work`.
        """
        if self._calls >= MOST:
            raise FullError
        self._calls += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._calls -= 1

    def close(self) -> None:
        """Cancel the waiting calls."""
        self._thread.shutdown(wait=False, cancel_futures=True)


class OvertakenError(Exception):
    """The error for a call that must not take effect, because a later call has already taken
    effect.
    """

    def __init__(self) -> None:
        super().__init__("a later call has already taken effect")


class ChangeOrder:
    """The order of calls that replace or extend the same object. Use `ask` when a call arrives.
    After the call's work, use `take` if the call replaces the object, or `check` and `add` if the
    call extends the object.
    """

    def __init__(self) -> None:
        self._asked = self._changed = self._replaced = 0

    def ask(self) -> int:
        """Return the number of a call that has just arrived."""
        self._asked += 1
        return self._asked

    def take(self, turn: int) -> None:
        """Record that call `turn` replaces the object; raise OvertakenError if a later call has
        changed the object.
        """
        if turn < self._changed:
            raise OvertakenError
        self._changed = self._replaced = turn

    def check(self, turn: int) -> None:
        """Raise OvertakenError if a later call has replaced the object."""
        if turn < self._replaced:
            raise OvertakenError

    def add(self, turn: int) -> None:
        """Record that call `turn` has extended the object."""
        self._changed = max(self._changed, turn)
