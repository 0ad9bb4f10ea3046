"""Result folders: where everything of a run and of a comparison is kept.

Owns: names and forms of the files, and writing them so that a file is there whole or not at all.
Must not know: how they came about or how they are drawn.

    results/<when>-<name>/
        spec.toml  machine.json  versions.json  capacity.json  plan.json
        policies/*.py (copies of students' own)
        runs/<number>-<policy>-rho<ρ>-seed<seed>/       (of a closed loop without rho<ρ>)
            attempts.parquet  samples.parquet  events.jsonl
            run.json (written last: the run is whole)
        tables.md  tables.json  figures/*.png, *.svg
        imported.json (if it was made elsewhere)
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.engines.capacity import Capacity, from_json
from lab.errors import ExperimentError, SpecError
from lab.files import forms as result_forms
from lab.files.documents import read_json, write_json, write_text
from lab.files.run_folder import RUN_FILE, PlannedRun, RunFolder
from lab.spec import own_policies
from lab.spec import text as spec_text
from lab.spec.experiment import Spec, read_spec

IMPORTED = "imported.json"
"""The mark of a result that was made elsewhere; only the console writes it."""


@dataclass(frozen=True, slots=True)
class Imported:
    """Who brought a result from another machine, when, and what the bundle was."""

    by: str
    """Empty where the console has no accounts."""
    at: str
    """ISO 8601, UTC."""
    sha256: str
    """SHA-256 of the bundle as it was sent."""
    size_bytes: int
    """Size of all files of the result."""

    @classmethod
    def read(cls, folder: Path) -> "Imported | None":
        """The mark of a result; None for a result that was made here."""
        path = folder / IMPORTED
        if not path.exists():
            return None
        try:
            mark = cls(**read_json(path))
        except (ExperimentError, TypeError):
            return cls("", "", "", 0)  # a damaged mark is a mark
        is_whole = (
            isinstance(mark.by, str) and isinstance(mark.at, str) and isinstance(mark.sha256, str)
        )
        return mark if is_whole and isinstance(mark.size_bytes, int) else cls("", "", "", 0)

    def write(self, folder: Path) -> None:
        """Mark the result."""
        write_json(folder / IMPORTED, asdict(self))

    @property
    def words(self) -> str:
        """Return who imported it and when, for people."""
        by = f" by {self.by}" if self.by else ""
        when = f" on {self.at[:10]} at {self.at[11:16]} UTC" if self.at else ""
        return f"imported{by}{when}"


def is_imported(folder: Path) -> bool:
    """Whether a result was made elsewhere: it is never resumed and never the newest."""
    return (folder / IMPORTED).exists()


def write_copies(folder: Path, copies: Mapping[str, str]) -> None:
    """Texts of students' policies by file name (`own_policies.named_copies`) into a result."""
    for name, text in copies.items():
        (folder / own_policies.COPIES).mkdir(exist_ok=True)
        write_text(folder / own_policies.COPIES / name, text)


_WHEN = re.compile(r"(\d{8}T\d{6}Z)-.", re.ASCII)


