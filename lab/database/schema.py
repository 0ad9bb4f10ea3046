"""Create the schema `results` in the appliance's database, and the role that may read the schema.

`schema.sql` has the tables.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psycopg
from psycopg import sql

from lab.analysis.metrics import METRICS
from lab.errors import ExperimentError
from runtime.settings import Settings

READER = "doorbuster_results"
"""The database role that can only read this schema."""

_TABLES = Path(__file__).with_name("schema.sql")
_OURS = "doorbuster results"
_METRICS = "    -- metrics of lab/analysis/metrics.py --\n"


@cache
def statements() -> str:
    """Return the statements that create the tables, with a column for each metric of a run."""
    types = {True: "bigint", False: "double precision"}
    columns = "".join(f"    {one.name} {types[one.is_whole]},\n" for one in METRICS)
    comments = "".join(
        f"COMMENT ON COLUMN results.runs.{one.name} IS {_quoted(one.definition)};\n"
        for one in METRICS
    )
    return _TABLES.read_text(encoding="utf-8").replace(_METRICS, columns) + comments


@cache
def _form() -> str:
    """Return the comment that identifies the form of the schema. Doorbuster replaces its schema if
    the comment differs.
    """
    digest = hashlib.sha256(statements().encode()).hexdigest()
    return f"{_OURS}, form {digest[:12]}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


_LOCK = 0x5245_5355  # the number of the lock that a process holds while it creates the schema


class ResultsDatabaseError(ExperimentError):
    """The error for a database that does not answer or cannot be written; its message is one
    line.
    """


class ServerAwayError(ResultsDatabaseError):
    """The error for a server that refuses the connection or does not answer yet."""


@contextmanager
def faults(
    lab: Settings, kind: type[ResultsDatabaseError] = ResultsDatabaseError
) -> Iterator[None]:
    """Convert exceptions of PostgreSQL that the block raises.

    Raises ExperimentError for values that PostgreSQL cannot store, and an error of this `kind` for
    every other fault.
    """
    try:
        yield
    except (psycopg.DataError, psycopg.IntegrityError) as fault:
        raise ExperimentError(f"cannot be kept: {str(fault).splitlines()[0]}") from None
    except psycopg.Error as fault:
        words = (str(fault).strip() or type(fault).__name__).splitlines()[0]
        why = words.rpartition(" failed: ")[2]  # without the location, which would repeat the text
        raise kind(f"PostgreSQL at {_place(lab)}: {why}") from None


def make(connection: psycopg.Connection, lab: Settings) -> bool:
    """Create the tables unless they have the present form; return whether they were created. Raises
    ResultsDatabaseError if another program owns the schema."""
    if _form_of(connection) == _form():
        return False
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        form = _form_of(connection)
        if form == _form():  # another process was faster
            return False
        if form is not None and not form.startswith(_OURS):
            raise ResultsDatabaseError(
                f"PostgreSQL at {_place(lab)}: the schema results belongs to another "
                "program; rename it, or give Doorbuster another DOORBUSTER_POSTGRES_DB"
            )
        connection.execute(statements())
        connection.execute(f"COMMENT ON SCHEMA results IS {_quoted(_form())}")
        _tell(connection, lab)
    return True


def tell(connection: psycopg.Connection, lab: Settings) -> None:
    """Apply the settings: the role and password of readers, and the console's address."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        _tell(connection, lab)


def _place(lab: Settings) -> str:
    return f"{lab.postgres_host}:{lab.postgres_port}"


def _form_of(connection: psycopg.Connection) -> str | None:
    """Return the comment of the existing schema; empty if it has no comment, None if the schema
    does not exist.
    """
    found = connection.execute(
        "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace "
        "WHERE nspname = 'results'"
    ).fetchone()
    return found[0] if found else None


def _tell(connection: psycopg.Connection, lab: Settings) -> None:
    connection.execute("DELETE FROM results.console")
    connection.execute("INSERT INTO results.console VALUES (%s)", [lab.lab_url])
    if lab.results_password:  # otherwise the role could not log in
        # If this user must not create roles, the administrator of the server creates this role.
        with suppress(psycopg.errors.InsufficientPrivilege), connection.transaction():
            _let_log_in(connection, lab)
    with suppress(psycopg.errors.UndefinedObject), connection.transaction():
        _let_read(connection)


def _let_log_in(connection: psycopg.Connection, lab: Settings) -> None:
    role = sql.Identifier(READER)
    there = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [READER])
    if there.fetchone() is None:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    # The password is sent as a digest, because the server's log may show statements.
    digest = connection.pgconn.encrypt_password(
        lab.results_password.encode(), READER.encode(), b"scram-sha-256"
    ).decode()
    for clause in (
        sql.SQL("ALTER ROLE {role} PASSWORD {digest} CONNECTION LIMIT 30"),
        sql.SQL("ALTER ROLE {role} SET default_transaction_read_only = on"),
        sql.SQL("ALTER ROLE {role} SET statement_timeout = '30s'"),
        sql.SQL("ALTER ROLE {role} SET search_path = results"),
    ):
        connection.execute(clause.format(role=role, digest=sql.Literal(digest)))


def _let_read(connection: psycopg.Connection) -> None:
    for what in ("USAGE ON SCHEMA results", "SELECT ON ALL TABLES IN SCHEMA results"):
        grant = sql.SQL(f"GRANT {what} TO {{}}")
        connection.execute(grant.format(sql.Identifier(READER)))
