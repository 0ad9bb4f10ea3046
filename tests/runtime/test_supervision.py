"""Where sockets are, and what a supervisor says that is about to end."""

import os
import signal
import sys
import tempfile
import time
import xmlrpc.client
from pathlib import Path

import pytest

from runtime import down
from runtime.service import Service
from runtime.settings import load
from runtime.state import State
from runtime.supervision import StoppingError, Supervisor, left_over, socket_path


@pytest.mark.parametrize("folder", ["a" * 60, "ä" * 30])
def test_a_short_one_stays_in_its_folder(folder):
    assert socket_path(Path("/") / folder / "own.sock") == Path("/") / folder / "own.sock"


@pytest.mark.parametrize("folder", ["a" * 100, "ä" * 50])
def test_a_long_one_is_in_the_temporary_folder_and_nobody_elses(folder):
    """Its length in bytes counts: 50 letters with dots need a hundred."""
    path, other = (socket_path(Path("/") / folder / name) for name in ("own.sock", "other.sock"))
    assert path != other
    assert path.parent == Path(tempfile.gettempdir())
    assert str(os.geteuid()) in path.name
    assert path == socket_path(Path("/") / folder / "own.sock")


SLOW_TO_END = "import signal, time; signal.signal(15, lambda *_: (time.sleep(2), exit())); input()"


@pytest.fixture
def supervisor(tmp_path):
    """With a service that takes two seconds to end; all ended afterwards."""
    state = State(tmp_path / "state")
    state.make()
    made = Supervisor(state)
    slow = Service(
        name="slow",
        title="Slow",
        program=(sys.executable, "-c", f"print('ready', flush=True); {SLOW_TO_END}"),
        port=None,
        cpus=tuple(os.sched_getaffinity(0)),
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        ready_within_s=20,
        refusal=lambda: None,
    )
    made.start([slow], load({"DOORBUSTER_STATE_DIR": str(state.folder)}, tmp_path))
    yield made
    down.stop(state)


def test_one_that_is_ending_says_so_and_is_waited_for(supervisor):
    supervisor.start_service("slow")
    until(lambda: "ready" in supervisor.state.log("slow").read_text())
    with supervisor._calls() as calls:  # as an interrupted `make down` leaves it
        calls.shutdown()
    with pytest.raises(StoppingError, match="being stopped"):
        supervisor.states()
    assert not supervisor.is_running()
    assert down.stop(supervisor.state) is True
    assert left_over(supervisor.state) == []


def test_other_faults_are_not_taken_for_an_end(supervisor):
    assert not supervisor.is_stopping()
    with pytest.raises(xmlrpc.client.Fault, match="BAD_NAME"):
        supervisor.start_service("nobody")


def until(condition):
    deadline_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
