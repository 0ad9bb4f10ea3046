"""A simulated launch ends at its limit of memory or CPU time, and reports it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from common import pinned
from lab.console.launches.job_limits import IDLE_TIMES, JobLimits
from lab.console.site.allowances import MIB, STUDENT
from runtime.settings import REPOSITORY
from tests.lab.console import programs

pytestmark = pytest.mark.slow


_EATS = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}])"
_MEMORY = "import time; kept = bytearray(100 * 2**20); print('ready', flush=True); time.sleep(60)"
_TIME = "print('ready', flush=True)\nwhile True: pass"


@pytest.mark.parametrize(
    ("program", "changes", "words"),
    [
        (_MEMORY, {"job_memory_bytes": 64 * MIB}, "its memory was 1"),
        (_TIME, {"job_least_s": 1, "job_times_expected": 1}, "its CPU time was "),
    ],
)
def test_all_processes_of_a_launch_count_together(program, changes, words):
    """The memory of the command's children counts, too; the message names who can raise
    the limit."""
    limits = JobLimits(replace(STUDENT, **changes), 0.0, clock=lambda: 0.0)
    parent = subprocess.Popen([sys.executable, "-c", _EATS.format(program)], stdout=subprocess.PIPE)
    try:
        parent.stdout.readline()
        said = ""
        while not said:
            said = limits.exceeded(parent.pid)
    finally:
        parent.stdout.close()
        _end(parent.pid)
        parent.wait()
    assert words in said
    assert "for a student. A teacher can launch it for you, or the administrator can raise" in said


def _end(process: int) -> None:
    import psutil

    for one in [*psutil.Process(process).children(recursive=True), psutil.Process(process)]:
        one.kill()


def test_a_launch_that_does_nothing_ends_as_well():
    """Real time counts, IDLE_TIMES as long: others may need the processors."""
    now = [0.0]
    limits = JobLimits(STUDENT, 200.0, clock=lambda: now[0])
    with subprocess.Popen(["sleep", "60"]) as idle:
        now[0] = IDLE_TIMES * 600 - 1
        assert limits.exceeded(idle.pid) == ""
        now[0] += 2
        ended = limits.exceeded(idle.pid)
        idle.kill()
    assert "its real time was 1 h 40 min; allowed: 1 h 40 min for a student" in ended


def test_the_kernel_ends_a_launch_before_anything_else():
    """Its processes are expendable, and each may reserve only so much."""
    said = "import resource; print(open('/proc/self/oom_score_adj').read().strip(), "
    program = [sys.executable, "-c", said + "*resource.getrlimit(resource.RLIMIT_DATA))"]
    command = pinned.command(
        tuple(os.sched_getaffinity(0)), program, data_bytes=2**30, expendable=True
    )
    made = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert made.stdout.split() == ["1000", str(2**30), str(2**30)]


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ("job_memory_bytes=60000000", "memory was "),
        ("job_least_s=1 job_times_expected=1", "CPU time was "),
    ],
)
def test_a_launch_fails_with_the_limit_that_it_reached(tmp_path: Path, limits: str, words: str):
    """On a busy machine, a second of CPU time can take minutes of real time, which has no limit
    here."""
    found = programs.told(
        tmp_path,
        """
from lab.console.launches import job_limits, workers
from lab.console.launches.submission import of_spec
from lab.spec.experiment import load_spec
launch = of_spec(load_spec("lifo-pri-simulated")).launch(STUDENT)
launch.by, launch.expected_s = "bob", 0.5
job_limits.IDLE_TIMES = 1000
queue.enqueue(launch)
workers.carry_out(queue.claim())
launch.refresh_from_db()
print(json.dumps([launch.state, launch.reason]))
""",
        DOORBUSTER_LAB_ACCOUNTS="1",
        DOORBUSTER_LAB_STUDENT_LIMITS=limits,
    )
    assert found[0] == "failed", found[1]
    assert f"The launch was stopped: its {words}" in found[1]
    assert "the administrator can raise job_" in found[1]
