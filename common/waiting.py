"""The wait until a condition holds: a loop that checks, sleeps and checks again.

An exception that the checking function raises ends the wait, so a caller can stop waiting early.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Call `look` until its answer is true, and return that answer.

    After `within_s` seconds, return the last answer, which is false. `look` is called at least
    once.
    """
    deadline_s = time.monotonic() + within_s
    while not (answer := look()) and time.monotonic() < deadline_s:
        time.sleep(every_s)
    return answer


def wait_while(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Call `look` until its answer is false, and return that answer.

    After `within_s` seconds, return the last answer, which is true. If `look` returns the reason
    for waiting, the caller receives that reason.
    """
    deadline_s = time.monotonic() + within_s
    while (answer := look()) and time.monotonic() < deadline_s:
        time.sleep(every_s)
    return answer


def retry(ask: Callable[[], T], fault: type[Exception], within_s: float, *, every_s: float) -> T:
    """Call `ask` until it does not raise `fault`, and return its answer.

    Raises the last fault after `within_s` seconds.
    """
    deadline_s = time.monotonic() + within_s
    while True:
        try:
            return ask()
        except fault:
            if time.monotonic() >= deadline_s:
                raise
        time.sleep(every_s)
