"""Functions that end a child process, let a process end with its parent, and identify a process.

A note contains the id and the start time of a process. With a note, another program can find out
whether the process still runs.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import psutil

from common.waiting import wait_until

_PR_SET_PDEATHSIG: Final = 1  # prctl(2)

AnyProcess = subprocess.Popen[Any]


def end(
    process: AnyProcess,
    patience_s: float,
    sign: signal.Signals = signal.SIGTERM,
    *,
    with_group: bool = False,
) -> None:
    """Send `sign` to a child process, and kill it if it has not ended after `patience_s`.

    With `with_group`, the process must lead a group, and the whole group gets the signals.
    """
    if process.returncode is None:
        _send(process, sign, with_group)
        _await_end(process, patience_s, with_group)


def end_all(processes: Sequence[AnyProcess], patience_s: float) -> None:
    """Send SIGTERM to all these processes, and kill those that have not ended after
    `patience_s`.
    """
    deadline_s = time.monotonic() + patience_s
    for process in processes:
        process.send_signal(signal.SIGTERM)
    for process in processes:
        _await_end(process, deadline_s - time.monotonic())


def becomes_ready(process: AnyProcess, ready: Callable[[], bool], within_s: float) -> bool:
    """Wait until `ready` is true; return false if the process ends first or time runs out."""
    is_over = wait_until(lambda: process.poll() is not None or ready(), within_s)
    return is_over and process.poll() is None


def end_with_parent(sign: signal.Signals) -> None:
    """Ask the kernel to send `sign` to this process when the thread that started it ends."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(sign))


def become_expendable() -> None:
    """Ask the kernel to end this process before all others if the machine runs out of memory."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def note_of(process: int | None = None) -> str:
    """Return a note about a process, by default this process, for `is_alive`."""
    pid = os.getpid() if process is None else process
    return f"{pid} {psutil.Process(pid).create_time()}"


def is_alive(noted: str) -> bool:
    """Return whether the process of a note still runs. Raises ValueError for an invalid note."""
    process, began = noted.split()
    return lives(int(process), float(began))


def lives(process: int, began: float | None) -> bool:
    """Return whether the process with this id and start time (Unix time) still runs."""
    try:
        found = psutil.Process(process)
        if found.status() == psutil.STATUS_ZOMBIE:  # it has ended
            return False
        return began is None or abs(found.create_time() - began) < 1.0
    except psutil.Error:
        return False


def _await_end(process: AnyProcess, patience_s: float, with_group: bool = False) -> None:
    try:
        process.wait(max(0.0, patience_s))
    except subprocess.TimeoutExpired:
        _send(process, signal.SIGKILL, with_group)
        process.wait()


def _send(process: AnyProcess, sign: signal.Signals, to_group: bool) -> None:
    if to_group:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
    else:
        process.send_signal(sign)
