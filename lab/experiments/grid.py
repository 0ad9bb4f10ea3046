"""A grid: the same pure function of many tasks, spread over the cores of this machine or further.

Owns: which task is made where, a worker that is lost, progress, ending everything on Ctrl-C.
Must not know: what a task is. Tasks and results are JSON, whether they stay on this machine or not,
so that both ways give the same; who calls keeps results as they come and leaves out, another time,
the tasks whose results are there.

Processes are spawned, not forked: the one that calls has threads (the progress bar's, Arrow's), and
a copy of a process keeps their locks but not the threads that would open them.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import signal
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from lab.experiments.errors import ExperimentError

Json = Any
Worker = Callable[[Json], Json]
OnDone = Callable[[int, Json], None]
OnProgress = Callable[[int, Json], None]

TRIES = 2
"""A task whose worker was lost is made once more, then reported."""

_END_WITHIN_S = 5.0

_tell: Callable[[Json], None] = lambda progress: None  # noqa: E731 - replaced within a worker


@dataclass(frozen=True, slots=True)
class Failure:
    """A task that was not made: its index, and why, in one line."""

    index: int
    reason: str


class GridError(ExperimentError):
    """Some tasks were not made; all the others were."""

    def __init__(self, failures: Sequence[Failure]) -> None:
        self.failures = tuple(failures)
        more = f"; {len(failures) - 1} more failed" if len(failures) > 1 else ""
        super().__init__(
            f"Task {failures[0].index + 1} failed: {failures[0].reason}{more}. "
            "Everything else is kept; the same command makes what is missing."
        )


def run_grid(
    tasks: Sequence[Json],
    worker: Worker | str,
    *,
    processes: int | None = None,
    celery_broker: str | None = None,
    on_done: OnDone,
    on_progress: OnProgress | None = None,
) -> None:
    """Make `worker(task)` of every task; `on_done(index, result)` is called here as each is ready.

    `worker` is a function at the top of its module, or its name as `module:function`. It runs in
    `processes` processes of this machine (as many as CPUs by default), or, with a `celery_broker`,
    on the workers that `doorbuster worker` starts anywhere. It may call `tell(progress)`, which
    comes out here as `on_progress(index, progress)`.

    Raises GridError when tasks failed, after all the others are done; ExperimentError when no
    worker can be had. Any exception, Ctrl-C among them, ends all that is still running.
    """
    name = worker if isinstance(worker, str) else f"{worker.__module__}:{worker.__qualname__}"
    texts = [json.dumps(task, allow_nan=False) for task in tasks]
    progress = on_progress or (lambda index, progress: None)
    if not texts:
        return
    if celery_broker:
        from lab.experiments.farm import run_on_workers  # Celery takes its time to import

        failures = run_on_workers(texts, name, celery_broker, on_done, progress)
    else:
        count = min(processes or len(os.sched_getaffinity(0)), len(texts))
        failures = _run_on_cores(texts, name, count, on_done, progress)
    if failures:
        raise GridError(sorted(failures, key=lambda failure: failure.index))


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


# ---- the cores of this machine -------------------------------------------------------------------


class _Core:
    """A process of our own and the pipe to it; `index` is the task it has."""

    def __init__(self, worker: str, temporary: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=_work, args=(theirs, worker, temporary), daemon=True, name="doorbuster grid"
        )
        # Ctrl-C is for the parent alone, which then ends this process; blocked from its first
        # moment on. The tracker is started before, because it unblocks what it finds blocked.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        theirs.close()
        self.index: int | None = None

    def give(self, index: int, task: str) -> None:
        self.index = index
        with contextlib.suppress(OSError):  # it has died: its pipe says so when it is read
            self.pipe.send_bytes(task.encode())

    def end(self) -> None:
        """At once; what it was doing is lost."""
        self.process.terminate()
        self.process.join(_END_WITHIN_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


def _run_on_cores(
    tasks: Sequence[str], worker: str, count: int, on_done: OnDone, on_progress: OnProgress
) -> list[Failure]:
    waiting = list(reversed(range(len(tasks))))
    tries = [0] * len(tasks)
    failures: list[Failure] = []
    cores: list[_Core] = []
    temporary = tempfile.TemporaryDirectory(prefix="doorbuster-grid-")
    try:
        cores.extend(_Core(worker, temporary.name) for _ in range(count))
        while waiting or any(core.index is not None for core in cores):
            for position, core in enumerate(cores):
                if core.index is None and waiting:
                    if not core.process.is_alive():
                        core.end()
                        core = cores[position] = _Core(worker, temporary.name)
                    index = waiting.pop()
                    tries[index] += 1
                    core.give(index, tasks[index])
            busy = {core.pipe: core for core in cores if core.index is not None}
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)
                core = busy[pipe]
                index = core.index
                assert index is not None
                try:
                    kind, content = json.loads(pipe.recv_bytes())
                except (EOFError, OSError):
                    core.process.join(_END_WITHIN_S)
                    core.index = None
                    if tries[index] < TRIES:
                        waiting.append(index)
                    else:
                        status = core.process.exitcode
                        failures.append(Failure(index, f"its process died twice (status {status})"))
                    continue
                if kind == "progress":
                    on_progress(index, content)
                    continue
                core.index = None
                if kind == "result":
                    on_done(index, content)
                else:
                    failures.append(Failure(index, content))
    finally:
        for core in cores:
            core.end()
        temporary.cleanup()
    return failures


def _work(pipe: Connection, worker: str, temporary: str) -> None:
    """A core's process: a task in, progress and a result (or why there is none) out.

    Its temporary folders are made in `temporary`, which the parent removes: what ends this process
    need not ask it to tidy up.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    tempfile.tempdir = temporary
    threading.Thread(target=_end_with_parent, daemon=True).start()

    def say(kind: str, content: str) -> None:
        pipe.send_bytes(f'["{kind}", {content}]'.encode())

    while True:
        try:
            task = pipe.recv_bytes().decode()
        except EOFError:
            return
        try:
            say(
                "result", call(worker, task, lambda progress: say("progress", json.dumps(progress)))
            )
        except Exception as error:
            say("failure", json.dumps(reason(error)))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
