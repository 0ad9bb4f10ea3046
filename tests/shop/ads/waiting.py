"""Waiting for what another process does."""

import time
from collections.abc import Callable

import pytest

PATIENCE_S = 120.0


def until(condition: Callable[[], bool], what: str) -> None:
    """Polls; fails after PATIENCE_S."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline_s:
            pytest.fail(f"not within {PATIENCE_S:g} s: {what}")
        time.sleep(0.02)
