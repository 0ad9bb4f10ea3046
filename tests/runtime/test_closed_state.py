"""Other users of the machine reach nothing in the state folder, whatever umask made it."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from runtime import doctor
from runtime.doctor import Verdict
from runtime.native.supervision import Supervisor
from runtime.settings import load
from runtime.state import State, said
from tests.programs import python
from tests.runtime.conftest import Appliance, service
from tests.waiting import until

ITSELF = 0o700 if os.geteuid() else 0o711  # root's PostgreSQL and Redis pass through


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def opened(tmp_path: Path) -> State:
    """Return a state folder as earlier versions made it, with every file that it may have."""
    state = State(tmp_path / "state")
    for name in ("console/launches", "logs", "live-runs", "prometheus/data", "certificates"):
        (state.folder / name).mkdir(parents=True)
    for name in ("console/console.sqlite3", "doorbuster-state", "certificates/authority.pem"):
        (state.folder / name).touch()
    for name in ("results", "postgres", "redis"):
        (state.folder / name).mkdir()
    (state.folder / "link").symlink_to(tmp_path)
    for path in (state.folder, *state.folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return state


def test_a_new_folder_is_closed(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        state = State(tmp_path / "state")
        state.make()
    finally:
        os.umask(before)
    assert mode(state.folder) == ITSELF
    assert mode(state.logs) == 0o700
    assert state.open_to_others(tmp_path / "results") == []


def test_an_open_folder_is_closed(opened: State) -> None:
    """All paths are closed except those meant for others; results stay as they are."""
    results = opened.folder / "results"
    opened.close_to_others(results)
    assert mode(opened.folder) == ITSELF
    closed = {"console", "logs", "live-runs", "prometheus/data"}
    assert {mode(opened.folder / name) for name in closed} == {0o700}
    assert mode(opened.folder / "doorbuster-state") == 0o600
    for name in ("certificates", "results", "postgres", "redis"):
        assert mode(opened.folder / name) == 0o755
    assert mode(opened.folder.parent) == 0o755  # where the link leads
    assert opened.open_to_others(results) == []


def test_results_below_another_folder_stay_readable(opened: State) -> None:
    results = opened.folder / "logs" / "results"
    opened.close_to_others(results)
    assert mode(opened.folder / "logs") == 0o755


def test_the_doctor_names_what_is_open(opened: State, tmp_path: Path) -> None:
    settings = load(
        {
            "DOORBUSTER_STATE_DIR": str(opened.folder),
            "DOORBUSTER_RESULTS_DIR": str(tmp_path / "results"),
        },
        tmp_path,
    )
    found = doctor.file_modes(settings, opened)
    assert found.verdict is Verdict.BEWARE
    assert str(opened.folder) in found.found
    assert found.fix == "make up closes these paths to other users"
    opened.close_to_others(settings.results_dir)
    assert doctor.file_modes(settings, opened).verdict is Verdict.GOOD


def test_the_consoles_database_is_closed_before_anything_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "console"
    before = os.umask(0)
    try:
        for _ in range(2):
            environment = {"PATH": os.defpath, "DOORBUSTER_STATE_DIR": str(tmp_path / "state")}
            made = python("-m", "doorbuster", "class", "teacher", "anna", env=environment)
            assert made.returncode == 0, made.stderr
            assert mode(folder) == 0o700
            assert {mode(path) for path in folder.glob("console.sqlite3*")} == {0o600}
            folder.chmod(0o755)
            (folder / "console.sqlite3").chmod(0o644)
    finally:
        os.umask(before)


def test_services_write_for_their_owner_alone(appliance: Appliance) -> None:
    made = {}
    for name, writes in (("quiet", False), ("writer", True)):
        program = f"umask > {appliance.state.folder}/{name}; exec sleep 1000"
        made[name] = service(name, "sh", "-c", program, writes_results=writes)
    appliance.state.make()
    supervisor = Supervisor(appliance.state)
    supervisor.start(list(made.values()), appliance.settings)
    try:
        for name in made:
            supervisor.start_service(name)
        for name, wanted in (("quiet", "0077"), ("writer", "0022")):
            path = appliance.state.folder / name
            assert until(lambda path=path: path.exists() and path.read_text().strip()) == wanted
        assert mode(supervisor.configuration_file) == 0o600
        assert mode(appliance.state.log("supervisor")) == 0o600
    finally:
        supervisor.shut_down()


def test_a_copy_that_fails_is_explained_in_one_line(tmp_path):
    """The first file that could not be copied stands for all of them."""
    (tmp_path / "from").mkdir()
    for name in ("one", "two"):
        (tmp_path / "from" / name).symlink_to(tmp_path / "nothing")
    with pytest.raises(shutil.Error) as failed:
        shutil.copytree(tmp_path / "from", tmp_path / "to")
    assert said(failed.value).startswith("[Errno 2] No such file or directory: '")
    assert "\n" not in said(failed.value)
