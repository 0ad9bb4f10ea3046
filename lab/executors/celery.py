"""Run tasks on Celery workers, on this machine or on other machines.

Tasks and results are JSON, and a worker calls only the functions in `CALLABLE`, which run
simulations. One Redis is the broker and stores the results. Any program that can write to this
Redis can start tasks. The Redis must therefore be on a private network and have a password
(docs/experiments.md, *More than one machine*).
"""

import json
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
from celery import Celery, Task
from celery.exceptions import SecurityWarning
from celery.signals import worker_process_init
from celery.worker.control import inspect_command
from celery.worker.state import active_requests
from kombu.exceptions import OperationalError
from redis.backoff import NoBackoff
from redis.retry import Retry

from common import cpus
from common.processes import end_with_parent
from common.waiting import wait_until
from lab.errors import ExperimentError, SpecError
from lab.executors.tasks import TRIES, Failure, OnDone, OnProgress, call, reason, shown
from lab.machine.description import code_digest, describe_versions

QUEUE = "doorbuster"
TASK = "doorbuster.work"
CALLABLE = ["lab.runner.simulated:make_packed_run", "lab.studies.measures:simulate_case"]
"""A task may call only functions whose names begin with one of these texts."""

POLL_EVERY_S = 0.1
ASK_EVERY_S = 2.0
REPLY_WITHIN_S = 1.0
FIRST_REPLY_WITHIN_S = 10.0
"""The real seconds for which the executor waits for a worker's first answer; busy workers answer
late.
"""
LOST_AFTER_S = 30.0
"""The real seconds after which a task counts as lost if it neither waits nor runs on a worker."""
NOBODY_FOR_S = 60.0
"""The real seconds without any worker after which the executor gives up."""

_REDIS_GONE = (redis.RedisError, OperationalError)
"""The exceptions of a Redis that does not answer: from its client, and from Celery's messages."""

CODE = code_digest()
"""The digest of the loaded code; it must be the same in the executor and in all workers."""


def application(broker: str) -> Celery:
    """Return the Celery application that uses the Redis at `broker` for messages and results.

    Raises SpecError for an invalid address and ExperimentError if no server answers there.
    """
    try:
        with redis.Redis.from_url(
            broker, socket_connect_timeout=5, retry=Retry(NoBackoff(), retries=0)
        ) as client:
            client.ping()
    except ValueError as fault:
        raise SpecError(
            "broker",
            f"{shown(broker)} is not a valid address ({fault})",
            allowed="redis://host:port/database",
        ) from None
    except redis.RedisError as fault:
        raise ExperimentError(
            f"No Redis answers at {shown(broker)} ({fault}). `make up` starts the Redis of the "
            "appliance; DOORBUSTER_CELERY_BROKER can name another Redis."
        ) from None
    app = Celery("doorbuster", broker=broker, backend=broker, set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        result_accept_content=["json"],
        task_serializer="json",
        result_serializer="json",
        task_default_queue=QUEUE,
        task_track_started=True,
        # A worker receives a task only when it can begin the task, so that a worker that dies loses
        # no waiting task.
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=True,
        result_expires=24 * 3600,
        broker_connection_retry_on_startup=True,
        worker_hijack_root_logger=False,
    )
    app.task(name=TASK, bind=True)(_work)
    return app


# ---- the worker's side ---------------------------------------------------------------------------


def serve(broker: str, processes: int | None) -> None:
    """Run the tasks that arrive at `broker`, `processes` at a time, until a signal arrives."""
    app = application(broker)
    count = processes or len(cpus.here())
    print(
        f"Doorbuster {_version()}, {count} tasks at a time for {shown(broker)}. "
        "Press Ctrl-C once to stop after the current tasks, or twice to stop immediately.",
        flush=True,
    )
    # Celery warns root about pickle, but these messages never use pickle.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    worker_process_init.connect(_end_with_worker)
    worker = app.Worker(
        hostname=f"doorbuster-{os.getpid()}@{os.uname().nodename}",
        concurrency=count,
        pool="prefork",
        loglevel="WARNING",
        quiet=True,
        without_gossip=True,
        without_mingle=True,
    )
    worker.start()


def _end_with_worker(**_: object) -> None:
    """Let this process end immediately if its worker is killed, even during a task."""
    end_with_parent(signal.SIGKILL)


@inspect_command(name="doorbuster")
def _describe(state: Any, **_: object) -> dict[str, Any]:
    return {
        "code": CODE,
        "version": _version(),
        "slots": state.consumer.pool.num_processes,
        "active": [request.id for request in active_requests],
    }


def _work(self: "Task[..., Any]", code: str, worker: str, task: str) -> dict[str, str]:
    """Run one task; return its result or the reason for its failure."""
    if code != CODE:
        return {"refused": f"{self.request.hostname} runs other code: Doorbuster {_version()}"}
    if not worker.startswith(tuple(CALLABLE)):
        return {"failure": f"{worker} is not one of the functions that a worker may call"}
    try:
        return {
            "result": call(
                worker,
                task,
                lambda progress: self.update_state(state="PROGRESS", meta={"progress": progress}),
            )
        }
    except Exception as error:
        return {"failure": reason(error)}


@cache
def _version() -> str:
    return f"{describe_versions()['doorbuster']}, code {CODE}"


# ---- the caller's side ---------------------------------------------------------------------------


