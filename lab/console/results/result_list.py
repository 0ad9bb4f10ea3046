"""Results as the console shows them: the list of results, and the content of each result.

A result may be damaged, on purpose or by accident. Then no function of this module raises an
exception, and the console shows the result as damaged.
"""

import csv
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from django.http import Http404

# In Python 3.11, the one of functools locks: one slow entry would block the entries of all threads.
from django.utils.functional import cached_property

from lab.analysis.warnings import is_warning
from lab.console.results.bundles import is_name
from lab.console.site.settings import LAB
from lab.errors import ExperimentError
from lab.files import documents
from lab.files.conclusion import CONCLUSION_FILE, Conclusion
from lab.files.documents import read_json
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.leaderboard import BOARD_FILE
from lab.report import claims as report_claims
from lab.results import reference
from lab.results.comparison import ComparisonResult
from lab.results.reference import Reference
from lab.results.result import Imported, began_at_of
from lab.results.study import reproduction_title
from lab.spec.experiment import Spec
from lab.wording import title_of

T = TypeVar("T")

DELETED: Final = ".deleted-"
"""The beginning of the name of a folder whose content is being deleted."""
MOST_TEXT_BYTES = 4 * 2**20
"""The maximum size, in bytes, of a text that a page shows, such as a spec."""
_SUMMARISED = ("spec.toml", BOARD_FILE, *documents.FILES)
"""The files from which a summary is calculated."""
_NO_CONCLUSION = (
    "NO CONCLUSION: this result is from an older version of Doorbuster, or its conclusion.json is "
    "damaged. The command `doorbuster results draw` with the folder of the result calculates the "
    "verdict, the warnings and the checks again."
)


@dataclass(frozen=True, slots=True)
class Summary:
    """The facts that lists, searches and leaderboards need about a result. The facts are computed
    again only if a file changes."""

    is_reproduction: bool
    paper: str
    title: str
    engine: str
    searched: str
    """The text in which a search looks for words."""
    spec: Spec | None
    plan: tuple[PlannedRun, ...]
    """The planned runs; empty for a reproduction and for a damaged result."""
    damage: str
    """The reason why a file of the result cannot be read; empty if all files can be read."""
    imported: Imported | None
    reference: Reference | None
    claims: list[Mapping[str, str]]
    """The claims of a reproduction, from claims.json."""
    conclusion: Conclusion
    """The conclusion of a comparison, which is empty until the report exists. A report without a
    readable conclusion is old or damaged, and gets a warning."""
    machine: dict[str, Any]
    """The facts about the machine; empty if they are unknown."""
    versions: dict[str, Any]
    """The versions of the programs; empty if they are unknown."""


class _Kept(Generic[T]):
    """Values with stamps, each computed again only if its stamp has changed."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[object, T]] = {}

    def get(self, key: Path, stamp: object, compute: Callable[[Path], T]) -> T:
        known = self._known.get(key)
        if known is None or known[0] != stamp:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            known = self._known[key] = (stamp, compute(key))
        return known[1]


_summaries: _Kept[Summary] = _Kept()
_run_faults: _Kept[str] = _Kept()
_MOST_KEPT = 50_000


def _stamp(path: Path | str) -> object:
    """Return a value that changes whenever the file changes; None if the file does not exist."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _summarised(path: Path) -> Summary:
    faults: list[str] = []

    def read(reader: Callable[[], T], otherwise: T) -> T:
        try:
            return reader()
        except ExperimentError as fault:
            faults.append(str(fault))
        except Exception as fault:  # an unexpected form is damage, too
            faults.append(f"{path.name}: {type(fault).__name__}: {fault}")
        return otherwise

    def facts(name: str) -> dict[str, Any]:
        known = found[f"{name}.json"] if f"{name}.json" in found else told.get(name)
        return known if isinstance(known, dict) else {}

    is_reproduction = (path / "reproduction.json").is_file()
    told: dict[str, Any] = {}
    spec: Spec | None = None
    plan: tuple[PlannedRun, ...] = ()
    folder = ComparisonResult(path)
    if is_reproduction:
        told = read(lambda: read_json(path / "reproduction.json"), told)
    else:
        spec = read(folder.spec, None)
        plan = read(lambda: tuple(folder.plan()), plan)
    found: dict[str, Any] = {}
    for name in documents.FILES:
        if name not in ("plan.json", "reproduction.json") and (path / name).is_file():
            is_conclusion = name == CONCLUSION_FILE
            found[name] = read(
                folder.conclusion if is_conclusion else partial(read_json, path / name), None
            )
    old_lines = [_NO_CONCLUSION] if "tables.json" in found else []
    title = reproduction_title(path.name, told) if spec is None else spec.title
    policies = [] if spec is None else [choice.key for choice in spec.policy]
    imported = Imported.read(path)
    made_for_all = Reference.read(path)
    marks = ["imported"] * bool(imported) + [reference.TITLE] * bool(made_for_all)
    if made_for_all and not (path / reference.MARK).is_file():
        faults.append(f"{path / reference.MARK} is missing")
    titles = map(title_of, policies)
    searched = (title, path.name, *policies, *titles, *marks, *_dates(path, made_for_all))
    return Summary(
        is_reproduction=is_reproduction,
        paper=str(told.get("paper", "")),
        title=title,
        engine=str(told.get("engine", "")) if spec is None else spec.engine,
        searched=" ".join(searched).casefold().replace(",", " "),
        spec=spec,
        plan=plan,
        damage="; ".join(faults)[:1000],
        imported=imported,
        reference=made_for_all,
        claims=(found.get("claims.json") or []) if is_reproduction else [],
        conclusion=found.get(CONCLUSION_FILE) or Conclusion(lines=old_lines),
        machine=facts("machine"),
        versions=facts("versions"),
    )


