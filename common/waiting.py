"""The wait for a condition, with pauses from `every_s` up to a twentieth of the time waited."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_GROWTH = 1 / 20
_LONGEST_GROWN_S = 0.1


def wait_until(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Call `look` at least once, until its answer is true or `within_s` has passed; return it."""
    began_s = time.monotonic()
    while not (answer := look()) and time.monotonic() < began_s + within_s:
        _pause(began_s, every_s)
    return answer


def wait_while(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Call `look` at least once, until its answer is false or `within_s` has passed; return it."""
    began_s = time.monotonic()
    while (answer := look()) and time.monotonic() < began_s + within_s:
        _pause(began_s, every_s)
    return answer


def retry(ask: Callable[[], T], fault: type[Exception], within_s: float, *, every_s: float) -> T:
    """Call `ask` until it does not raise `fault`; after `within_s`, raise the last fault."""
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
