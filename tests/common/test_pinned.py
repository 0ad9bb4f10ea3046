"""The state of a program that starts through `common.pinned`."""

import json
import os
import signal
import subprocess
import sys

import psutil
import pytest

from common import pinned
from runtime.settings import REPOSITORY
from tests.waiting import until

SAY = (
    "import json, os, resource;"
    "print(json.dumps([os.getpid(), sorted(os.sched_getaffinity(0)), os.getuid(),"
    " resource.getrlimit(resource.RLIMIT_NOFILE)[0], sorted(os.environ)]))"
)
CPU = max(os.sched_getaffinity(0))


def started(command, **environment):
    process = subprocess.Popen(
        command, cwd=REPOSITORY, env=os.environ | environment, stdout=subprocess.PIPE, text=True
    )
    printed, _ = process.communicate(timeout=240)
    assert process.returncode == 0
    return process.pid, json.loads(printed)


def test_it_is_the_program_itself_on_the_given_cpus():
    pid, said = started(pinned.command((CPU,), [sys.executable, "-c", SAY]))
    assert said[:3] == [pid, [CPU], os.getuid()]
    assert said[3] == pinned.raise_open_files()


def test_a_plain_environment_has_no_secrets():
    command = pinned.command((CPU,), [sys.executable, "-c", SAY], plain_environment=True)
    _, said = started(command, DOORBUSTER_SECRET_KEY="x", DOORBUSTER_APPLIANCE="/somewhere")
    assert {"DOORBUSTER_APPLIANCE", "LC_ALL", "PATH"} == set(said[4])  # type: ignore[call-overload]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")
def test_root_is_given_up():
    # Another user may not reach this Python: a program of the system's then.
    command = pinned.command((CPU,), ["/usr/bin/id", "-un"], user="nobody")
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "nobody"


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGKILL])
def test_the_program_ends_with_its_parent(sign):
    program = pinned.command((CPU,), ["/bin/sleep", "60"], end_with_parent=sign)
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; subprocess.run({program!r})"], cwd=REPOSITORY
    )
    children = until(
        lambda: [one for one in psutil.Process(parent.pid).children() if one.name() == "sleep"]
    )
    parent.kill()
    parent.wait()
    assert psutil.wait_procs(children, 60)[1] == []


@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_program_is_not_started_when_its_parent_died_before(tmp_path, in_a_file):
    """The runner may be killed while this module is still being loaded."""
    dead = subprocess.Popen(["/bin/true"])
    dead.wait()
    file = tmp_path / "parent.pid"
    file.write_text(f"{dead.pid}\n")
    command = pinned.command(
        (CPU,),
        ["/bin/echo", "started"],
        end_with_parent=signal.SIGTERM,
        parent=file if in_a_file else dead.pid,
    )
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "has died" in done.stderr


def test_a_program_that_is_not_there_is_no_success():
    command = pinned.command((CPU,), ["/nowhere/postgres"])
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "/nowhere/postgres" in done.stderr
