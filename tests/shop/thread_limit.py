"""A process that can start no thread, as at the limit of its user's threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_more_threads() -> Iterator[None]:
    """Let the start of every thread fail, because no stack can be as large as new ones must be."""
    before = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(before)
