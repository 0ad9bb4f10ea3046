"""A PostgreSQL database of a test's own, and a small simulated result in a folder of its own."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql

from lab.results.comparison import ComparisonResult
from lab.runner.comparison import compare
from lab.spec.experiment import changed, load_spec
from runtime.settings import Settings


@contextmanager
def own_database(of: Settings, results_dir: Path) -> Iterator[Settings]:
    """Settings of an empty database beside the session's; it is dropped at the end."""
    name = f"results_{secrets.token_hex(4)}"
    with connected(of, of.postgres_user) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield of.changed(
                postgres_db=name,
                results_dir=results_dir,
                results_password=secrets.token_urlsafe(16),
            )
        finally:
            drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
            server.execute(drop)


def connected(to: Settings, user: str) -> psycopg.Connection:
    """A connection as its owner or as the role that may read the results."""
    return psycopg.connect(
        host=to.postgres_host,
        port=to.postgres_port,
        user=user,
        password=to.postgres_password if user == to.postgres_user else to.results_password,
        dbname=to.postgres_db,
        autocommit=True,
    )


def small_result(results_dir: Path, monkeypatch) -> ComparisonResult:
    """Two policies, simulated, which know of no database."""
    monkeypatch.setenv("DOORBUSTER_RESULTS_DIR", str(results_dir))
    monkeypatch.setenv("DOORBUSTER_POSTGRES_PORT", "1")
    spec = changed(
        load_spec("lifo-pri-simulated"),
        policy=[{"name": "sq"}, {"name": "8q-lifo-pri"}],
        load__rho=[1.4],
        load__sessions=200,
        repetitions=1,
    )
    return compare(spec, fresh=True, processes=1)
