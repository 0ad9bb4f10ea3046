"""The results in PostgreSQL, for Grafana, psql and notebooks; the result folders stay the truth.

Owns: the schema `results` (`results_database.sql`), the role that may read it, and writing to it.
Must not know: which figure stands where. Nothing depends on this database: where it is not there,
that is said in one line, and `doorbuster publish` writes everything later.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from lab.experiments import results_rows
from lab.experiments.errors import ExperimentError
from lab.experiments.results import PlannedRun, ResultFolder
from lab.experiments.spec import Spec
from runtime import hosts, settings

READER = "doorbuster_results"
"""The role that may read this schema and nothing else."""

_TABLES = Path(__file__).with_name("results_database.sql")
_OURS = "doorbuster results"
_FORM = f"{_OURS}, form 1"
"""The last line of `results_database.sql` says it too: another form is replaced by this one."""

_CONNECT_TIMEOUT_S = 3
_STATEMENT_TIMEOUT_MS = 10_000
_LOCK = 0x5245_5355  # of its own, for those who would make the schema at the same time

_DAMAGED = (ExperimentError, OSError, KeyError, TypeError, ValueError)
"""What reading a result folder raises that somebody has edited."""

Say = Callable[[str], None]


class ResultsDatabaseError(ExperimentError):
    """The database cannot be reached or written; one line with the mend."""


class ResultsDatabase:
    """The schema, made if need be. Raises ResultsDatabaseError, here and from every method."""

    def __init__(self, lab: settings.Settings) -> None:
        self._lab = lab
        self._place = f"{lab.postgres_host}:{lab.postgres_port}"
        with self._faults():
            self._connection = psycopg.connect(
                host=lab.postgres_host,
                port=lab.postgres_port,
                user=lab.postgres_user,
                password=lab.postgres_password,
                dbname=lab.postgres_db,
                connect_timeout=_CONNECT_TIMEOUT_S,
                application_name="doorbuster results",
                options=f"-c statement_timeout={_STATEMENT_TIMEOUT_MS}",
                autocommit=True,
            )
            try:
                self.is_new = self._make()
            except BaseException:
                self._connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def prepare(self) -> None:
        """The reader's role and password, and where the console is, as the settings say now."""
        with self._faults(), self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            self._prepare()

    def experiment(self, folder: ResultFolder) -> None:
        """The row of an experiment, and rows of its runs where they are missing or not yet whole.

        Raises ExperimentError, too, when the folder is damaged.
        """
        row = results_rows.experiment_row(folder)
        spec = folder.spec()
        with self._faults(), self._connection.transaction():
            self._put("experiments", ("experiment",), row)
            known = self._connection.execute(
                "SELECT number, state FROM results.runs WHERE experiment = %s", [folder.path.name]
            )
            states = dict(known.fetchall())
            for planned in folder.plan():
                state = states.get(planned.number)
                if state is None or (state != "whole" and folder.run(planned).is_whole):
                    self._run(folder, spec, planned)

    def run(self, folder: ResultFolder, planned: PlannedRun) -> None:
        """The row of a run and its events, as the folder has them now. Raises as `experiment`."""
        row = results_rows.experiment_row(folder)
        with self._faults(), self._connection.transaction():
            self._put("experiments", ("experiment",), row)
            self._run(folder, folder.spec(), planned)

    def publish(self, results_dir: Path, say: Say) -> int:
        """Everything that lies in the results folder, and nothing else; returns how many results.

        What is damaged is said, and left out.
        """
        published = []
        for path in sorted(results_dir.glob("*/plan.json")):
            folder = ResultFolder(path.parent)
            try:
                with self._faults(), self._connection.transaction():
                    self.forget(folder.path.name)
                    self.experiment(folder)
                published.append(folder.path.name)
            except ResultsDatabaseError:
                raise
            except _DAMAGED as fault:
                say(f"Left out: {folder.path.name}: {fault}")
        with self._faults():
            self._connection.execute(
                "DELETE FROM results.experiments WHERE NOT experiment = ANY (%s)", [published]
            )
        return len(published)

    def forget(self, name: str) -> None:
        """The result of this name is deleted."""
        with self._faults():
            forget = "DELETE FROM results.experiments WHERE experiment = %s"
            self._connection.execute(forget, [name])

    def _run(self, folder: ResultFolder, spec: Spec, planned: PlannedRun) -> None:
        self._put("runs", ("experiment", "number"), results_rows.run_row(folder, spec, planned))
        self._connection.execute(
            "DELETE FROM results.events WHERE experiment = %s AND number = %s",
            [folder.path.name, planned.number],
        )
        for row in results_rows.event_rows(folder, spec, planned):
            self._put("events", ("experiment", "number", "place"), row)

    def _put(self, table: str, key: Iterable[str], row: Mapping[str, Any]) -> None:
        """Insert, or replace what has this key; columns that `row` has not are null then."""
        columns = [sql.Identifier(name) for name in row]
        statement = sql.SQL(
            "INSERT INTO results.{table} ({columns}) VALUES ({values}) "
            "ON CONFLICT ({key}) DO UPDATE SET {changes}"
        ).format(
            table=sql.Identifier(table),
            columns=sql.SQL(", ").join(columns),
            values=sql.SQL(", ").join([sql.Placeholder()] * len(columns)),
            key=sql.SQL(", ").join(map(sql.Identifier, key)),
            changes=sql.SQL(", ").join(
                sql.SQL("{0} = EXCLUDED.{0}").format(column) for column in columns
            ),
        )
        values = [Jsonb(value) if isinstance(value, dict) else value for value in row.values()]
        self._connection.execute(statement, values)

    def _make(self) -> bool:
        """The tables, unless they are there in this form; True if they were not."""
        if self._form() == _FORM:
            return False
        with self._connection.transaction():
            self._connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            form = self._form()
            if form == _FORM:  # somebody else was quicker
                return False
            if form is not None and not form.startswith(_OURS):
                raise ResultsDatabaseError(
                    f"PostgreSQL at {self._place}: there is a schema results that is somebody "
                    "else's; rename it, or give Doorbuster another DOORBUSTER_POSTGRES_DB"
                )
            self._connection.execute(_TABLES.read_text(encoding="utf-8"))
            self._prepare()
        return True

    def _form(self) -> str | None:
        """What the schema says of itself; empty if nothing, None where there is no schema."""
        found = self._connection.execute(
            "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace "
            "WHERE nspname = 'results'"
        ).fetchone()
        return found[0] if found else None

    def _prepare(self) -> None:
        self._connection.execute("DELETE FROM results.console")
        self._connection.execute(
            "INSERT INTO results.console VALUES (%s)", [console_url(self._lab)]
        )
        if self._lab.results_password:  # else nobody could log in
            # On another's server whoever keeps it makes the role.
            with suppress(psycopg.errors.InsufficientPrivilege), self._connection.transaction():
                self._let_log_in()
        with suppress(psycopg.errors.UndefinedObject), self._connection.transaction():
            self._let_read()

    def _let_log_in(self) -> None:
        role = sql.Identifier(READER)
        there = self._connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [READER])
        if there.fetchone() is None:
            self._connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
        # As a digest: the server's log may show statements.
        digest = self._connection.pgconn.encrypt_password(
            self._lab.results_password.encode(), READER.encode(), b"scram-sha-256"
        ).decode()
        for clause in (
            sql.SQL("ALTER ROLE {role} PASSWORD {digest} CONNECTION LIMIT 30"),
            sql.SQL("ALTER ROLE {role} SET default_transaction_read_only = on"),
            sql.SQL("ALTER ROLE {role} SET statement_timeout = '30s'"),
            sql.SQL("ALTER ROLE {role} SET search_path = results"),
        ):
            self._connection.execute(clause.format(role=role, digest=sql.Literal(digest)))

    def _let_read(self) -> None:
        for what in ("USAGE ON SCHEMA results", "SELECT ON ALL TABLES IN SCHEMA results"):
            grant = sql.SQL(f"GRANT {what} TO {{}}")
            self._connection.execute(grant.format(sql.Identifier(READER)))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.DataError, psycopg.IntegrityError) as fault:
            raise ExperimentError(f"cannot be kept: {str(fault).splitlines()[0]}") from None
        except psycopg.Error as fault:
            words = (str(fault).strip() or type(fault).__name__).splitlines()[0]
            why = words.rpartition(" failed: ")[2]  # before it stands where, once more
            raise ResultsDatabaseError(f"PostgreSQL at {self._place}: {why}") from None


