"""The answers of a supervisor that is about to end."""

import signal
import sys
import threading
import xmlrpc.client
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from common import ports
from runtime.native import down, services, up
from runtime.native.supervision import StoppingError, Supervisor, SupervisorError, left_over
from runtime.progress import Progress
from runtime.settings import load
from runtime.state import State
from tests.runtime.conftest import service
from tests.waiting import until

pytestmark = pytest.mark.slow


SLOW_TO_END = """
import os, signal, sys, time

def end(*_):
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.05)
    sys.exit()

signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def supervisor(tmp_path):
    """Yield a supervisor whose service ends as soon as the file `may-end` exists; end both
    afterwards."""
    state = State(tmp_path / "state")
    state.make()
    made = Supervisor(state)
    program = tmp_path / "slow.py"
    program.write_text(SLOW_TO_END)
    slow = service("slow", sys.executable, str(program), str(tmp_path / "may-end"))
    made.start([slow], load({"DOORBUSTER_STATE_DIR": str(state.folder)}, tmp_path))
    yield made
    (tmp_path / "may-end").touch()
    down.stop(state)


def test_one_that_is_ending_says_so_and_is_waited_for(supervisor, tmp_path):
    supervisor.start_service("slow")
    until(lambda: "ready" in supervisor.state.log("slow").read_text())
    with supervisor.calls() as calls:  # as an interrupted `make down` leaves it
        calls.shutdown()
    with pytest.raises(StoppingError, match="being stopped"):
        supervisor.states()
    assert not supervisor.is_running()
    threading.Timer(2, (tmp_path / "may-end").touch).start()
    assert down.stop(supervisor.state) is True
    assert left_over(supervisor.state) == []


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_call_that_an_end_leaves_unanswered(tmp_path, how):
    """An orderly end is reported as such, also where it breaks a call off; a kill is not."""
    state = State(tmp_path / "state")
    state.make()
    made = Supervisor(state)
    made.start([], load({"DOORBUSTER_STATE_DIR": str(state.folder)}, tmp_path))
    process = psutil.Process(made.recorded_pid())
    process.suspend()
    until(lambda: process.status() == psutil.STATUS_STOPPED)
    before = _connections_of(made.socket)
    with ThreadPoolExecutor(1) as caller:
        call = caller.submit(made.states)
        try:
            until(lambda: _connections_of(made.socket) > before)
            process.send_signal(how)
        finally:
            process.resume()
        with pytest.raises(SupervisorError) as told:
            call.result(60)
    process.wait(60)
    assert isinstance(told.value, StoppingError) == (how == signal.SIGTERM), told.value
    made.shut_down()  # harmless once it has ended
    down.stop(state)


def _connections_of(socket):
    """Return how many connections it has, accepted or not; the listening socket counts, too."""
    rows = (row.split() for row in Path("/proc/net/unix").read_text().splitlines())
    return sum(row[-1].startswith(str(socket)) for row in rows)


def test_a_socket_that_another_user_prepared_is_not_used(tmp_path_factory):
    """With a long state folder the socket is in a new private folder, which `make down` removes."""
    state = State(tmp_path_factory.mktemp("a" * 60) / ("b" * 60))
    state.make()
    made = Supervisor(state)
    made.start([], load({"DOORBUSTER_STATE_DIR": str(state.folder)}, state.folder))
    socket = made.socket
    try:
        assert made.is_running()
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert socket.name == "supervisor.sock"
    finally:
        assert down.stop(state) is True
    assert not socket.parent.exists()
    assert not (state.folder / "supervisor.sock").is_symlink()


def test_other_faults_are_not_taken_for_an_end(supervisor):
    assert not supervisor.is_stopping()
    with pytest.raises(xmlrpc.client.Fault, match="BAD_NAME"):
        supervisor.start_service("nobody")


def test_an_optional_service_that_cannot_be_prepared_stops_nothing(tmp_path, monkeypatch, capsys):
    """A folder that stands in its way is reported, and the other services run."""
    folders = {f"DOORBUSTER_{name}_DIR": str(tmp_path / name) for name in ("STATE", "RESULTS")}
    names = list(load(folders).ports())
    free = zip(names, map(str, ports.free(len(names))), strict=True)
    settings = load(folders | dict(free))
    state = State(settings.state_dir)
    state.make()
    (tmp_path / "targets").mkdir()
    table = [
        service("sleeper", "sleep", "600"),
        service(
            *("watcher", "sleep", "600"),
            port_variable="DOORBUSTER_PROMETHEUS_PORT",
            prepare=(tmp_path / "targets").mkdir,
        ),
    ]
    monkeypatch.setattr(services, "table", lambda *_: table)
    try:
        up.Start(settings, state, Progress()).run()
        states = Supervisor(state).states()
        assert {name: one.runs for name, one in states.items()} == {
            "sleeper": True,
            "watcher": False,
        }
    finally:
        down.stop(state)
    printed = " ".join(capsys.readouterr().out.split())
    assert "watcher could not be started: File exists" in printed
    assert "Everything else works without it" in printed
