"""Commands on a state folder that is read-only or full: one line each, and `make down` works."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runtime.native.supervision import Supervisor, end, left_over
from runtime.settings import load
from tests import skips
from tests.runtime.conftest import Appliance, service

pytestmark = pytest.mark.slow


@pytest.fixture
def small(small_disk: Path) -> Iterator[Appliance]:
    """Yield a supervisor with a service, whose state is on a disk of 1 MB."""
    made = Appliance(
        {
            "RUNTIME": "native",
            "DOORBUSTER_STATE_DIR": str(small_disk / "state"),
            "DOORBUSTER_RESULTS_DIR": str(small_disk / "results"),
        }
    )
    state = made.state
    for folder in (state.logs, state.stamp("any").parent):
        folder.mkdir(parents=True)
    supervisor = Supervisor(state)
    supervisor.start([service("sleeper", "sleep", "600")], load(made.variables))
    supervisor.start_service("sleeper")
    yield made
    end(left_over(state))


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Make the folder read-only, as after a fault of its disk; open files stay as they are."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Fill the disk of the folder to the last byte."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 512):
            pass
    yield


@skips.needs_open_clone()
@pytest.mark.parametrize("bad", [read_only, full])
def test_everything_can_be_stopped_and_looked_at(small: Appliance, bad: object) -> None:
    with bad(small.state.folder):  # type: ignore[operator]
        for command in ("doctor", "up", "status"):
            code, printed = small.run(command)
            assert "Traceback" not in printed, printed
            assert code == (0 if command == "status" else 1), printed
        code, printed = small.run("down")
        assert code == 0, printed
        assert "Doorbuster is down" in printed
        assert left_over(small.state) == []
        assert small.run("down")[0] == 0


def test_a_folder_that_cannot_be_emptied_is_named(small: Appliance) -> None:
    (small.state.folder / "doorbuster-state").touch()
    with read_only(small.state.folder):
        code, printed = small.run("reset", FORCE="1")
    assert code == 1
    assert f"the state folder {small.state.folder} cannot be emptied: Read-only file" in printed
    assert "Traceback" not in printed
    assert left_over(small.state) == []


@skips.needs_open_clone()
def test_a_supervisor_that_was_killed_is_told_from_one_that_was_stopped(small: Appliance) -> None:
    """Its services end with it, within seconds, and `make status` shows how to start them again."""
    supervisor = Supervisor(small.state)
    services = left_over(small.state)
    pid = supervisor.recorded_pid()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    for process in services:
        process.wait(10)
    for command in ("status", "doctor"):
        _, printed = small.run(command)
        assert "supervisor was killed" in printed
        assert "make up" in printed
    assert small.run("down")[0] == 0
    assert "supervisor was killed" not in small.run("status")[1]
