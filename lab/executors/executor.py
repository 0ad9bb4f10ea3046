"""Run a pure function on many tasks, on local cores or on Celery workers."""

import json
from collections.abc import Sequence
from typing import Any

from common import cpus
from lab.errors import ExperimentError
from lab.executors.tasks import Failure, Json, OnCost, OnDone, OnProgress, Worker


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
    `celery_broker`, the tasks run on the workers that `doorbuster worker` has started. `worker` can
    call `tell(progress)`, which calls `on_progress(index, progress)` in this process.
    `on_cost(index, cpu_s)` receives the CPU seconds of each finished task, except with a
    `celery_broker`.

    Raises TasksError if tasks failed, but only after all other tasks have ended. Raises
    ExperimentError if no worker answers. Any exception, including Ctrl-C, ends all running tasks.
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