def began_at_of(name: str) -> datetime | None:
    """When a result of this name began; None for a name without a date that there is."""
    found = _WHEN.match(name)
    if found is None or not "2000" <= found[1][:4] < "9999":  # no overflow in any time zone
        return None
    try:
        return datetime.strptime(found[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def made_at(folder: Path) -> datetime:
    """Return when the result in a folder began: as its name says, else when it was written."""
    return began_at_of(folder.name) or datetime.fromtimestamp(folder.stat().st_mtime, UTC)


class ResultFolder:
    """The folder of one experiment."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.figures = path / "figures"

    @classmethod
    def create(
        cls, results_dir: Path, spec: Spec, facts: Mapping[str, Any], plan: Iterable[PlannedRun]
    ) -> "ResultFolder":
        """A new folder with the spec, the plan and what is known before the first run."""
        copies = own_policies.named_copies(own_policies.of_spec(spec))
        when = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        words = re.sub(r"[^a-z0-9.]+", "-", spec.heading.lower()).strip("-")[:60]
        folder = cls(results_dir / f"{when}-{words}")
        beside = 1
        while folder.path.exists():  # another was begun in this very second
            beside += 1
            folder = cls(results_dir / f"{when}-{words}-{beside}")
        try:
            (folder.path / "runs").mkdir(parents=True)
            write_copies(folder.path, copies)
            for name, content in facts.items():
                write_json(folder.path / f"{name}.json", content)
            write_text(folder.path / "spec.toml", spec.to_toml())
            write_json(folder.path / "plan.json", [asdict(run) for run in plan])
        except OSError as fault:
            raise ExperimentError(
                f"The result folder {folder.path} cannot be written ({fault.strerror}). "
                "Choose another with DOORBUSTER_RESULTS_DIR."
            ) from None
        return folder

    @classmethod
    def open(cls, path: Path) -> "ResultFolder":
        """A folder that is there; raises SpecError when it is none."""
        if not (path / "plan.json").is_file():
            raise SpecError(
                f"FOLDER: {path} is no result folder (it has no plan.json); allowed: one that "
                "`doorbuster run`, `compare` or `simulate` made"
            )
        return cls(path)

    def spec(self) -> Spec:
        """The spec as it was run; raises ExperimentError when missing or damaged."""
        path = self.path / "spec.toml"
        text = result_forms.text_of(path, spec_text.MOST_BYTES)
        try:
            own_policies.remember_copies(self.path)
            return read_spec(text, str(path))
        except (OSError, UnicodeDecodeError, RecursionError) as fault:
            raise ExperimentError(f"{path} cannot be read: {fault}") from None

    def facts(self, name: str) -> dict[str, Any]:
        """machine, versions or capacity."""
        return read_json(self.path / f"{name}.json")

    def capacity(self) -> Capacity | None:
        """What ρ = 1 is in its runs; None in a closed loop. Raises ExperimentError."""
        return None if self.spec().clients else from_json(self.facts("capacity"))

    def plan(self) -> list[PlannedRun]:
        """All runs in the order in which they are made; raises ExperimentError when damaged."""
        return [PlannedRun(**row) for row in read_json(self.path / "plan.json")]

    def run(self, planned: PlannedRun) -> RunFolder:
        """The folder of a planned run, made or not."""
        return RunFolder(self.path / "runs" / planned.folder)

    def run_files(self, plan: Iterable[PlannedRun]) -> Iterator[str]:
        """The path of each run's run.json, there or not; cheap for thousands of runs."""
        runs = os.path.join(self.path, "runs")
        return (os.path.join(runs, planned.folder, RUN_FILE) for planned in plan)

    def whole_runs(self) -> list[tuple[PlannedRun, RunFolder]]:
        """The runs that are complete, in the order of the plan."""
        runs = [(planned, self.run(planned)) for planned in self.plan()]
        return [(planned, run) for planned, run in runs if run.is_whole]


def unfinished(results_dir: Path, spec: Spec) -> ResultFolder | None:
    """The newest folder of this very spec that still lacks runs, to be resumed."""
    for path in made_here(results_dir, "plan.json"):
        folder = ResultFolder(path)
        try:
            same = folder.spec().fingerprint == spec.fingerprint
            if same and len(folder.whole_runs()) < len(folder.plan()):
                return folder
        except ExperimentError:
            continue  # an older or damaged folder is not ours to resume
    return None


def newest(results_dir: Path) -> ResultFolder:
    """The newest result that was made here; raises ExperimentError when there is none."""
    for path in made_here(results_dir, "plan.json"):
        return ResultFolder(path)
    raise ExperimentError(f"No result in {results_dir} yet; `make compare` makes one.")


def made_here(results_dir: Path, file: str) -> Iterator[Path]:
    """The folders of results that have this file and were not imported, the newest first."""
    for path in sorted(results_dir.glob(f"*/{file}"), reverse=True):
        if not path.parent.name.startswith(".") and not is_imported(path.parent):
            yield path.parent
