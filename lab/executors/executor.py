"""Run a pure function on many tasks, on local cores or on Celery workers.

Tasks and results are JSON. A task's function has a name of the form `module:function`.
"""

import contextlib
import importlib
import json
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from common import cpus
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


class TasksError(ExperimentError):
    """The error for failed tasks, which is raised when all other tasks are done."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.failures = tuple(failures)
        more = f"; {len(failures) - 1} more failed" if len(failures) > 1 else ""
        super().__init__(
            f"Task {failures[0].index + 1} failed: {failures[0].reason}{more}. "
            "All other results are kept. To run the missing tasks, repeat the command."
        )


def run_tasks(
    tasks: Sequence[Json],
    worker: Worker | str,
    *,
    processes: int | None = None,
    celery_broker: str | None = None,
    on_done: OnDone,
    on_progress: OnProgress | None = None,
    on_cost: OnCost | None = None,
) -> None:
    """Call `worker(task)` for every task, and `on_done(index, result)` for each result.

    `worker` is a function of a module, or the name of the function as `module:function`. The tasks
    run in `processes` processes on this machine; the default is the number of CPUs. With a
    `celery_broker`, the tasks run on the workers that `doorbuster worker` has started. The function
    can call `tell(progress)`, which calls `on_progress(index, progress)` in this process.
    `on_cost(index, cpu_s)` receives the CPU seconds of each finished task, except with a
    `celery_broker`.

    Raises TasksError if tasks failed, after all other tasks. Raises ExperimentError if no worker
    answers. Any exception, including Ctrl-C, ends all running tasks.
    """
    name = worker if isinstance(worker, str) else f"{worker.__module__}:{worker.__qualname__}"
    texts = _Texts(tasks)
    progress = on_progress or (lambda index, progress: None)
    if not texts:
        return
    if celery_broker:
        from lab.executors.celery import run_on_workers

        failures = run_on_workers(texts, name, celery_broker, on_done, progress)
    else:
        count = min(processes or len(cpus.here()), len(texts))
        cost = on_cost or (lambda index, cpu_s: None)
        from lab.executors.local import run_on_cores

        failures = run_on_cores(texts, name, count, on_done, progress, cost)
    if failures:
        raise TasksError(sorted(failures, key=lambda failure: failure.index))


class _Texts(Sequence[str]):
    """The sequence of tasks as JSON texts, each created when it is needed, because all texts
    together would fill the memory.
    """

    def __init__(self, tasks: Sequence[Json]) -> None:
        self._tasks = tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: Any) -> Any:
        return json.dumps(self._tasks[index], allow_nan=False)


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
            f"{option}: {shown(address)!r} is not the address of a Redis database; allowed: "
            "redis://host:port/database"
        )
    return address


def shown(text: str) -> str:
    """Return `text` without the user and the password in any address that it contains."""
    return re.sub(r"(?<=://).*@", "", text)