def _dates(path: Path, reference: Reference | None) -> list[str]:
    """Return the time of `ResultEntry.began_at` in the forms that a search can match."""
    at = reference.at if reference else began_at_of(path.name)
    return [] if at is None else [f"{at:%a} {at.day} {at:%d %b %B %Y %Y-%m-%d %H:%M:%S %H:%M}"]


@dataclass(frozen=True)
class ResultEntry:
    """One result folder. An entry reads each file at most once, so every request gets new
    entries."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def summary(self) -> Summary:
        stamp = [_stamp(self.path / name) for name in _SUMMARISED]
        return _summaries.get(self.path, stamp, _summarised)

    @property
    def is_reproduction(self) -> bool:
        return self.summary.is_reproduction

    @property
    def paper(self) -> str:
        """The paper of a reproduction; empty for a comparison."""
        return self.summary.paper

    @property
    def imported(self) -> Imported | None:
        """The mark of an imported result; None for any other result."""
        return self.summary.imported

    @property
    def reference(self) -> Reference | None:
        """The mark of a result that comes with Doorbuster; None for any other result."""
        return self.summary.reference

    @property
    def began_at(self) -> datetime | None:
        """The time at which the experiment began, or a reference was made; None if unknown."""
        return self.reference.at if self.reference else began_at_of(self.name)

    @property
    def when(self) -> str:
        """The time `began_at` as text, to the second, so that results with the same title differ.
        If the time is unknown, this is the result's name."""
        return f"{self.began_at:%d %b %Y %H:%M:%S}" if self.began_at else self.name

    @property
    def spec(self) -> Spec | None:
        """The spec of a comparison; None for a reproduction or a damaged spec."""
        return self.summary.spec

    @property
    def title(self) -> str:
        return self.summary.title

    @property
    def policies(self) -> set[str]:
        """The keys of the policies of a comparison."""
        return {choice.key for choice in self.spec.policy} if self.spec else set()

    @property
    def engine(self) -> str:
        return self.summary.engine

    @cached_property
    def damage(self) -> str:
        """The reason why the result cannot be read completely; empty if it can be read."""
        files = ComparisonResult(self.path).run_files(self.summary.plan)
        stamps = ((Path(file), _stamp(file)) for file in files)
        faults = (_run_faults.get(path, stamp, _fault) for path, stamp in stamps if stamp)
        return self.shown(self.summary.damage or next(filter(None, faults), ""))

    def shown(self, fault: str) -> str:
        """Return the text of a fault as pages show it: without the path of the results folder, so
        that paths of files begin with the result's name.
        """
        return fault.replace(f"{self.path.parent}/", "")

    @cached_property
    def runs(self) -> list[tuple[PlannedRun, RunFolder]]:
        """The planned runs and their folders; empty if the result is a reproduction or its plan is
        damaged."""
        folder = ComparisonResult(self.path)
        return [(planned, folder.run(planned)) for planned in self.summary.plan]

    @cached_property
    def progress(self) -> tuple[int, int]:
        """The number of complete runs and the number of planned runs."""
        plan = self.summary.plan
        if self.reference and not self.has_logs:
            return len(plan), len(plan)
        return sum(map(os.path.exists, ComparisonResult(self.path).run_files(plan))), len(plan)

    @cached_property
    def has_logs(self) -> bool:
        """Whether the folder has the raw logs of at least one run. Most reference results have no
        raw logs."""
        return any(map(os.path.exists, ComparisonResult(self.path).run_files(self.summary.plan)))

    @property
    def has_curves(self) -> bool:
        """Whether the curves of the result exist or can be computed from its logs."""
        return self.has_logs or (self.reference is not None and self.computed_curves.is_file())

    @property
    def computed_curves(self) -> Path:
        """The file with the curves of a reference result that has no logs."""
        return self.path / reference.CURVES

    @cached_property
    def has_png(self) -> bool:
        """Whether the figures also exist as PNG. Reference results have only SVG files."""
        return next((self.path / "figures").glob("*.png"), None) is not None

    @cached_property
    def tables(self) -> list[Mapping[str, Any]]:
        """The tables of a comparison, from tables.json; empty until the report exists."""
        return list(self._read("tables.json"))

    @property
    def claims(self) -> list[Mapping[str, str]]:
        """The claims of a reproduction; empty for a comparison."""
        return self.summary.claims

    @cached_property
    def figures_and_tables(self) -> list[Mapping[str, Any]]:
        """The tables and figures of a report, in the report's order, from `exhibits.json`. An older
        report has its tables only as CSV."""
        found = self._read("exhibits.json") or self._tables_alone()
        drawn = self.figures
        return [{**one, "figure": one["key"] if one["key"] in drawn else None} for one in found]

    def _tables_alone(self) -> list[Mapping[str, Any]]:
        by_key: dict[str, list[dict[str, Any]]] = {key: [] for key in self.figures}
        for path in sorted((self.path / "tables").glob("*.csv")):
            key = re.sub(r"-\d$", "", path.stem)
            by_key.setdefault(key if key in by_key else path.stem, []).append(_of_csv(path))
        return [
            {"key": key, "heading": _words(key), "tables": tables} for key, tables in by_key.items()
        ]

    @property
    def every_table(self) -> list[Mapping[str, Any]]:
        """All tables of the result, in the order in which the page shows them."""
        if not self.is_reproduction:
            return self.tables
        return [table for one in self.figures_and_tables for table in one["tables"]]

    @property
    def conclusion(self) -> Conclusion:
        """The conclusion of a comparison; empty for a reproduction."""
        return self.summary.conclusion

    @property
    def verdict(self) -> list[str]:
        """The conclusion in words: a sentence for each load of a comparison, or one or two
        sentences about a report's claims. The list is empty if there is no conclusion."""
        if self.is_reproduction:
            return report_claims.conclusion(self.claims)
        return self.conclusion.sentences

    @property
    def winner(self) -> str:
        """The short form of the verdict, which lists show; empty if there is no verdict."""
        if self.is_reproduction:
            return report_claims.short_conclusion(self.claims)
        return self.conclusion.winner

    @property
    def warnings(self) -> list[str]:
        """The lines of the conclusion that begin with a warning in capitals."""
        return [line for line in self.conclusion.lines if is_warning(line)]

    @property
    def checks(self) -> list[str]:
        """The lines of the conclusion without a warning in capitals."""
        return [line for line in self.conclusion.lines if not is_warning(line)]

    @property
    def circumstances(self) -> dict[str, str]:
        """The machine, versions and options, which can cause differences between two results."""
        spec = self.spec
        how = {} if spec is None else {
            "engine": spec.engine,
            "time scale": f"{spec.time_scale:g}" if spec.engine == "live" else "–",
            "page profile": spec.page_profile,
            "load": spec.load.words(),
            "first seed": str(spec.seed),
        }  # fmt: skip
        imported = self.imported.words if self.imported else "here"
        return {
            **how,
            "made": reference.TITLE if self.reference else imported,
            **{
                f"{name} ({kind})": str(value)
                for kind, facts in (("machine", self.machine), ("versions", self.versions))
                for name, value in facts.items()
            },
        }

    @property
    def origin(self) -> str:
        """A short text with the version and the CPUs, by which a reader distinguishes results."""
        version = str(self.versions.get("doorbuster", "")).partition(",")[0][:7]
        machine = self.machine
        cpus = f"{machine['cpus']} × {machine.get('cpu', 'CPU')}" if "cpus" in machine else ""
        return ", ".join(filter(None, (version, cpus)))

    @property
    def machine(self) -> dict[str, Any]:
        """The facts about the machine; empty if they are unknown."""
        return self.summary.machine

    @property
    def versions(self) -> dict[str, Any]:
        """The versions of the programs; empty if they are unknown."""
        return self.summary.versions

    def _read(self, name: str) -> Any:
        """Return the content of a JSON file after a check of its form; an empty list if the file is
        missing or damaged."""
        try:
            return read_json(self.path / name)
        except ExperimentError:
            return []

    def text(self, name: str) -> str:
        """Return at most MOST_TEXT_BYTES of a text file; empty if it is missing."""
        try:
            with (self.path / name).open("rb") as file:
                return file.read(MOST_TEXT_BYTES).decode("utf-8", errors="replace")
        except (OSError, ValueError):
            return ""

    @cached_property
    def figures(self) -> list[str]:
        """The file names of the figures, without their suffixes."""
        found = (self.path / "figures").glob("*.svg")
        return sorted(path.stem for path in found if is_name(path.name))

    def file(self, name: str) -> Path | None:
        """Return the path of the file with this relative name in the result folder; None if the
        folder has no such file."""
        if not all(map(is_name, name.split("/"))):
            return None
        path = self.path / name
        inside = path.resolve().is_relative_to(self.path.resolve())
        return path if inside and path.is_file() else None

    def delete(self) -> None:
        """Delete this result, which must not be a reference. The folder is renamed first, so that
        the result disappears from all pages at once. Raises OSError if it cannot be renamed.
        """
        assert self.reference is None
        gone = Path(tempfile.mkdtemp(prefix=DELETED, dir=self.path.parent))
        try:
            self.path.rename(gone / self.name)
        finally:
            shutil.rmtree(gone, ignore_errors=True)


