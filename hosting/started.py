"""A context manager for a service that starts in several steps."""

from contextlib import ExitStack
from typing import Self


class Started:
    """A context manager whose `_start` starts all parts and registers their ends in `_running`."""

    def __init__(self) -> None:
        self._running = ExitStack()

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def _start(self) -> None:
        raise NotImplementedError
