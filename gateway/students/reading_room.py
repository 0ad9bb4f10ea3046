"""A thread that reads students' files one at a time. Reading a file may take long, but the event
loop does not wait, and most of the CPU remains for customers.
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