def entries() -> list[ResultEntry]:
    """Return all results of this lab, with the newest result first."""
    return sorted(_found(), key=lambda one: one.name, reverse=True)


def references() -> list[ResultEntry]:
    """Return the results that come with Doorbuster, ordered by name."""
    return [
        ResultEntry(path)
        for path in reference.folders()
        if is_name(path.name) and (_is_result(path) or (path / reference.MARK).is_file())
    ]


def references_for(result: ResultEntry) -> list[ResultEntry]:
    """Return the references that a reader can compare with this result: reports on the same paper,
    or comparisons with a common policy."""
    if result.reference:
        return []
    return [one for one in references() if _is_alike(one, result)]


def _is_alike(one: ResultEntry, other: ResultEntry) -> bool:
    if one.is_reproduction or other.is_reproduction:
        return one.is_reproduction and other.is_reproduction and one.paper == other.paper
    return one.has_curves and bool(one.policies & other.policies)


def entry_of(name: str) -> ResultEntry | None:
    """Return the result with this name; None if there is none. A reference result overrides a
    result of this lab."""
    if not is_name(name):
        return None
    found = next((one for one in references() if one.name == name), None)
    one = found or ResultEntry(LAB.results_dir / name)
    return one if found or _is_result(one.path) else None


def result_of(name: str) -> ResultEntry:
    """Return the result with this name; raises Http404 if it does not exist."""
    result = entry_of(name)
    if result is None:
        raise Http404(f"There is no result {name!r:.80}.")
    return result


