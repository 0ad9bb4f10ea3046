"""A task of an executor: JSON in, JSON out, by a function that is named `module:function`."""

import contextlib
import importlib
import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.errors import ExperimentError

Json = Any
Worker = Callable[[Json], Json]
OnDone = Callable[[int, Json], None]
OnProgress = Callable[[int, Json], None]
OnCost = Callable[[int, float], None]

TRIES = 2
"""A task whose worker was lost is made once more, then reported."""

_tell: Callable[[Json], None] = lambda progress: None  # noqa: E731 - replaced within a worker


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that was not made: its index, and why, in one line."""

    index: int
    reason: str


def tell(progress: Json) -> None:
    """How far the running task is: called by a worker's function, heard by `on_progress`."""
    _tell(progress)


def call(worker: str, task: str, tell: Callable[[Json], None]) -> str:
    """The result, as JSON, of the function `worker` and a task in JSON; what workers do."""
    module, _, function = worker.partition(":")
    with _telling(tell):
        result = getattr(importlib.import_module(module), function)(json.loads(task))
    return json.dumps(result, allow_nan=False)


@contextlib.contextmanager
def _telling(tell: Callable[[Json], None]) -> Iterator[None]:
    global _tell
    before, _tell = _tell, tell
    try:
        yield
    finally:
        _tell = before


def reason(error: Exception) -> str:
    """An exception as one line."""
    if isinstance(error, ExperimentError):
        return str(error)
    return traceback.format_exception_only(error)[-1].strip().replace("\n", " ")
