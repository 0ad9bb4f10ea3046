"""The handling of Ctrl-C and SIGTERM while a command still imports its modules.

Without this handling, Python would end with a traceback from inside the import. The command has not
begun its work yet, so the process simply ends.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
"""The exit status of a command that was ended by a signal."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Within the block, end this process with a message of one line on either signal; restore the
    handlers afterwards.
    """
    before = [(each, signal.signal(each, _end)) for each in _SIGNALS]
    try:
        yield
    finally:
        for each, handler in before:
            signal.signal(each, handler)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"\nInterrupted.\n")
    os._exit(INTERRUPTED)