def run_of(result: ResultEntry, folder: str) -> tuple[PlannedRun, RunFolder]:
    """Return the run in this folder of the result; raises Http404 if there is no complete run."""
    for planned, run in result.runs:
        if planned.folder == folder and run.is_whole:
            return planned, run
    raise Http404


def existing(names: Iterable[str]) -> dict[str, ResultEntry]:
    """Return the named results that exist, by name."""
    known = {one.name: one for one in references()}
    found = [known.get(name) or ResultEntry(LAB.results_dir / name) for name in names]
    return {one.name: one for one in found if one.reference or _is_result(one.path)}


def _found() -> Iterator[ResultEntry]:
    if LAB.results_dir.is_dir():
        for path in LAB.results_dir.iterdir():
            if is_name(path.name) and _is_result(path):
                yield ResultEntry(path)


def _is_result(path: Path) -> bool:
    return (path / "plan.json").is_file() or (path / "reproduction.json").is_file()


def matching(results: Iterable[ResultEntry], words: str, engine: str) -> list[ResultEntry]:
    """Return the results for which each of `words` is in the title, name, policies, mark or date.
    An empty `engine` means any engine."""
    wanted = words.casefold().replace(",", " ").split()
    return [
        one
        for one in results
        if (not engine or one.engine == engine)
        and (not wanted or all(word in one.summary.searched for word in wanted))
    ]


def _of_csv(path: Path) -> dict[str, Any]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            text = file.read(MOST_TEXT_BYTES)
            header, *rows = [*csv.reader(text.splitlines(keepends=True))] or [[]]
    except (OSError, UnicodeDecodeError, csv.Error):
        header, rows = [], []
    return {"title": _words(path.stem), "header": header, "rows": rows, "note": ""}


def _fault(path: Path) -> str:
    """Return why the run.json of a complete run cannot be read; empty if it can."""
    try:
        read_json(path)
    except ExperimentError as error:
        return str(error)
    return ""


def _words(key: str) -> str:
    words = key.replace("-", " ")
    return words[:1].upper() + words[1:]
