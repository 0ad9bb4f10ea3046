"""The wait for a condition: a loop that checks, sleeps and checks again.

An exception of the check ends the wait. A check may be expensive, so the pauses grow: a pause is
`every_s`, or a twentieth of the time already waited (at most 0.1 s) if that is longer.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_GROWTH = 1 / 20
_LONGEST_GROWN_S = 0.1


def wait_until(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Call `look` until its answer is true, and return the answer.

    After `within_s` seconds, return the last answer, which is false. `look` is called at least
    once.
    """
    began_s = time.monotonic()
    while not (answer := look()) and time.monotonic() < began_s + within_s:
        _pause(began_s, every_s)
    return answer


def wait_while(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Call `look` until its answer is false, and return the answer.

    After `within_s` seconds, return the last answer, which is true. A check can, for example,
    return the reason why the wait must go on.
    """
    began_s = time.monotonic()
    while (answer := look()) and time.monotonic() < began_s + within_s:
        _pause(began_s, every_s)
    return answer


def retry(ask: Callable[[], T], fault: type[Exception], within_s: float, *, every_s: float) -> T:
    """Call `ask` until it does not raise `fault`, and return its answer.

    Raises the last fault after `within_s` seconds.
    """
    began_s = time.monotonic()
    while True:
        try:
            return ask()
        except fault:
            if time.monotonic() >= began_s + within_s:
                raise
        _pause(began_s, every_s)


def _pause(began_s: float, every_s: float) -> None:
    waited_s = time.monotonic() - began_s
    time.sleep(max(every_s, min(waited_s * _GROWTH, _LONGEST_GROWN_S)))