def run_on_workers(
    tasks: Sequence[str], worker: str, broker: str, on_done: OnDone, on_progress: OnProgress
) -> list[Failure]:
    """Run tasks that are given as JSON, as `executor.run_tasks` does; return the failed tasks."""
    app = application(broker)
    with redis.Redis.from_url(broker) as queue:
        distribution = _Distribution(
            app, tasks, worker, shown(broker), lambda: int(queue.llen(QUEUE))
        )
        try:
            return distribution.run(on_done, on_progress)
        except redis.OutOfMemoryError:
            raise ExperimentError(
                f"The Redis at {shown(broker)} is full, so it refuses tasks and results. Increase "
                "its setting maxmemory, or wait until other commands have received their results. "
                "The finished tasks are kept; to resume, repeat the command."
            ) from None
        except _REDIS_GONE as fault:
            raise ExperimentError(
                f"The Redis at {shown(broker)} no longer answers ({fault}). The finished tasks are "
                "kept; to resume, repeat the command."
            ) from None
        finally:
            with suppress(*_REDIS_GONE):
                queue.ping()  # revoking would wait without a limit for a Redis that has ended
                distribution.revoke()


@dataclass(slots=True)
class _UnderWay:
    """A task that was sent, with the last time at which it waited, ran on a worker, or reported new
    progress."""

    index: int
    seen_s: float
    began: bool = False
    progress: Any = None


class _Distribution:
    def __init__(
        self, app: Celery, tasks: Sequence[str], worker: str, broker: str, queued: Callable[[], int]
    ) -> None:
        self._app = app
        self._tasks = tasks
        self._worker = worker
        self._broker = broker
        self._queued = queued
        self._waiting = deque(range(len(tasks)))
        self._tries = [0] * len(tasks)
        self._under_way: dict[str, _UnderWay] = {}
        self._failures: list[Failure] = []
        self._slots = 0

    def run(self, on_done: OnDone, on_progress: OnProgress) -> list[Failure]:
        self._find_workers()
        answered_s = asked_s = time.monotonic()
        while self._waiting or self._under_way:
            # With a running and a waiting task for each process, no process is idle, and an
            # interruption revokes only a few tasks.
            while self._waiting and len(self._under_way) < 2 * self._slots:
                self._send(self._waiting.popleft())
            for id, sent in list(self._under_way.items()):
                self._look(id, sent, on_done, on_progress)
            now_s = time.monotonic()
            if now_s - asked_s >= ASK_EVERY_S:
                answers, asked_s = self._ask(), now_s
                answered_s = now_s if answers else answered_s
                if now_s - answered_s > NOBODY_FOR_S:
                    raise ExperimentError(
                        f"No worker has answered at {self._broker} for "
                        f"{NOBODY_FOR_S:.0f} s. The finished tasks are kept; to resume, start "
                        "workers and repeat the command."
                    )
                self._miss(answers)
            time.sleep(POLL_EVERY_S)
        return self._failures

    def revoke(self) -> None:
        if self._under_way:
            self._app.control.revoke(list(self._under_way), terminate=True)
            for id in self._under_way:
                self._app.backend.forget(id)

    def _find_workers(self) -> None:
        if not wait_until(self._ask, FIRST_REPLY_WITHIN_S):
            raise ExperimentError(
                f"No worker is connected to {self._broker}; start workers, here or on other "
                f"machines: doorbuster worker --broker {self._broker}"
            )

    def _send(self, index: int) -> None:
        self._tries[index] += 1
        sent = self._app.tasks[TASK].apply_async((CODE, self._worker, self._tasks[index]))
        self._under_way[sent.id] = _UnderWay(index, time.monotonic())

    def _look(self, id: str, sent: _UnderWay, on_done: OnDone, on_progress: OnProgress) -> None:
        meta = self._app.backend.get_task_meta(id)
        status, answer = meta["status"], meta["result"]
        sent.began = status != "PENDING"
        if status == "PROGRESS":
            if answer["progress"] != sent.progress:
                sent.progress, sent.seen_s = answer["progress"], time.monotonic()
            on_progress(sent.index, answer["progress"])
        elif status == "SUCCESS":
            self._end(id)
            if "refused" in answer:
                raise ExperimentError(_other_code(answer["refused"]))
            if "failure" in answer:
                self._failures.append(Failure(sent.index, answer["failure"]))
            else:
                on_done(sent.index, json.loads(answer["result"]))
        elif status in ("FAILURE", "REVOKED"):  # the worker reports that its process was killed
            self._lost(id, sent)

    def _miss(self, answers: Mapping[str, Mapping[str, Any]]) -> None:
        """Find tasks that neither wait nor run on a worker, and are therefore lost."""
        active = {id for answer in answers.values() for id in answer["active"]}
        queued = self._queued()
        now_s = time.monotonic()
        for id, sent in list(self._under_way.items()):
            if id in active or (queued and not sent.began):
                sent.seen_s = now_s
            elif now_s - sent.seen_s > LOST_AFTER_S:
                self._lost(id, sent)

    def _lost(self, id: str, sent: _UnderWay) -> None:
        self._end(id)
        if self._tries[sent.index] < TRIES:
            self._waiting.appendleft(sent.index)
        else:
            self._failures.append(
                Failure(sent.index, "the worker that ran it was lost, for the second time")
            )

    def _end(self, id: str) -> None:
        del self._under_way[id]
        self._app.backend.forget(id)

    def _ask(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the workers' replies by name; raises ExperimentError if one runs other code."""
        replies = (
            self._app.control.broadcast("doorbuster", reply=True, timeout=REPLY_WITHIN_S) or []
        )
        answers = {name: said for reply in replies for name, said in reply.items()}
        for name, said in answers.items():
            if said.get("code") != CODE:
                raise ExperimentError(
                    _other_code(f"{name} runs other code: Doorbuster {said.get('version')}")
                )
        self._slots = sum(said["slots"] for said in answers.values()) or self._slots
        return answers


def _other_code(who: str) -> str:
    return (
        f"{who}; this is {_version()}. Install the same version on both machines and start the "
        "worker again."
    )