class Publishing:
    """An experiment that tells the database as it goes; after a fault of that it tells no more."""

    def __init__(self, database: ResultsDatabase | None, say: Say) -> None:
        self._database, self._say = database, say
        self._lock = threading.Lock()  # runs that go on at the same time tell at the same time

    def experiment(self, folder: ResultFolder) -> None:
        """It has begun or ended."""
        self._try(lambda to: to.experiment(folder))

    def run(self, folder: ResultFolder, planned: PlannedRun) -> None:
        """A run has begun or ended, or something was changed in it."""
        self._try(lambda to: to.run(folder, planned))

    def of_run(self, folder: ResultFolder, planned: PlannedRun) -> Callable[[], None]:
        """The same, to be called whenever something happened in this run."""
        return partial(self.run, folder, planned)

    def _try(self, write: Callable[[ResultsDatabase], None]) -> None:
        with self._lock:
            if self._database is None:
                return
            try:
                write(self._database)
            except (ExperimentError, OSError) as fault:
                self._database = None
                self._say(_warning(fault))


@contextmanager
def publishing(lab: settings.Settings, say: Say) -> Iterator[Publishing]:
    """For as long as an experiment goes on; a database that is not there is said in a line."""
    try:
        database = ResultsDatabase(lab)
    except ResultsDatabaseError as fault:
        say(_warning(fault))
        yield Publishing(None, say)
        return
    with database:
        yield Publishing(database, say)


def prepare(lab: settings.Settings, say: Say) -> None:
    """Before anything asks: the tables, the role; in a database that is new, every result.

    Raises ResultsDatabaseError.
    """
    with ResultsDatabase(lab) as database:
        database.prepare()
        if database.is_new:
            database.publish(lab.results_dir, say)


def keep_in_step(lab: settings.Settings, results: Iterable[str], say: Say) -> None:
    """Results of these names were brought or deleted by hand; a fault is said."""
    try:
        with ResultsDatabase(lab) as database:
            for name in results:
                database.forget(name)
                folder = ResultFolder(lab.results_dir / name)
                if (folder.path / "plan.json").is_file():
                    database.experiment(folder)
    except _DAMAGED as fault:
        say(_warning(fault))


def console_url(lab: settings.Settings) -> str:
    """Where a browser of this machine finds the lab console."""
    return f"http://{hosts.authority(hosts.from_here(lab.lab_host), lab.lab_port)}"


def _warning(fault: Exception) -> str:
    return f"Warning: not written ({fault}); `doorbuster publish` does it later."
