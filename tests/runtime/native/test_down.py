"""Stopping finds exactly the processes that run on without a supervisor; resetting
removes files."""

import contextlib
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from common import pinned, ports
from runtime.native import down, redis_server
from runtime.native.services import APPLIANCE_VARIABLE
from runtime.native.supervision import left_over
from runtime.settings import REPOSITORY
from runtime.state import MARKER, State, StateError
from tests.conftest import serving
from tests.runtime.conftest import Appliance


@pytest.fixture
def state(tmp_path: Path) -> State:
    made = State(tmp_path / "state")
    made.make()
    return made


def redis_in(state: State) -> redis_server.Store:
    store = redis_server.Store(redis_server.find(None), state.redis, ports.free(1)[0])
    redis_server.prepare(store)
    return store


def test_a_service_without_its_supervisor_is_found_and_ended(state: State) -> None:
    store = redis_in(state)
    with serving(
        store.command(), lambda: redis_server.refusal(store.port), state.log("redis")
    ) as server:
        assert [process.pid for process in left_over(state)] == [server.pid]
        assert down.stop(state) is True
        assert left_over(state) == []
        assert redis_server.refusal(store.port) is not None
    assert down.stop(state) is False


def test_a_service_is_known_by_its_environment_too(state: State) -> None:
    program = [sys.executable, "-c", "input()"]
    with subprocess.Popen(
        pinned.command(tuple(os.sched_getaffinity(0)), program),
        cwd=REPOSITORY,
        env=os.environ | {APPLIANCE_VARIABLE: str(state.folder)},
        stdin=subprocess.PIPE,
    ) as process:
        assert [one.pid for one in left_over(state)] == [process.pid]
        assert down.stop(state) is True
        assert left_over(state) == []


def test_strangers_are_left_alone(state: State, tmp_path: Path) -> None:
    other = State(tmp_path / "state2")  # its path begins as the other's does
    other.make()
    store = redis_in(other)
    state.log("shop").touch()
    with (
        subprocess.Popen(["tail", "-f", state.log("shop")]) as reader,
        serving(store.command(), lambda: redis_server.refusal(store.port), other.log("redis")),
    ):
        assert left_over(state) == []
        assert down.stop(state) is False
        assert reader.poll() is None
        assert redis_server.refusal(store.port) is None
        reader.terminate()


def test_a_folder_that_is_no_state_folder_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StateError, match="is not changed"):
        State(tmp_path).empty(keep=tmp_path / "results")
    assert (tmp_path / "thesis.tex").exists()


@pytest.mark.parametrize(
    ("keys", "code", "words"),
    [
        (b"n\n", 0, "Nothing was changed."),
        (b"\x03", 130, "Interrupted."),
        (b"\x04", 130, "Interrupted."),
    ],
    ids=["no", "Ctrl-C", "Ctrl-D"],
)
def test_a_reset_can_be_left_at_its_question(
    state: State, keys: bytes, code: int, words: str
) -> None:
    """Only a yes empties the folder; neither Ctrl-C nor Ctrl-D ends with a traceback."""
    program = [sys.executable, "-m", "doorbuster", "reset"]
    environment = {"PATH": os.defpath, "RUNTIME": "native", "PYTHONPATH": str(REPOSITORY)}
    environment["DOORBUSTER_STATE_DIR"] = str(state.folder)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(program[0], program, environment)
    printed = b""
    with open(terminal, "r+b", buffering=0) as screen:
        while b"Continue? [y/N]: " not in printed:
            printed += screen.read(1024)
        screen.write(keys)
        with contextlib.suppress(OSError):  # Linux's end of a terminal
            while True:
                if not select.select([screen], [], [], 1)[0]:
                    screen.write(keys)  # Python overlooks a signal just before it waits for a key
                elif more := screen.read(1024):
                    printed += more
                else:
                    break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == code, printed
    assert words in printed.decode()
    assert (state.folder / MARKER).exists()


def test_results_stay_even_inside_the_state_folder(state: State) -> None:
    results = state.folder / "results"
    (results / "first").mkdir(parents=True)
    state.empty(keep=results)
    assert {one.name for one in state.folder.iterdir()} == {"results", MARKER}
    assert (results / "first").is_dir()
    state.make()
    state.empty(keep=state.folder / "elsewhere")
    assert not state.folder.exists()


def test_a_folder_of_somebody_elses_is_not_taken(tmp_path: Path) -> None:
    thesis = tmp_path / "thesis.tex"
    thesis.touch()
    with pytest.raises(StateError, match=r"DOORBUSTER_STATE_DIR.*already contains other files"):
        State(tmp_path).make()
    assert list(tmp_path.iterdir()) == [thesis]


@pytest.mark.parametrize("known_by", [MARKER, "secrets.json", "supervisord.conf"])
def test_a_folder_that_was_doorbusters_before_is_taken(tmp_path: Path, known_by: str) -> None:
    (tmp_path / known_by).touch()
    State(tmp_path).make()
    assert (tmp_path / MARKER).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has PostgreSQL run by another user")
def test_another_account_reaches_the_folder_whatever_umask_root_has(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        State(tmp_path / "a" / "b" / "state").make()
    finally:
        os.umask(before)
    modes = [(tmp_path / one).stat().st_mode & 0o777 for one in ("a", "a/b", "a/b/state")]
    assert modes == [0o755, 0o755, 0o711]


def test_reset_wants_to_be_told_when_nobody_can_be_asked(appliance: Appliance) -> None:
    appliance.state.make()
    code, printed = appliance.run("reset")
    assert code == 1
    assert "make reset FORCE=1" in printed
    code, printed = appliance.run("reset", FORCE="1")
    assert code == 0, printed
    assert not appliance.state.folder.exists()


def test_two_commands_do_not_change_the_folder_at_once(appliance: Appliance) -> None:
    appliance.state.make()
    with appliance.state.locked():
        code, printed = appliance.run("down")
    assert code == 1
    assert "another make up, down, reset or certs of this appliance is running" in printed


def test_a_folder_that_cannot_be_made_says_the_mend() -> None:
    with pytest.raises(StateError, match="DOORBUSTER_STATE_DIR"):
        State(Path("/proc/doorbuster")).make()
