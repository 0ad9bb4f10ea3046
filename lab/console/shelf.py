"""Results as the console shows them: which there are, what is in one.

Owns: listing result folders, their kind, their pieces for a page. Must not know: requests.
"""

import csv
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.console.file_names import is_name
from lab.console.settings import LAB
from lab.experiments.errors import ExperimentError
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder, read_json
from lab.experiments.spec import Spec
from lab.experiments.titles import title_of


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
    def paper(self) -> str:
        """What a reproduction is of; empty for a comparison."""
        return str(self._reproduction().get("paper", ""))

    @property
    def began_at(self) -> datetime | None:
        """By its name; None for one that was renamed."""
        try:
            return datetime.strptime(self.name[:16], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        except ValueError:
            return None

    @property
    def when(self) -> str:
        """To the second, for results of one title; its name where that does not tell."""
        return f"{self.began_at:%d %b %Y %H:%M:%S}" if self.began_at else self.name

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
        return _words(re.sub(r"^\d{8}T\d{6}Z-", "", self.name))

    @property
    def searched(self) -> str:
        """What a search looks through."""
        spec = self.spec
        policies = [] if spec is None else [choice.key for choice in spec.policy]
        titles = map(title_of, policies)
        return " ".join((self.title, self.name, *policies, *titles)).casefold()

    @property
    def engine(self) -> str:
        spec = self.spec
        if spec is not None:
            return spec.engine
        return str(self._reproduction().get("engine", ""))

    @property
    def damage(self) -> str:
        """Why spec or plan of a comparison cannot be read; empty where they can."""
        try:
            if not self.is_reproduction:
                ResultFolder(self.path).spec()
                ResultFolder(self.path).plan()
        except ExperimentError as fault:
            return str(fault)
        return ""

    def runs(self) -> list[tuple[PlannedRun, RunFolder]]:
        """Planned runs and their folders; empty for a reproduction, and where it is damaged."""
        if self.is_reproduction:
            return []
        folder = ResultFolder(self.path)
        try:
            return [(planned, folder.run(planned)) for planned in folder.plan()]
        except ExperimentError:
            return []

    def progress(self) -> tuple[int, int]:
        """(whole runs, planned runs)."""
        runs = self.runs()
        return sum(run.is_whole for _, run in runs), len(runs)

    def tables(self) -> list[Mapping[str, Any]]:
        """Of a comparison as tables.json has them; empty until a report has been written."""
        return [table for table in self._list("tables.json") if _is_table(table)]

    def claims(self) -> list[Mapping[str, str]]:
        """Of a reproduction what must hold, as claims.json has it."""
        return self._list("claims.json")

    def exhibits(self) -> list[Mapping[str, Any]]:
        """Of a report (a reproduction, a leaderboard) its tables and figures, in their order.

        As exhibits.json has them; a report from before there was one has its tables as CSV alone.
        """
        found = list(filter(_is_exhibit, self._list("exhibits.json"))) or self._tables_alone()
        drawn = self.figures()
        return [{**one, "figure": one["key"] if one.get("key") in drawn else None} for one in found]

    def _tables_alone(self) -> list[Mapping[str, Any]]:
        by_key: dict[str, list[dict[str, Any]]] = {key: [] for key in self.figures()}
        for path in sorted((self.path / "tables").glob("*.csv")):
            key = re.sub(r"-\d$", "", path.stem)
            by_key.setdefault(key if key in by_key else path.stem, []).append(_of_csv(path))
        return [
            {"key": key, "heading": _words(key), "tables": tables} for key, tables in by_key.items()
        ]

    def every_table(self) -> list[Mapping[str, Any]]:
        """All tables there are, in the order of the page."""
        if not self.is_reproduction:
            return self.tables()
        return [table for one in self.exhibits() for table in one["tables"]]

    def lines(self) -> list[str]:
        """What a reader must know before believing the tables, as tables.md has it."""
        try:
            text = (self.path / "tables.md").read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return []
        head = text.split("\n### ", 1)[0]
        return [line[2:] for line in head.splitlines() if line.startswith("- ")]

    def circumstances(self) -> dict[str, str]:
        """Where, with what and how it was made: what must be alike where figures are compared."""
        spec = self.spec
        how = {} if spec is None else {
            "engine": spec.engine,
            "time scale": f"{spec.time_scale:g}" if spec.engine == "live" else "–",
            "page profile": spec.page_profile,
            "load": spec.load.words(),
            "first seed": str(spec.seed),
        }  # fmt: skip
        return how | {
            f"{name} ({kind})": str(value)
            for kind in ("machine", "versions")
            for name, value in self.facts(kind).items()
        }

    @property
    def origin(self) -> str:
        """Version and CPUs in a few words, to tell results apart at a glance."""
        machine, versions = self.facts("machine"), self.facts("versions")
        version = str(versions.get("doorbuster", ""))[:7]
        cpus = f"{machine['cpus']} × {machine.get('cpu', 'CPU')}" if "cpus" in machine else ""
        return ", ".join(filter(None, (version, cpus)))

    def facts(self, name: str) -> dict[str, Any]:
        """machine or versions; empty where they are not known."""
        try:
            return dict(read_json(self.path / f"{name}.json"))
        except (ExperimentError, TypeError, ValueError):
            pass
        known = self._reproduction().get(name)
        return known if isinstance(known, dict) else {}

    def _reproduction(self) -> dict[str, Any]:
        try:
            found = read_json(self.path / "reproduction.json")
        except ExperimentError:
            return {}
        return found if isinstance(found, dict) else {}

    def _list(self, name: str) -> list[Mapping[str, Any]]:
        try:
            found = read_json(self.path / name)
        except ExperimentError:
            return []
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def figures(self) -> list[str]:
        """Names of the figures, without suffix."""
        return sorted(path.stem for path in (self.path / "figures").glob("*.svg"))

    def file(self, name: str) -> Path | None:
        """A file within, by its relative name; None for anything else."""
        if not all(map(is_name, name.split("/"))):
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
    if not is_name(name):
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


def matching(results: Iterable[Shelved], words: str, engine: str) -> list[Shelved]:
    """Those whose title, name or policies have every one of `words`; `engine` empty for any."""
    wanted = words.casefold().split()
    return [
        one
        for one in results
        if (not engine or one.engine == engine)
        and (not wanted or all(word in one.searched for word in wanted))
    ]


def _is_exhibit(one: Mapping[str, Any]) -> bool:
    tables = one.get("tables")
    return (
        isinstance(one.get("key"), str)
        and isinstance(tables, list)
        and all(isinstance(table, dict) and _is_table(table) for table in tables)
    )


def _is_table(table: Mapping[str, Any]) -> bool:
    return isinstance(table.get("header"), list) and isinstance(table.get("rows"), list)


def _of_csv(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = [*csv.reader(file)] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error):
        header, rows = [], []
    return {"title": _words(path.stem), "header": header, "rows": rows, "note": ""}


def _words(key: str) -> str:
    words = key.replace("-", " ")
    return words[:1].upper() + words[1:]
