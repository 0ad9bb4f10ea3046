"""Results as the console shows them: which there are, what is in one.

Owns: listing result folders, their kind, their pieces for a page. Must not know: requests.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.console.settings import LAB
from lab.experiments.errors import ExperimentError
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder, read_json
from lab.experiments.spec import Spec

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+,-]{0,150}")


@dataclass(frozen=True, slots=True)
class Shelved:
    """One result folder."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def is_reproduction(self) -> bool:
        return (self.path / "reproduction.json").is_file()

    @property
    def began_at(self) -> datetime | None:
        """By its name; None for one that was renamed."""
        try:
            return datetime.strptime(self.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        except ValueError:
            return None

    @property
    def spec(self) -> Spec | None:
        """Of a comparison; None of a reproduction, and where it is damaged."""
        try:
            return None if self.is_reproduction else ResultFolder(self.path).spec()
        except ExperimentError:
            return None

    @property
    def title(self) -> str:
        spec = self.spec
        if spec is not None:
            return spec.title
        words = re.sub(r"^\d{8}T\d{6}Z-", "", self.name).replace("-", " ")
        return words[:1].upper() + words[1:]

    @property
    def engine(self) -> str:
        spec = self.spec
        if spec is not None:
            return spec.engine
        try:
            return str(read_json(self.path / "reproduction.json").get("engine", ""))
        except ExperimentError:
            return ""

    def runs(self) -> list[tuple[PlannedRun, RunFolder]]:
        """Planned runs and their folders; empty for a reproduction."""
        if self.is_reproduction:
            return []
        folder = ResultFolder(self.path)
        return [(planned, folder.run(planned)) for planned in folder.plan()]

    def progress(self) -> tuple[int, int]:
        """(whole runs, planned runs)."""
        runs = self.runs()
        return sum(run.is_whole for _, run in runs), len(runs)

    def tables(self) -> list[Mapping[str, Any]]:
        """As tables.json has them; empty until a report has been written."""
        try:
            found: list[Mapping[str, Any]] = json.loads((self.path / "tables.json").read_text())
        except (OSError, ValueError):
            return []
        return found if isinstance(found, list) else []

    def figures(self) -> list[str]:
        """Names of the figures, without suffix."""
        return sorted(path.stem for path in (self.path / "figures").glob("*.svg"))

    def file(self, name: str) -> Path | None:
        """A file within, by its relative name; None for anything else."""
        if not all(_NAME.fullmatch(part) for part in name.split("/")):
            return None
        path = self.path / name
        inside = path.resolve().is_relative_to(self.path.resolve())
        return path if inside and path.is_file() else None

    def events(self, run: RunFolder) -> list[Mapping[str, Any]]:
        """What happened in a run, as events.jsonl has it."""
        try:
            lines = run.events_file.read_text(encoding="utf-8").splitlines()
            return [json.loads(line) for line in lines]
        except (OSError, ValueError):
            return []

    def delete(self) -> None:
        """Remove it, at once for everybody: it is renamed first."""
        gone = self.path.with_name(f".deleted-{self.name}")
        self.path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)


def shelf() -> list[Shelved]:
    """All results, the newest first."""
    return sorted(_found(), key=lambda one: one.name, reverse=True)


def shelved(name: str) -> Shelved | None:
    """The result of this name."""
    if not _NAME.fullmatch(name):
        return None
    one = Shelved(LAB.results_dir / name)
    return one if _is_result(one.path) else None


def _found() -> Iterator[Shelved]:
    if LAB.results_dir.is_dir():
        for path in LAB.results_dir.iterdir():
            if not path.name.startswith(".") and _is_result(path):
                yield Shelved(path)


def _is_result(path: Path) -> bool:
    return (path / "plan.json").is_file() or (path / "reproduction.json").is_file()


def columns(table: Mapping[str, Any]) -> Sequence[str]:
    """The head of a table of tables.json."""
    return list(table.get("header", ()))
