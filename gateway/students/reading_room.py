"""The reading of students' files: one at a time, in a thread apart from the event loop.

A file may keep its process busy for all the time that it has to start. One such process at a time
leaves the gateway's CPU to customers; several would share it with them.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

MOST: Final = 8
"""Calls that may be under way, including the one that is carried out."""
T = TypeVar("T")


class FullError(Exception):
    """The error when too many calls wait already; the text is one line for the caller."""

    def __init__(self) -> None:
        super().__init__(f"{MOST} calls with policies' files are being carried out already")
        self.allowed = f"at most {MOST} such calls at a time: send it again in some seconds"


class ReadingRoom:
    """A thread that carries out calls in the order in which they came."""

    def __init__(self) -> None:
        self._calls = 0
        self._thread = ThreadPoolExecutor(1, "students-files")

    async def do(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, which may block; raises FullError and errors of `work`."""
        if self._calls >= MOST:
            raise FullError
        self._calls += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, work)
        finally:
            self._calls -= 1

    def close(self) -> None:
        """Drop the calls that wait."""
        self._thread.shutdown(wait=False, cancel_futures=True)
