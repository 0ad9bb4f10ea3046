"""The Celery workers that run launches with the command `doorbuster`. A message only wakes a
worker, so a lost or repeated message does no harm; the queue decides which launch is next."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from datetime import timedelta
from pathlib import Path

import psutil
import redis
from celery import Celery
from celery.exceptions import SecurityWarning
from celery.signals import heartbeat_sent, worker_process_init
from django.db import OperationalError
from django.utils import timezone

from common import log_tail, pinned, processes
from lab.console.launches import queue
from lab.console.launches.job_limits import JobLimits
from lab.console.models import Launch, State
from lab.console.results import curve_cache
from lab.console.site import permissions
from lab.console.site.settings import FOLDER, LAB
from lab.machine.lock import GIVES_WAY, WAITS
from lab.machine.progress_file import VARIABLE

QUEUE = "doorbuster-console"
TASK = "doorbuster.console.next"
LOOK_EVERY_S = 0.5
STOP_WITHIN_S = 30.0
"""The time, in real seconds, that a command has after a stop signal to stop its load and save its
results.
"""
INTERRUPTED = 130
_NO_MEMORY = ("MemoryError", "Cannot allocate memory", "failed to map segment")
"""Texts of Python, the kernel or the loader that show that a command ran out of memory."""
_COMMAND = "command"
"""The file with the id and the start time of a command's process, in the launch's folder."""
_MARKS = FOLDER / "workers"
"""The folder with a file for each worker. A worker touches its file every 2 s as long as it reaches
the broker.
"""
_ONLINE_WITHIN_S = 15.0
"""The maximum age, in real seconds, of the file of a worker that counts as online."""
_BROKER_WITHIN_S = 0.3
"""The maximum time, in real seconds, to wait for the broker's answer. The time is short because
Prometheus is waiting for the console's metrics."""

app = Celery("doorbuster-console", broker=LAB.celery_broker, set_as_current=False)
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    task_default_queue=QUEUE,
    task_ignore_result=True,
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=True,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)


def tell() -> None:
    """Wake the workers. Raises kombu's OperationalError if the broker cannot be reached."""
    app.send_task(TASK, retry=False)


def online() -> int:
    """Return the number of workers that can reach the broker."""
    return sum(not _is_stale(mark) for mark in _MARKS.glob("*"))


def queued_tasks() -> int | None:
    """Return the number of messages that wait for a worker; None if the broker does not answer."""
    try:
        return int(_broker.llen(QUEUE))
    except redis.RedisError:
        return None


_broker = redis.Redis.from_url(
    LAB.celery_broker, socket_timeout=_BROKER_WITHIN_S, socket_connect_timeout=_BROKER_WITHIN_S
)


def _is_stale(mark: Path) -> bool:
    try:
        return mark.stat().st_mtime < time.time() - _ONLINE_WITHIN_S
    except FileNotFoundError:  # just removed
        return True


def _own_mark() -> Path:
    return _MARKS / str(os.getpid())


def _touch_mark(**_: object) -> None:
    _MARKS.mkdir(parents=True, exist_ok=True)
    _own_mark().touch()


def _remove_marks() -> None:
    """Remove this worker's file, and the files of workers that were killed."""
    for mark in _MARKS.glob("*"):
        if mark == _own_mark() or _is_stale(mark):
            mark.unlink(missing_ok=True)


# Celery creates `app.Worker` at its first use.
class _Worker(app.Worker):  # type: ignore[misc, name-defined]
    """A worker that ends at once on SIGQUIT. A worker of Celery's own class might wait forever for
    its pool.

    The worker's commands also end, because a command receives SIGTERM when the process that started
    it ends (`common.pinned`).
    """

    def install_platform_tweaks(self, worker: object) -> None:
        super().install_platform_tweaks(worker)
        signal.signal(signal.SIGQUIT, _end_now)


def _end_now(*_: object) -> None:
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            child.kill()
    _remove_marks()
    os._exit(0)


def _end_with_worker(**_: object) -> None:
    """Make the system end this pool process, and with it the command, if the worker is killed."""
    processes.end_with_parent(signal.SIGKILL)


def serve() -> None:
    """Run the worker until a signal arrives."""
    warnings.filterwarnings("ignore", category=SecurityWarning)  # no message here can be a pickle
    worker_process_init.connect(_end_with_worker)
    heartbeat_sent.connect(_touch_mark)
    try:
        _Worker(
            hostname=f"doorbuster-console-{os.getpid()}@{os.uname().nodename}",
            concurrency=queue.AT_ONCE,
            pool="prefork",
            loglevel="WARNING",
            quiet=True,
            without_gossip=True,
            without_mingle=True,
        ).start()
    finally:
        _remove_marks()


@app.task(name=TASK)
def _next() -> None:
    launch = queue.claim()
    if launch is not None:
        carry_out(launch)
        tell()  # the machine is free again


def folder_of(launch: Launch) -> Path:
    """Return the folder with a launch's spec, output and progress."""
    return FOLDER / "launches" / launch.pk


