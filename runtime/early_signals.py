"""Ctrl-C and SIGTERM while the modules of a command are still being imported.

Python would end with a traceback of wherever the import had come to. Nothing has been begun by
then, so the process just ends.
Owns: the handlers for that while. Must not know: the command.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit status of a command that was told to end."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Within it either signal ends this process in one line; the handlers before come back after
    it."""
    before = [(each, signal.signal(each, _end)) for each in _SIGNALS]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\nInterrupted.\n")
    os._exit(INTERRUPTED)
