"""Run tasks in processes on the cores of this machine.

Processes are spawned, not forked. A forked process would inherit locks, but not the threads that
release these locks.
"""

import contextlib
import importlib
import json
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from lab.executors.tasks import TRIES, Failure, OnCost, OnDone, OnProgress, call, reason

_END_WITHIN_S = 5.0


class _Core:
    """A child process, the pipe to it, and its current task (`index`)."""

    def __init__(self, worker: str, temporary: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(
            target=_work, args=(theirs, worker, temporary), daemon=True, name="doorbuster tasks"
        )
        # Only the parent handles Ctrl-C, and then ends its children. Therefore, a child starts
        # with the signal blocked. The resource tracker must start first, because its start
        # unblocks signals.
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
        with contextlib.suppress(OSError):  # the process has died; reading the pipe reports it
            self.pipe.send_bytes(task.encode())

    def end(self) -> None:
        """End the process immediately; its task is lost."""
        # `common.processes` is unsuitable, because only multiprocessing may wait for its processes.
        self.process.terminate()
        self.process.join(_END_WITHIN_S)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.pipe.close()


def run_on_cores(
    tasks: Sequence[str],
    worker: str,
    count: int,
    on_done: OnDone,
    on_progress: OnProgress,
    on_cost: OnCost,
) -> list[Failure]:
    """Run all tasks in `count` processes; return the failed tasks."""
    waiting = list(reversed(range(len(tasks))))
    tries = [0] * len(tasks)
    failures: list[Failure] = []
    cores: list[_Core] = []
    temporary = tempfile.TemporaryDirectory(prefix="doorbuster-tasks-")
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
                assert core.index is not None
                index = core.index
                try:
                    kind, content, cpu_s = json.loads(pipe.recv_bytes())
                except (EOFError, OSError):
                    core.process.join(_END_WITHIN_S)
                    core.index = None
                    if tries[index] < TRIES:
                        waiting.append(index)
                    else:
                        status = core.process.exitcode
                        failures.append(
                            Failure(
                                index,
                                "the process that ran it died, for the second time (status "
                                f"{status})",
                            )
                        )
                    continue
                if kind == "progress":
                    on_progress(index, content)
                    continue
                core.index = None
                if kind == "result":
                    on_cost(index, cpu_s)
                    on_done(index, content)
                else:
                    failures.append(Failure(index, content))
    finally:
        for core in cores:
            core.end()
        temporary.cleanup()
    return failures


def _work(pipe: Connection, worker: str, temporary: str) -> None:
    """Receive tasks, and send their progress, their results, or the reasons for their failures.

    The process can be killed at any time, because the parent removes the folder `temporary`, in
    which this process creates temporary files.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    tempfile.tempdir = temporary
    threading.Thread(target=_end_with_parent, daemon=True).start()

    began_s = 0.0

    def say(kind: str, content: str) -> None:
        pipe.send_bytes(f'["{kind}", {content}, {time.process_time() - began_s}]'.encode())

    with contextlib.suppress(Exception):  # the first task reports an error of this import
        importlib.import_module(worker.partition(":")[0])
    while True:
        try:
            task = pipe.recv_bytes().decode()
        except EOFError:
            return
        began_s = time.process_time()
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
