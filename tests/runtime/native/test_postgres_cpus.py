"""The real PostgreSQL of the session is moved and put back; any other is left alone."""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from common import cpus
from runtime.native import postgres_cpus
from runtime.native.postgres_cpus import move
from runtime.settings import Settings
from tests.runtime import conftest

ALL = sorted(os.sched_getaffinity(0))
several_cpus = pytest.mark.skipif(len(ALL) < 2, reason="two CPUs are needed")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")


def connect(settings: Settings) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(
        host=settings.postgres_host, port=settings.postgres_port, user=settings.postgres_user,
        password=settings.postgres_password, dbname="postgres",
    )  # fmt: skip


def data_dir(settings: Settings) -> Path:
    return settings.state_dir / "postgres" / "data"


def postmaster(settings: Settings) -> psutil.Process:
    return psutil.Process(int((data_dir(settings) / "postmaster.pid").read_text().split()[0]))


def where_it_runs(settings: Settings) -> set[tuple[int, ...]]:
    """Return the CPUs of the postmaster and of each of its children."""
    server = postmaster(settings)
    found = set()
    for process in [server, *server.children(recursive=True)]:
        try:
            found.add(tuple(process.cpu_affinity()))
        except psutil.NoSuchProcess:
            assert process != server
    return found


@pytest.fixture
def lab(appliance_database: Settings) -> Iterator[Settings]:
    """Yield the session's services with a CPU for the shop alone; restore all CPUs afterwards."""
    yield appliance_database.changed(shop_cpus=(ALL[-1],), other_cpus=(ALL[0],))
    server = postmaster(appliance_database)
    for process in [server, *server.children(recursive=True)]:
        try:
            process.cpu_affinity(ALL)
        except psutil.NoSuchProcess:
            assert process != server


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with conftest.open_folder() as made:
        yield made


@several_cpus
def test_sessions_old_and_new_are_moved_and_put_back(lab: Settings) -> None:
    with connect(lab):
        assert move(lab, "shop") is True
        with connect(lab) as new:
            assert os.sched_getaffinity(new.info.backend_pid) == {ALL[-1]}
            assert where_it_runs(lab) == {(ALL[-1],)}
            assert move(lab, "shop") is True
            assert move(lab, "other") is True
            assert where_it_runs(lab) == {(ALL[0],)}


def test_with_nothing_to_move_it_says_so(lab: Settings, caplog: pytest.LogCaptureFixture) -> None:
    before = where_it_runs(lab)
    together = lab.changed(shop_cpus=(ALL[0],), other_cpus=(ALL[0],))
    with caplog.at_level("INFO", postgres_cpus.__name__):
        assert move(together, "shop") is True
    shared = cpus.written((ALL[0],))
    assert f"because the shop and all other processes share CPU {shared}" in caplog.text
    assert where_it_runs(lab) == before


def test_another_machines_is_left_alone(lab: Settings, caplog: pytest.LogCaptureFixture) -> None:
    before = where_it_runs(lab)
    assert move(lab.changed(postgres_host="db.example"), "shop") is False
    assert (
        "PostgreSQL on db.example does not belong to this appliance and is not moved" in caplog.text
    )
    assert where_it_runs(lab) == before


@pytest.mark.parametrize("pid_file", [None, "", "none\n", "0\n", "{mine}\n"])
def test_one_that_does_not_run_is_not_moved(
    lab: Settings, tmp_path: Path, pid_file: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that has the process id of a killed one is not moved either."""
    other = lab.changed(state_dir=tmp_path)
    data_dir(other).mkdir(parents=True)
    if pid_file is not None:
        (data_dir(other) / "postmaster.pid").write_text(pid_file.format(mine=os.getpid()))
    mine = os.sched_getaffinity(0)
    assert move(other, "shop") is False
    assert f"the PostgreSQL of {tmp_path} does not run" in caplog.text
    assert os.sched_getaffinity(0) == mine


@as_root
@several_cpus
def test_another_users_cannot_be_moved(
    lab: Settings, open_folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = lab.changed(state_dir=open_folder)
    data_dir(other).mkdir(parents=True)
    command = [sys.executable, "-c", "import sys; sys.stdin.read()", str(data_dir(other))]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as somebodys:
        (data_dir(other) / "postmaster.pid").write_text(f"{somebodys.pid}\n")
        os.seteuid(pwd.getpwnam("nobody").pw_uid)
        try:
            assert move(other, "shop") is False
        finally:
            os.seteuid(0)
        assert os.sched_getaffinity(somebodys.pid) == set(ALL)
    assert "PostgreSQL cannot be moved to CPU" in caplog.text
