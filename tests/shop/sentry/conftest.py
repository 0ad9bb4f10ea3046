"""Real Gunicorns with the bare project, one of each kind, and a view of the database."""

import os
import signal
import socket
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.shop.sentry import project as bare
from tests.waiting import until


@pytest.fixture
def peers():
    """Yield both ends of a connection: the end that is watched and the end that leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
    yield served, client
    served.close()
    client.close()


@pytest.fixture(scope="session")
def threaded(appliance_database, tmp_path_factory):
    """Yield a project under gthread with 30 threads, as the shop has."""
    folder = tmp_path_factory.mktemp("threaded")
    bare.make(folder, appliance_database, SENTRY_DATABASE_CHECK_S=1)
    with bare.served(folder, "--worker-class", "gthread", "--threads", "30") as project:
        yield project


@pytest.fixture(scope="session")
def sync(appliance_database, tmp_path_factory):
    """Yield a project with one sync worker and a copy of the package."""
    folder = tmp_path_factory.mktemp("sync")
    bare.make(folder, appliance_database, copied=True)
    with bare.served(folder, "--worker-class", "sync") as project:
        yield project


class Database:
    """The database's state, from the database itself."""

    def __init__(self, connection, postmaster):
        self._connection = connection
        self._postmaster = postmaster

    def running(self, tag):
        """Return the number of queries under way with this tag in them."""
        found = self._connection.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE state = 'active' AND query LIKE %s AND pid <> pg_backend_pid()",
            (f"%{tag}%",),
        ).fetchone()
        assert found is not None
        return int(str(found[0]))

    def expect_begun(self, tag, count=1):
        """Wait for that many queries with this tag."""
        until(lambda: self.running(tag) == count, f"{count} queries {tag!r} running")

    def expect_gone(self, tag):
        """Wait until no query with this tag is left."""
        until(lambda: self.running(tag) == 0, f"queries {tag!r} gone")

    def written(self, key):
        """Return the committed rows of this key."""
        rows = self._connection.execute(
            "SELECT key FROM written WHERE key LIKE %s ORDER BY key", (f"{key}%",)
        )
        return [str(row[0]) for row in rows]

    def locked(self, lock):
        """Return how many sessions hold or want this advisory lock."""
        (count,) = self._connection.execute(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %s", (lock,)
        ).fetchone() or (None,)
        return int(str(count))

    @contextmanager
    def holding(self, lock):
        """Hold this advisory lock until the block ends."""
        self._connection.execute("SELECT pg_advisory_lock(%s)", (lock,))
        try:
            yield
        finally:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", (lock,))

    @contextmanager
    def postmaster_standing_still(self):
        """Stop the postmaster: queries go on, but it receives no cancel and accepts no session.

        The sessions in which a sentry cancels stand still, too.
        """
        found = self._connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_cancel_backend(pid)%' "
            "AND pid <> pg_backend_pid()"
        )
        stopped = [self._postmaster, *(int(str(row[0])) for row in found)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)


@pytest.fixture(scope="session")
def database(appliance_database):
    """Yield a separate session, autocommitting; make the project's one table."""
    pid_file = Path(appliance_database.state_dir) / "postgres/data/postmaster.pid"
    with bare.connect(appliance_database) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS written (key text)")
        yield Database(connection, int(pid_file.read_text().split()[0]))
