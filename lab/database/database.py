"""Write results to PostgreSQL, for Grafana, psql and notebooks.

If PostgreSQL is missing, a command prints one line about it, and `doorbuster results publish` can
write all comparisons later.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from lab.database import rows as results_rows
from lab.database import schema
from lab.database.schema import ResultsDatabaseError, ServerAwayError, faults
from lab.errors import ExperimentError
from lab.files.run_summary import PlannedRun
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from runtime import settings

_CONNECT_TIMEOUT_S = 3
_STATEMENT_TIMEOUT_MS = 10_000

DAMAGED = (
    *(ExperimentError, OSError, LookupError, TypeError, ValueError),
    *(AttributeError, ArithmeticError, RecursionError, MemoryError),
)
"""The exceptions that can occur while a damaged or edited result folder is read."""

Say = Callable[[str], None]
_KEYS = {
    "experiments": ("experiment",),
    "runs": ("experiment", "number"),
    "events": ("experiment", "number", "place"),
}
"""The tables with their primary keys; a table comes after the tables to which it refers."""

_COUNT_WHOLE = """
UPDATE results.experiments SET
    whole_runs = counted.whole,
    ended_at = CASE WHEN counted.whole = planned_runs THEN counted.ended_at END
FROM (
    SELECT count(*) FILTER (WHERE state = 'whole') AS whole, max(ended_at) AS ended_at
    FROM results.runs WHERE experiment = %(experiment)s
) AS counted
WHERE experiment = %(experiment)s
"""


class ResultsDatabase:
    """A writer of results to the database, which creates a missing schema and replaces an old one.

    Every method can raise ResultsDatabaseError.
    """

    def __init__(self, lab: settings.Settings) -> None:
        self._lab = lab
        with faults(lab, ServerAwayError):
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
            with faults(lab):
                self.is_new = schema.make(self._connection, lab)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def prepare(self) -> None:
        """Apply the settings: the role and password of readers, and the console's address."""
        with faults(self._lab):
            schema.tell(self._connection, self._lab)

    def experiment(self, folder: ComparisonResult) -> None:
        """Write the row of an experiment, and the rows of some of its runs: the runs that the
        database lacks, and the complete runs that were incomplete when the database received them.
        Raises ExperimentError if the folder is damaged.
        """
        row = results_rows.experiment_row(folder)
        spec = folder.spec()
        with faults(self._lab), self._connection.transaction():
            self._put("experiments", row)
            known = self._connection.execute(
                "SELECT number, state FROM results.runs WHERE experiment = %s", [folder.path.name]
            )
            states: dict[int, str] = dict(known.fetchall())
            for planned in folder.plan():
                state = states.get(planned.number)
                if state is None or (state != "whole" and folder.run(planned).is_whole):
                    self._run(folder, spec, planned)

    def write(self, rows: results_rows.Rows) -> None:
        """Write all rows of a result; `rows_of` returns these rows."""
        with faults(self._lab), self._connection.transaction():
            for row in rows["experiments"]:
                self.forget(row["experiment"])
            for table in _KEYS:
                for row in rows[table]:
                    self._put(table, row)

    def run(self, folder: ComparisonResult, planned: PlannedRun) -> None:
        """Write the current rows of one run and of its events, and the number of complete runs of
        its experiment, which `experiment` has written. The other runs' files are not read, because
        an experiment can have thousands.

        Raises the same exceptions as `experiment`.
        """
        spec = folder.spec()
        with faults(self._lab), self._connection.transaction():
            self._run(folder, spec, planned)
            self._connection.execute(_COUNT_WHOLE, {"experiment": folder.path.name})

    def publish(self, results_dir: Path, say: Say) -> int:
        """Replace all rows by the rows of the comparisons in the results folder; return the number
        of written comparisons. Damaged comparisons are reported and left out.
        """
        published = []
        for path in sorted(results_dir.glob("*/plan.json")):
            folder = ComparisonResult(path.parent)
            try:
                with faults(self._lab), self._connection.transaction():
                    self.forget(folder.path.name)
                    self.experiment(folder)
                published.append(folder.path.name)
            except ResultsDatabaseError:
                raise
            except DAMAGED as fault:
                say(f"Left out: {folder.path.name}: {fault}")
        with faults(self._lab):
            self._connection.execute(
                "DELETE FROM results.experiments WHERE NOT experiment = ANY (%s)", [published]
            )
        return len(published)

    def forget(self, name: str) -> None:
        with faults(self._lab):
            forget = "DELETE FROM results.experiments WHERE experiment = %s"
            self._connection.execute(forget, [name])

    def _run(self, folder: ComparisonResult, spec: Spec, planned: PlannedRun) -> None:
        for table in ("events", "runs"):  # a repeated run must not keep its old numbers
            forget = sql.SQL("DELETE FROM results.{} WHERE experiment = %s AND number = %s")
            self._connection.execute(
                forget.format(sql.Identifier(table)), [folder.path.name, planned.number]
            )
        self._put("runs", results_rows.run_row(folder, spec, planned))
        for row in results_rows.event_rows(folder, spec, planned):
            self._put("events", row)

    def _put(self, table: str, row: Mapping[str, Any]) -> None:
        columns = [sql.Identifier(name) for name in row]
        statement = sql.SQL(
            "INSERT INTO results.{table} ({columns}) VALUES ({values}) "
            "ON CONFLICT ({key}) DO UPDATE SET {changes}"
        ).format(
            table=sql.Identifier(table),
            columns=sql.SQL(", ").join(columns),
            values=sql.SQL(", ").join([sql.Placeholder()] * len(columns)),
            key=sql.SQL(", ").join(map(sql.Identifier, _KEYS[table])),
            changes=sql.SQL(", ").join(
                sql.SQL("{0} = EXCLUDED.{0}").format(column) for column in columns
            ),
        )
        values = [Jsonb(value) if isinstance(value, dict) else value for value in row.values()]
        self._connection.execute(statement, values)
