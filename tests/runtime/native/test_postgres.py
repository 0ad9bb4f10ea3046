"""PostgreSQL is found, unpacked, prepared and reached, with real servers."""

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from common import ports
from runtime import accounts
from runtime.accounts import Account
from runtime.native import postgres
from runtime.native.postgres import Cluster, Installation, PostgresError
from runtime.settings import Settings
from runtime.state import State
from tests import skips
from tests.conftest import serving
from tests.runtime import conftest
from tests.runtime.conftest import Appliance

pytestmark = pytest.mark.slow


IS_ROOT = os.geteuid() == 0
as_root = pytest.mark.skipif(not IS_ROOT, reason="only root runs PostgreSQL as another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    with conftest.open_folder() as made:
        yield made


def other_account(name: str) -> Account | None:
    if not IS_ROOT:
        return None
    entry = pwd.getpwnam(name)
    return Account(name, entry.pw_uid, entry.pw_gid)


def cluster(installation: Installation, folder: Path, run_as: Account | None) -> Cluster:
    return Cluster(
        installation=installation,
        folder=folder / "postgres",
        port=ports.free(1)[0],
        user="somebody",
        password="a %'\\ password",
        database="lab",
        account=run_as,
        configuration=(("fsync", "off"), ("shared_buffers", "16MB")),
    )


def every_installation() -> list[Installation]:
    return [*postgres.system_installations(), *postgres.embedded_installations()]


def test_embedded_binaries_are_there_even_without_a_system_postgresql() -> None:
    assert [one.origin for one in postgres.embedded_installations()][:1] == ["embedded"]
    assert postgres.embedded_installations()[0].major >= postgres.OLDEST_MAJOR


@skips.needs_open_clone()
@pytest.mark.parametrize("installation", every_installation(), ids=lambda one: one.version)
def test_each_installation_serves_a_cluster_of_its_own(
    installation: Installation, folder: Path
) -> None:
    # nobody, not postgres: the account that every machine has.
    run_as = other_account("nobody")
    chosen = postgres.find(installation.bin_dir, folder / "postgres", run_as)
    made = cluster(chosen, folder, run_as)
    postgres.prepare(made)
    with serving(
        made.command(),
        lambda: postgres.refusal(made),
        folder / "log",
        stop=signal.SIGINT,
        user=run_as.name if run_as else None,
    ):
        postgres.make_database(made)
        postgres.make_database(made)  # harmless
        with psycopg.connect(
            host="127.0.0.1",
            port=made.port,
            user=made.user,
            password=made.password,
            dbname=made.database,
        ) as connection:
            row = connection.execute(
                "SELECT lower('É'), current_setting('server_encoding'), "
                "current_setting('listen_addresses'), current_setting('unix_socket_directories')"
            ).fetchone()
            assert row is not None
            assert row[1:] == ("UTF8", "127.0.0.1", "")


def test_a_wrong_password_is_refused_and_explained(appliance_database: Settings) -> None:
    settings = appliance_database
    wrong = Cluster(
        installation=every_installation()[0],
        folder=settings.state_dir / "postgres",
        port=settings.postgres_port,
        user=settings.postgres_user,
        password="wrong",
        database=settings.postgres_db,
        account=None,
    )
    why = postgres.refusal(wrong)
    assert why is not None
    assert "DOORBUSTER_POSTGRES_PASSWORD" in why
    assert "make reset" in why


def test_the_chosen_folder_must_hold_a_server(folder: Path) -> None:
    with pytest.raises(PostgresError, match=r"BIN=.*initdb or postgres is missing"):
        postgres.find(folder, folder / "postgres", None)


def test_a_cluster_stays_with_the_version_that_made_it(folder: Path) -> None:
    data = folder / "postgres" / "data"
    data.mkdir(parents=True)
    for one in every_installation():
        (data / "PG_VERSION").write_text(f"{one.major}\n")
        assert postgres.find(None, folder / "postgres", None).major == one.major
    (data / "PG_VERSION").write_text("9\n")
    with pytest.raises(PostgresError, match=r"created by PostgreSQL 9, found: .*make reset"):
        postgres.find(None, folder / "postgres", None)


@as_root
def test_binaries_in_a_closed_folder_are_copied_for_the_other_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a virtual environment under /root: the other user cannot enter.
    package = postgres.embedded_installations()[0].bin_dir.parents[1]
    closed = folder / "closed" / package.name
    shutil.copytree(package, closed, symlinks=True)
    libraries = package.with_name(package.name + ".libs")
    shutil.copytree(libraries, closed.with_name(libraries.name), symlinks=True)
    closed.parent.chmod(0o700)
    hidden = [
        Installation(closed / one.bin_dir.parent.name / "bin", one.version, "embedded")
        for one in postgres.embedded_installations()
    ]
    monkeypatch.setattr(postgres, "system_installations", list)
    monkeypatch.setattr(postgres, "embedded_installations", lambda: hidden)

    run_as = other_account("nobody")
    found = postgres.find(None, folder / "state" / "postgres", run_as)

    assert found.bin_dir.is_relative_to(folder / "state")
    # As at a second `make up`, which closes the state folder to others.
    (folder / "state").chmod(0o711)
    State(folder / "state").close_to_others(folder / "results")
    assert accounts.can_start(found.bin_dir / "postgres", run_as)
    (folder / "state" / "postgresql").chmod(0o700)  # as an earlier version left it
    assert postgres.find(None, folder / "state" / "postgres", run_as) == found
    made = cluster(found, folder / "state", run_as)
    postgres.prepare(made)
    assert postgres.cluster_major(made.folder) == found.major


@as_root
def test_a_cluster_keeps_the_account_that_made_it(folder: Path) -> None:
    nobody = other_account("nobody")
    assert nobody is not None
    data = folder / "data"
    data.mkdir()
    nobody.own(data)
    assert accounts.for_database(data) == nobody
    root = folder / "of-root"
    root.mkdir()
    assert accounts.for_database(root) == accounts.for_database(folder / "none")


@as_root
def test_a_state_folder_out_of_reach_says_the_mend(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    run_as = accounts.for_database()
    installation = postgres.find(None, folder / "postgres", run_as)
    with pytest.raises(PostgresError, match="DOORBUSTER_STATE_DIR"):
        postgres.prepare(cluster(installation, closed, run_as))


def test_an_interrupted_initdb_leaves_no_cluster(folder: Path) -> None:
    run_as = accounts.for_database()
    installation = postgres.find(None, folder / "postgres", run_as)
    made = cluster(installation, folder, run_as)
    half = made.folder / "data.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text(f"{installation.major}\n")
    assert postgres.cluster_major(made.folder) is None
    postgres.prepare(made)
    assert postgres.cluster_major(made.folder) == installation.major
    assert not half.exists()


@pytest.fixture
def crashed(folder: Path) -> Cluster:
    """Return a cluster whose server was killed with all its processes; postmaster.pid remains."""
    run_as = accounts.for_database()
    made = cluster(postgres.find(None, folder / "postgres", run_as), folder, run_as)
    postgres.prepare(made)
    with serving_cluster(made) as server:
        family = [psutil.Process(server.pid), *psutil.Process(server.pid).children(recursive=True)]
        for process in family:
            # Children end by themselves once their server is gone.
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(family, 10)
    assert (made.data_dir / postgres.LOCK_FILE).exists()
    return made


@contextmanager
def serving_cluster(made: Cluster) -> Iterator[subprocess.Popen[bytes]]:
    user = made.account.name if made.account else None
    log = made.folder.parent / "log"
    with serving(
        made.command(), lambda: postgres.refusal(made), log, stop=signal.SIGINT, user=user
    ) as server:
        yield server


def name_in_lock(made: Cluster, pid: int) -> None:
    """Write another process's id into the lock file, as after a power cut."""
    lock = made.data_dir / postgres.LOCK_FILE
    lock.write_text("\n".join([str(pid), *lock.read_text().splitlines()[1:]]) + "\n")


def test_a_lock_file_of_a_power_cut_keeps_no_server_from_starting(crashed: Cluster) -> None:
    """Another living process of the same user has the number of the server that was cut off."""
    user = crashed.account.name if crashed.account else None
    with subprocess.Popen(["sleep", "60"], user=user) as stranger:
        name_in_lock(crashed, stranger.pid)
        assert postgres.stale_lock(crashed.folder) == f"process {stranger.pid} (sleep)"
        here = Appliance({"RUNTIME": "native", "DOORBUSTER_STATE_DIR": str(crashed.folder.parent)})
        assert f"names process {stranger.pid} (sleep)" in here.run("doctor", COLUMNS="500")[1]
        postgres.prepare(crashed)
        assert postgres.stale_lock(crashed.folder) is None
        with serving_cluster(crashed):
            assert stranger.poll() is None
        stranger.kill()


def test_a_lock_file_that_names_another_cluster_s_server_is_stale(
    crashed: Cluster, appliance_database: Settings
) -> None:
    """Two appliances of one user: after the cut the other one's server has the number."""
    other = appliance_database.state_dir / "postgres" / "data" / postgres.LOCK_FILE
    name_in_lock(crashed, int(other.read_text().split()[0]))
    assert "postgres" in (postgres.stale_lock(crashed.folder) or "")
    postgres.prepare(crashed)
    with serving_cluster(crashed):
        assert other.exists()


def test_the_lock_file_of_a_server_that_runs_stays(crashed: Cluster) -> None:
    """Without it two servers could write to one cluster."""
    with serving_cluster(crashed) as server:
        lock = crashed.data_dir / postgres.LOCK_FILE
        before = lock.read_text()
        assert postgres.stale_lock(crashed.folder) is None
        postgres.prepare(crashed)
        assert lock.read_text() == before
        assert before.split()[0] == str(server.pid)


def test_a_lock_file_stays_while_a_process_of_a_dead_server_lives(crashed: Cluster) -> None:
    """A server process that outlives its server may still write; PostgreSQL waits for its end."""
    with serving_cluster(crashed) as server:
        lock = crashed.data_dir / postgres.LOCK_FILE
        [child, *others] = psutil.Process(server.pid).children()
        child.suspend()  # it cannot see that its server has died
        server.kill()
        server.wait()
        psutil.wait_procs(others, 10)
        try:
            assert postgres.stale_lock(crashed.folder) is None
            postgres.remove_stale_lock(crashed.folder)
            assert lock.exists()
        finally:
            child.kill()
            psutil.wait_procs([child], 10)
    assert "it has ended" in (postgres.stale_lock(crashed.folder) or "")
