"""Ending real processes, those too that do not want to."""

import signal
import subprocess
import sys

from runtime.ending import await_end, end

_DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print(flush=True); time.sleep(600)"
)
_PATIENT_S = 240.0


def started(program):
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    process.stdout.readline()
    return process


def test_who_listens_ends_by_the_signal_that_was_asked_for():
    with started("import time; print(flush=True); time.sleep(600)") as process:
        end(process, _PATIENT_S, signal.SIGUSR1)
    assert process.returncode == -signal.SIGUSR1


def test_who_does_not_listen_is_killed():
    with started(_DEAF) as process:
        end(process, 0.1)
    assert process.returncode == -signal.SIGKILL


def test_who_has_ended_is_left_alone():
    with started("print(flush=True)") as process:
        await_end(process, _PATIENT_S)
        end(process, -1.0)
    assert process.returncode == 0
