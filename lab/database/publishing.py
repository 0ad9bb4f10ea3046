"""Update the results database while an experiment runs, and after an import or a deletion.

An error of the database causes only a warning, except in `prepare`. The driver of PostgreSQL is
imported inside functions, because an installation for simulations does not have it.
"""

import importlib.util
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from common.waiting import retry
from lab.database.rows import Rows, rows_of
from lab.errors import ExperimentError
from lab.files.run_summary import PlannedRun
from lab.results.comparison import ComparisonResult
from runtime import settings

if TYPE_CHECKING:
    from lab.database.database import ResultsDatabase, Say

_LOOK_EVERY_S = 1.0


class Publishing:
    """A writer of one experiment to the database; after the first error, it writes nothing more."""

    def __init__(self, database: "ResultsDatabase | None", say: "Say") -> None:
        self._database, self._say = database, say
        self._lock = threading.Lock()  # simultaneous runs write at the same time

    def experiment(self, folder: ComparisonResult) -> None:
        """Write the experiment to the database before its runs, because their rows refer to it."""
        self._try(lambda to: to.experiment(folder))

    def run(self, folder: ComparisonResult, planned: PlannedRun) -> None:
        """Write a run to the database when it begins, changes or ends."""
        self._try(lambda to: to.run(folder, planned))

    def of_run(self, folder: ComparisonResult, planned: PlannedRun) -> Callable[[], None]:
        return partial(self.run, folder, planned)

    def _try(self, write: "Callable[[ResultsDatabase], None]") -> None:
        with self._lock:
            if self._database is None:
                return
            try:
                write(self._database)
            except (ExperimentError, OSError) as fault:
                self._database = None
                self._say(_warning(fault))


@contextmanager
def publishing(lab: settings.Settings, say: "Say") -> Iterator[Publishing]:
    """Yield a writer for an experiment; report a missing database in one line."""
    if importlib.util.find_spec("psycopg") is None:
        yield Publishing(None, say)
        return
    from lab.database.database import ResultsDatabase
    from lab.database.schema import ResultsDatabaseError

    try:
        database = ResultsDatabase(lab)
    except ResultsDatabaseError as fault:
        say(_warning(fault))
        yield Publishing(None, say)
        return
    with database:
        yield Publishing(database, say)


def prepare(lab: settings.Settings, say: "Say", wait_s: float = 0.0) -> None:
    """Create the tables and the role, and write all comparisons to a new database.

    The function waits up to `wait_s` real seconds for the server. Raises ResultsDatabaseError if
    the database cannot be used.
    """
    with _within(lab, say, wait_s) as database:
        database.prepare()
        if database.is_new:
            database.publish(lab.results_dir, say)


def _within(lab: settings.Settings, say: "Say", wait_s: float) -> "ResultsDatabase":
    from lab.database.database import ResultsDatabase
    from lab.database.schema import ResultsDatabaseError, ServerAwayError

    try:
        try:
            return ResultsDatabase(lab)
        except ServerAwayError as fault:
            if wait_s <= 0:
                raise
            say(f"Waiting up to {wait_s:g} s: {fault}")
        return retry(lambda: ResultsDatabase(lab), ServerAwayError, wait_s, every_s=_LOOK_EVERY_S)
    except ServerAwayError as fault:
        raise ResultsDatabaseError(
            f"{fault}; fix: start it (make up), or correct DOORBUSTER_POSTGRES_HOST, "
            "_PORT, _USER or _PASSWORD"
        ) from None


def keep_in_step(
    lab: settings.Settings,
    results: Iterable[str],
    say: "Say",
    rows_of: Callable[[str], Rows] = rows_of,
) -> None:
    """Update the database after a user has imported or deleted these results; report an error in
    one line.

    `rows_of` returns the rows of a folder.
    """
    from lab.database.database import DAMAGED, ResultsDatabase

    try:
        with ResultsDatabase(lab) as database:
            for name in results:
                database.forget(name)
                folder = lab.results_dir / name
                if (folder / "plan.json").is_file():
                    database.write(rows_of(str(folder)))
    except DAMAGED as fault:
        say(_warning(fault))


def _warning(fault: Exception) -> str:
    return (
        f"Warning: PostgreSQL did not receive the results ({fault}); `doorbuster results publish` "
        "can write them later."
    )