def carry_out(launch: Launch) -> None:
    """Run the command of a claimed launch until it ends, and record the outcome."""
    folder = folder_of(launch)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        code, exceeded = _run(launch, folder)
    except Exception as fault:
        queue.end(launch, State.FAILED, f"{type(fault).__name__}: {fault}")
        raise
    launch.refresh_from_db()
    if exceeded:
        queue.end(launch, State.FAILED, exceeded)
    elif code == 0:
        curve_cache.warm(launch.result)  # while the machine is still this launch's
        queue.end(launch, State.DONE)
    elif launch.cancel_asked:
        queue.end(launch, State.CANCELLED)
    elif code in (INTERRUPTED, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL):
        queue.end(
            launch,
            State.INTERRUPTED,
            "A person or a program outside the console stopped the command.",
        )
    else:
        queue.end(launch, State.FAILED, last_words(folder / "output.log"))


def last_words(log: Path) -> str:
    """Return the reason why a command failed: its error line, or the end of its output."""
    lines = log_tail.read(log).strip().splitlines()
    errors = [line for line in lines if line.startswith("Error: ")]
    return (errors[-1].removeprefix("Error: ") if errors else "\n".join(lines[-5:])) or (
        "The command printed nothing."
    )


def _command(launch: Launch, folder: Path, limits: JobLimits | None) -> list[str]:
    if launch.spec:
        spec = folder / "spec.toml"
        spec.write_text(launch.spec, encoding="utf-8")
        arguments = ["run", str(spec), "--fresh"]
    else:
        arguments = list(launch.arguments)
    program = [sys.executable, "-m", "doorbuster", *arguments]
    # The command runs on processors that the shop does not use, so it does not slow the shop.
    return pinned.command(
        LAB.other_cpus,
        program,
        end_with_parent=signal.SIGTERM,
        idle=not launch.is_live,
        data_bytes=None if limits is None else limits.process_bytes,
        expendable=limits is not None,
    )


def _run(launch: Launch, folder: Path) -> tuple[int, str]:
    """Return the exit status of the command, and the limit that it reached (empty if none)."""
    limits: JobLimits | None = None
    if not launch.is_live:
        # All of these processors work for the expected seconds at once.
        expected_s = launch.expected_s * len(LAB.other_cpus)
        limits = JobLimits(permissions.allowance_of_launch(launch), expected_s)
    exceeded = ""
    progress = folder / "progress.json"
    progress.unlink(missing_ok=True)
    environment = {**LAB.environment(), VARIABLE: str(progress), "COLUMNS": "140", WAITS: "1"}
    environment.pop("DJANGO_SETTINGS_MODULE", None)  # the console's own; the command starts shops
    if launch.gives_way:
        environment[GIVES_WAY] = "1"
    with (folder / "output.log").open("wb") as log:
        child = subprocess.Popen(
            _command(launch, folder, limits),
            cwd=Path(__file__).parents[3],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    mark = folder / _COMMAND
    stop_by_s: float | None = None
    try:
        mark.write_text(processes.note_of(child.pid), encoding="utf-8")
        while child.poll() is None:
            time.sleep(LOOK_EVERY_S)
            with contextlib.suppress(OperationalError):  # the database may be locked for a moment
                _note_progress(launch, progress)
            if limits is not None and not exceeded:
                exceeded = limits.exceeded(child.pid)
                if exceeded:
                    _end_all(child.pid)
            if launch.cancel_asked and stop_by_s is None:
                child.send_signal(signal.SIGINT)
                stop_by_s = time.monotonic() + STOP_WITHIN_S
            if stop_by_s is not None and time.monotonic() > stop_by_s:
                _end_all(child.pid)
    finally:
        if child.poll() is None:
            _end_all(child.pid)
            child.wait()
        mark.unlink(missing_ok=True)
    _note_progress(launch, progress)
    if limits is not None and child.returncode and not exceeded:
        said = last_words(folder / "output.log")
        exceeded = limits.out_of_memory() if any(map(said.__contains__, _NO_MEMORY)) else ""
    return child.returncode, exceeded


def _note_progress(launch: Launch, path: Path) -> None:
    launch.refresh_from_db()
    with contextlib.suppress(OSError, ValueError):
        said = json.loads(path.read_text(encoding="utf-8"))
        launch.done_ratio = float(said.get("done_ratio", 0.0))
        launch.words = str(said.get("words", ""))[:300]
        launch.result = Path(said["folder"]).name if said.get("folder") else launch.result
        launch.save(update_fields=["done_ratio", "words", "result"])


def end_left_overs() -> None:
    """Stop commands whose launch ended more than STOP_WITHIN_S ago because their worker died.

    Each command received a signal when its worker died, but Python can lose a signal during an
    import.
    """
    for mark in (FOLDER / "launches").glob(f"*/{_COMMAND}"):
        launch = Launch.objects.filter(pk=mark.parent.name).first()
        over = timezone.now()
        if launch is not None:
            if launch.ended_at is None:
                continue
            over = launch.ended_at + timedelta(seconds=STOP_WITHIN_S)
        with contextlib.suppress(OSError, ValueError):  # just removed, or not yet written
            noted = mark.read_text(encoding="utf-8")
            if not processes.is_alive(noted):
                mark.unlink(missing_ok=True)
            elif timezone.now() >= over:
                _end_all(int(noted.split()[0]))


def _end_all(process: int) -> None:
    """End the command and every process that it started. Each process is ended separately, because
    the processes of a command can be in different process sessions."""
    with contextlib.suppress(psutil.Error):
        parent = psutil.Process(process)
        family = [*parent.children(recursive=True), parent]
        for one in family:
            with contextlib.suppress(psutil.Error):
                one.kill()
