"""A result: the folder with all files of a comparison (`lab.results.comparison`) or a study
(`lab.results.study`). Its name contains the time at which the experiment began."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from common import locks
from lab.errors import ExperimentError
from lab.files.documents import read, write_json, write_text
from lab.spec import own_policies

IMPORTED = "imported.json"
"""The name of the file that marks a result from another machine; only the console writes this
file.
"""


class Imported(BaseModel):
    """The facts about the import of a result from another machine."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    by: str = ""
    """The user who imported the result; empty if the console has no accounts."""
    at: str = ""
    """The time of the import: ISO 8601, UTC."""
    sha256: str = ""
    """The SHA-256 of the bundle as it was sent."""
    size_bytes: int = 0
    """The total size of the result's files in bytes."""

    @classmethod
    def read(cls, folder: Path) -> "Imported | None":
        """Return the facts about the import of a result; None for a result of this machine."""
        path = folder / IMPORTED
        if not path.exists():
            return None
        try:
            return read(path, cls)
        except ExperimentError:
            return cls()  # a damaged file also marks the result

    def write(self, folder: Path) -> None:
        """Write these facts to the result, which marks it as imported."""
        write_json(folder / IMPORTED, self.model_dump())

    @property
    def words(self) -> str:
        """Return the user and the time of the import as text."""
        by = f" by {self.by}" if self.by else ""
        when = f" on {self.at[:10]} at {self.at[11:16]} UTC" if self.at else ""
        return f"imported{by}{when}"


def is_imported(folder: Path) -> bool:
    """Return whether a result was imported from another machine. Such a result is never resumed and
    is never the newest result.
    """
    return (folder / IMPORTED).exists()


_WHEN = re.compile(r"(\d{8}T\d{6}Z)-.", re.ASCII)


def began_at_of(name: str) -> datetime | None:
    """Return the time at which a result of this name began; None if the name has no valid date."""
    found = _WHEN.match(name)
    if found is None or not "2000" <= found[1][:4] < "9999":  # valid in every time zone
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def made_at(folder: Path) -> datetime:
    """Return the time at which a result began; if its name has no time, return the time of the last
    change of its folder.
    """
    return began_at_of(folder.name) or datetime.fromtimestamp(folder.stat().st_mtime, UTC)


class Result:
    """The folder of one experiment; a subclass defines its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures = path / "figures"
        self.tables = path / "tables"
        self.report_file = path / "report.html"

    @classmethod
    def _create(
        cls,
        results_dir: Path,
        name: str,
        *,
        folder: str,
        files: Mapping[str, Any],
        policies: Mapping[str, str],
    ) -> Self:
        """Create a folder called `<when>-<name>` with the subfolder `folder` and with `files`.

        The contents of `files` are texts, or values that are written as JSON. `policies` are the
        texts of students' policies by file name. Raises ExperimentError if the folder cannot be
        written.
        """
        when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        result = cls(results_dir / f"{when}-{name}")
        try:
            results_dir.mkdir(parents=True, exist_ok=True)
            for number in count(2):
                try:
                    result.path.mkdir()
                    break
                except FileExistsError:  # another experiment began in the same second
                    result = cls(results_dir / f"{when}-{name}-{number}")
            (result.path / folder).mkdir()
            for file, content in files.items():
                write = write_text if isinstance(content, str) else write_json
                write(result.path / file, content)
            for file, text in policies.items():
                (result.path / own_policies.COPIES).mkdir(exist_ok=True)
                write_text(result.path / own_policies.COPIES / file, text)
        except OSError as fault:
            raise ExperimentError(
                f"The result folder {result.path} cannot be written ({fault.strerror}). "
                "Choose another folder with DOORBUSTER_RESULTS_DIR."
            ) from None
        return result

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the result until the block ends. Raises ExperimentError if another process has
        locked it, or if the lock file cannot be opened.
        """
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(locks.locked(self.path / ".lock", waits=False))
            except BlockingIOError:
                raise ExperimentError(
                    f"Another process is writing {self.path}; wait until it has ended, or begin a "
                    "new result with --fresh."
                ) from None
            except OSError as fault:
                raise ExperimentError(
                    f"{self.path} cannot be resumed ({fault.strerror or fault}); begin a new "
                    "result with --fresh."
                ) from None
            yield


def made_here(results_dir: Path, file: str) -> Iterator[Path]:
    """Yield the folders of this machine's results that contain this file, from the newest to the
    oldest."""
    for path in sorted(results_dir.glob(f"*/{file}"), reverse=True):
        if not path.parent.name.startswith(".") and not is_imported(path.parent):
            yield path.parent
