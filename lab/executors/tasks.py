"""The tasks of an executor, whose inputs and outputs are JSON. The module calls a task's function
by its name (`module:function`). It also checks the address of Celery's broker, and hides the
password in texts that contain the address.
"""

import contextlib
import importlib
import json
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lab.errors import ExperimentError, SpecError

Json = Any
Worker = Callable[[Json], Json]
OnDone = Callable[[int, Json], None]
OnProgress = Callable[[int, Json], None]
OnCost = Callable[[int, float], None]

TRIES = 2
"""A task counts as failed after this number of workers have been lost while they ran the task."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that failed: the index of the task, and the reason."""

    index: int
    reason: str


# ---- the worker's side ---------------------------------------------------------------------------

_tell: Callable[[Json], None] = lambda progress: None  # noqa: E731 - replaced within a worker


def tell(progress: Json) -> None:
    """Report the progress of the running task; the caller receives it through `on_progress`."""
    _tell(progress)


def call(worker: str, task: str, tell: Callable[[Json], None]) -> str:
    """Call the function `worker` with a task in JSON; return its result as JSON."""
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
    """Return an exception as text, in one line unless it is an ExperimentError."""
    if isinstance(error, ExperimentError):
        return str(error)
    return traceback.format_exception_only(error)[-1].strip().replace("\n", " ")


# ---- the address of the Celery workers' Redis ----------------------------------------------------


def checked(address: str, option: str) -> str:
    """Return `address` unchanged; raises SpecError, which names `option`, if it is not the address
    of a Redis database.
    """
    if not address.startswith(("redis://", "rediss://")):
        raise SpecError(
            option,
            f"{shown(address)!r} is not the address of a Redis database",
            allowed="redis://host:port/database",
        )
    return address


def shown(text: str) -> str:
    """Return `text` without the user and the password in any address that it contains."""
    return re.sub(r"(?<=://).*@", "", text)
