"""The handling of Ctrl-C and SIGTERM while a command still imports its modules.

Without this module, Python would print a traceback, although the command has not begun its work.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit status of a command that a signal has ended."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Within the block, end this process with a one-line message on either signal."""
    before = [(each, signal.signal(each, _end)) for each in _SIGNALS]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\nInterrupted.\n")
    os._exit(INTERRUPTED)
