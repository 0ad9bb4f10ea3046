"""Waiting for what another process or thread does, with patience for a busy machine."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from common.waiting import wait_until

PATIENCE_S = 240.0
T = TypeVar("T")


def until(
    condition: Callable[[], T],
    what: str = "it came true",
    within_s: float = PATIENCE_S,
    *,
    every_s: float = 0.01,
) -> T:
    """Return the first true answer of `condition`; fail with `what` if none comes."""
    answer = wait_until(condition, within_s, every_s=every_s)
    assert answer, f"not within {within_s:g} s: {what}"
    return answer


async def until_in_loop(condition: Callable[[], object], within_s: float = PATIENCE_S) -> None:
    """Do as `until`, and let the event loop run meanwhile."""
    async with asyncio.timeout(within_s):
        while not condition():
            await asyncio.sleep(0.002)
