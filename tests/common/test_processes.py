"""Ending real processes, also those that ignore signals."""

import os
import signal
import subprocess
import sys

import pytest

from common import processes
from tests.waiting import until

LISTENING = "import time; print(flush=True); time.sleep(600)"
DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print(flush=True); time.sleep(600)"
)
WITH_A_CHILD = (
    "import subprocess, sys, time; "
    "print(subprocess.Popen(['/bin/sleep', '600']).pid, flush=True); time.sleep(600)"
)
PATIENCE_S = 240.0


def started(program, *, leads_group=False):
    """Start a process; return it, and the first line that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=leads_group,
    )
    assert process.stdout is not None
    with process.stdout:
        return process, process.stdout.readline()


def test_a_process_ends_by_the_chosen_signal():
    """The signal is a parameter."""
    process, _ = started(LISTENING)
    processes.end(process, PATIENCE_S, signal.SIGUSR1)
    assert process.returncode == -signal.SIGUSR1


def test_a_deaf_process_is_killed():
    """A process that ignores SIGTERM does not outlive the patience."""
    process, _ = started(DEAF)
    processes.end(process, 0.1)
    assert process.returncode == -signal.SIGKILL


def test_an_ended_process_is_left_alone():
    """Nothing is sent to a process id that another process may have by now."""
    process, _ = started("print(flush=True)")
    process.wait(PATIENCE_S)
    processes.end(process, -1.0)
    assert process.returncode == 0


def test_a_group_ends_together():
    """The child of a group's leader receives the signal, too."""
    process, line = started(WITH_A_CHILD, leads_group=True)
    child = os.pidfd_open(int(line))
    try:
        processes.end(process, PATIENCE_S, with_group=True)
        assert process.returncode == -signal.SIGTERM
        # Gone, or a zombie, which has no folder.
        assert until(lambda: not os.path.exists(f"/proc/{int(line)}/cwd"))
    finally:
        os.close(child)


def test_all_processes_share_one_patience():
    """Deaf processes are killed, the others end by the signal."""
    pair = [started(program)[0] for program in (DEAF, LISTENING)]
    processes.end_all(pair, 1.0)
    assert [one.returncode for one in pair] == [-signal.SIGKILL, -signal.SIGTERM]


def test_a_process_that_ends_never_becomes_ready():
    """The wait is over when the process ends."""
    process, _ = started("print(flush=True)")
    assert not processes.becomes_ready(process, lambda: False, PATIENCE_S)


@pytest.mark.parametrize(("within_s", "is_ready"), [(PATIENCE_S, True), (0.0, False)])
def test_a_process_becomes_ready_in_time(within_s, is_ready):
    """`ready` is called until it is true, or until time runs out."""
    process, _ = started(LISTENING)
    answers = iter([False, True])
    try:
        assert processes.becomes_ready(process, lambda: next(answers), within_s) is is_ready
    finally:
        processes.end(process, PATIENCE_S)


def test_a_process_lives_until_it_has_ended():
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        noted = processes.note_of(process.pid)
        assert processes.is_alive(noted)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
        assert not processes.is_alive(noted)
    assert not processes.is_alive(noted)


def test_another_process_with_its_number_is_not_it():
    process, began = processes.note_of().split()
    assert processes.is_alive(f"{process} {began}")
    assert not processes.is_alive(f"{process} {float(began) - 60}")
