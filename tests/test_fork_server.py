"""A program that the fork server starts sees what it would see after an ordinary start."""

import json
import os
import subprocess
import sys
from typing import Any

import psutil
import pytest

from tests import fork_server
from tests.waiting import until

SEEN = """
import json, os, resource, signal, sys
print(json.dumps({
    "arguments": sys.argv, "path": sys.path, "variables": dict(os.environ), "name": __name__,
    "folder": os.getcwd(), "parent": os.getppid(), "group": os.getpgid(0) == os.getpid(),
    "given": sys.stdin.read(), "files": sorted(os.listdir("/proc/self/fd"))[:3],
    "signals": [str(signal.getsignal(one)) for one in (signal.SIGINT, signal.SIGTERM)],
    "streams": [(one.encoding, one.errors, one.line_buffering) for one in (sys.stdout, sys.stderr)],
    "cpus": sorted(os.sched_getaffinity(0)), "limits": resource.getrlimit(resource.RLIMIT_NOFILE),
}))
"""


@pytest.mark.parametrize("is_leader", [False, True])
def test_a_fork_sees_what_a_started_program_sees(is_leader: bool) -> None:
    """Among others it has its own arguments, variables and standard input."""
    command = [sys.executable, "-c", SEEN, "one", "two words"]
    options: dict[str, Any] = {
        "env": os.environ | {"DOORBUSTER_RHO": "1.4"},
        "input": "given",
        "capture_output": True,
        "text": True,
        "start_new_session": is_leader,
    }
    forked = fork_server.run(command, **options)
    started = subprocess.run(command, cwd=fork_server.REPOSITORY, **options)
    assert json.loads(forked.stdout) == json.loads(started.stdout)
    assert forked.stderr == started.stderr == ""


def test_variables_that_python_reads_at_its_start_need_a_real_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = [sys.executable, "-c", "pass"]
    assert fork_server.can_start(command)
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert not fork_server.can_start(command)
    assert not fork_server.can_start(command, os.environ)


@pytest.mark.parametrize(
    "script",
    [
        "raise SystemExit(3)",
        "1 / 0",
        "import os; os.kill(os.getpid(), 9)",
        "raise KeyboardInterrupt",
    ],
)
def test_the_status_is_that_of_the_program(script: str) -> None:
    command = [sys.executable, "-c", script]
    forked = fork_server.run(command, capture_output=True)
    started = subprocess.run(command, capture_output=True)
    assert forked.returncode == started.returncode != 0


def test_a_program_of_this_project_runs_as_its_module() -> None:
    command = [sys.executable, "-m", "gateway", "--help"]
    assert fork_server.can_start(command)
    forked = fork_server.run(command, capture_output=True)
    started = subprocess.run(command, cwd=fork_server.REPOSITORY, capture_output=True)
    assert forked.returncode == 0
    assert forked.stdout == started.stdout


def test_other_programs_and_other_settings_of_python_are_started() -> None:
    command = [sys.executable, "-m", "lab.console", "serve"]
    assert fork_server.can_start(command)
    assert not fork_server.can_start([sys.executable, "-m", "http.server"])
    assert not fork_server.can_start(["redis-server"])
    assert not fork_server.can_start(command, os.environ | {"PYTHONOPTIMIZE": "1"})


@pytest.mark.parametrize("option", ["cwd", "pass_fds", "preexec_fn"])
def test_an_option_that_a_fork_would_ignore_is_refused(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        fork_server.run([sys.executable, "-c", "pass"], **{option: ()})


def test_no_settings_are_read_before_the_fork() -> None:
    """Each program reads its own settings."""
    script = "import sys; print(*(name for name in sys.modules if name.endswith('.settings')))"
    done = fork_server.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert not {"lab.console.site.settings", "shop.settings"} & set(done.stdout.split())


CHILD = """
import signal, subprocess, sys
from tests import fork_server
script = "print('ready', flush=True); import time; time.sleep(600)"
child = fork_server.Process(
    [sys.executable, "-c", script], stdout=subprocess.PIPE, end_with_parent=signal.SIGTERM
)
child.stdout.readline()
print(child.pid, flush=True)
"""


def test_a_fork_ends_with_the_process_that_started_it() -> None:
    """The kernel sends the signal, however that process ends."""
    command = [sys.executable, "-c", CHILD]
    done = subprocess.run(command, cwd=fork_server.REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0
    until(lambda: not psutil.pid_exists(int(done.stdout)), "the end of the fork")
