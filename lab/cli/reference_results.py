"""The commands that make the reference results, one for each part.

Each part runs in a separate folder below the state folder, so that an interrupted part can be
resumed. Only the part `race` keeps its raw logs. For the other parts, curves and tables are
computed before the logs are deleted.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common import log_tail, processes
from lab.analysis.curves import ALL_PAGES, curves_of
from lab.errors import ExperimentError
from lab.files.conclusion import CONCLUSION_FILE
from lab.files.documents import read_json, write_text
from lab.leaderboard import BOARD_FILE
from lab.machine.description import ROOT, describe_machine, describe_versions
from lab.report.drawing.svg import compact_svg
from lab.results import reference
from lab.results.comparison import ComparisonResult
from lab.results.reference import Reference
from lab.students import scoreboard
from lab.studies import About
from lab.studies.registry import PAPERS
from lab.wording import duration
from runtime import settings

RACE_SPEC = "lab/cli/reference_race.toml"
SCOREBOARD_SPEC = "lab/students/scoreboard.toml"
_NO_PORT = "9"
"""A port on which no database listens, so that the reference results are not published to the
dashboards.
"""
_END_WITHIN_S = 60.0


@dataclass(frozen=True, slots=True)
class Part:
    """A reference result: the command that makes it, and a remark for readers."""

    name: str
    title: str
    """The title of a report; empty for a comparison, whose title is in its spec."""
    command: tuple[str, ...]
    quick: tuple[str, ...] = ("--quick",)
    """Options that make the part smaller; empty if the part is already small."""
    text: str = ""
    keeps_logs: bool = False
    keeps_pages: bool = False
    """Whether curves are stored for each page type, and not only for all pages together."""
    is_live: bool = False
    """Whether the part is measured live and depends on the code of gateway, shop and platform."""

    @property
    def folder(self) -> Path:
        return reference.FOLDER / f"reference-{self.name}"

    def words(self, *, quick: bool) -> list[str]:
        """Return the command's arguments after `doorbuster`."""
        return [*self.command, *(self.quick if quick else ())]


_SHIPPED = (
    Part(
        "race",
        "",
        ("simulate", RACE_SPEC),
        quick=(),
        text="This result includes its raw logs: you can race its policies, or see why a request "
        "was turned away.",
        keeps_logs=True,
    ),
    Part("comparison", "", ("simulate", "lifo-pri-simulated"),
         quick=("--sessions", "3000", "--repetitions", "2"), keeps_pages=True),
    Part(
        "scoreboard",
        "",
        ("simulate", SCOREBOARD_SPEC),
        quick=(),
        text="This is the class's scoreboard before a student adds a policy.",
    ),
    Part(
        "leaderboard",
        "",
        ("leaderboard",),
        text="The result is simulated. For a live leaderboard, start the appliance, then run make "
        "leaderboard ENGINE=live.",
    ),
    Part("robustness", "Leaderboard: robustness", ("leaderboard", "robustness")),
    Part("hysteresis", "Leaderboard: hysteresis", ("leaderboard", "hysteresis")),
)  # fmt: skip


def _reproduction(name: str, about: About) -> Part:
    command = ["reproduce", name]
    if about.reference_engine != about.engine:
        command += ["--engine", about.reference_engine]
    live = f"doorbuster reproduce {name}{'' if about.engine == 'live' else ' --engine live'}"
    return Part(
        name,
        f"{about.short_name}, reproduced",
        tuple(command),
        text=about.reference_text
        or f"The result is simulated. The live reproduction needs a running appliance: {live}.",
        is_live=about.reference_engine == "live",
    )


PARTS = (*_SHIPPED, *(_reproduction(*one) for one in PAPERS.about().items()))
"""The parts in the order in which they are made."""

Say = Callable[[str], None]


def carry_out(names: Iterable[str], *, quick: bool, fresh: bool, say: Say) -> None:
    """Run these parts (by default, all parts), store their results, and print the duration of each
    part.

    Without `fresh`, parts that are up to date do not run again, and an interrupted part is
    resumed. If a part failed, the function raises ExperimentError after the last part.
    """
    wanted = set(names)
    todo = [part for part in PARTS if not wanted or part.name in wanted]
    lab = settings.load()
    failed = []
    for number, part in enumerate(todo, start=1):
        head = f"[{number}/{len(todo)}] {part.name}"
        if not fresh and is_up_to_date(part, quick=quick):
            say(f"{head}: up to date ({part.folder})")
            continue
        work = lab.state_dir / "reference" / f"{part.name}{'-quick' if quick else ''}"
        if fresh:
            shutil.rmtree(work, ignore_errors=True)
        say(f"{head}: doorbuster {shlex.join(part.words(quick=quick))} (log: {work / 'log'})")
        try:
            took_s = _made(part, work, quick=quick)
            keep(part, _result_in(work, part), part.folder, took_real_s=took_s, quick=quick)
        except ExperimentError as fault:
            failed.append(part.name)
            say(f"{head}: failed: {fault}")
            continue
        shutil.rmtree(work, ignore_errors=True)
        say(f"{head}: {duration(took_s)}, {_size_bytes(part.folder) / 1e3:,.0f} kB")
    all_bytes = _size_bytes(reference.FOLDER)
    say(f"{reference.FOLDER}: {all_bytes / 1e6:.2f} MB in {len(reference.folders())} results")
    if failed:
        raise ExperimentError(
            f"These parts failed: {', '.join(failed)}. Without --fresh, the same command runs only "
            "the missing parts."
        )


def is_up_to_date(part: Part, *, quick: bool) -> bool:
    """Return whether the present code has made the part at the size that `quick` chooses."""
    mark = Reference.read(part.folder)
    if mark is None or mark.at is None or mark.is_quick != (quick and bool(part.quick)):
        return False
    try:
        kept, now = _versions(part.folder), describe_versions()
    except ExperimentError:
        return False
    names = ("code", "parts") if part.is_live else ("code",)
    return all(kept.get(name) == now[name] for name in names)


def _made(part: Part, work: Path, *, quick: bool) -> float:
    """Run the command of a part in `work`. Return its duration in real seconds, including earlier
    attempts. Raises ExperimentError if the command fails or `work` cannot be used.
    """
    clock = work / "took_s"
    try:
        work.mkdir(parents=True, exist_ok=True)
        before_s = float(clock.read_text()) if clock.exists() else 0.0
        log = (work / "log").open("ab")
    except (OSError, ValueError) as fault:
        raise ExperimentError(f"{work} cannot be used ({fault}); delete this folder.") from None
    environment = {
        **os.environ,
        "DOORBUSTER_RESULTS_DIR": str(work / "results"),
        "DOORBUSTER_POSTGRES_PORT": _NO_PORT,
    }
    command = [sys.executable, "-m", "doorbuster", *part.words(quick=quick)]
    began_s = time.monotonic()
    with log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it receives Ctrl-C only from this process
        )
        try:
            status = process.wait()
        finally:
            processes.end(process, _END_WITHIN_S)
            took_s = before_s + time.monotonic() - began_s
            clock.write_text(f"{took_s:.1f}")
    if status != 0:
        raise ExperimentError(f"status {status}: {log_tail.last_line(log_tail.read(work / 'log'))}")
    return took_s


def _result_in(work: Path, part: Part) -> Path:
    """Return the folder with the part's result. The command of the leaderboard also makes a report
    on hysteresis, which is not the part's result.
    """
    kind = "reproduction.json" if part.title else "plan.json"
    found = sorted(path.parent for path in (work / "results").glob(f"[!.]*/{kind}"))
    if not found:
        raise ExperimentError(f"{work / 'results'} has no result; see {work / 'log'}.")
    return found[-1]


def keep(part: Part, made: Path, target: Path, *, took_real_s: float, quick: bool) -> None:
    """Replace the result at `target` by the result `made`, completely or not at all. Raises
    ExperimentError if the result is damaged or the folder cannot be written."""
    draft = target.with_name(f".{target.name}.new")
    old = target.with_name(f".{target.name}.old")
    try:
        if old.exists() and not target.exists():  # an earlier call ended between the two renames
            old.rename(target)
        for leftover in (draft, old):
            shutil.rmtree(leftover, ignore_errors=True)
        draft.mkdir(parents=True)
        if (made / "reproduction.json").is_file():
            _keep_report(part, made, draft)
        else:
            _keep_comparison(part, made, draft)
        _mark(part, draft, took_real_s, quick=quick)
        if target.exists():
            target.rename(old)
        draft.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as fault:
        raise ExperimentError(
            f"{target} cannot be written ({fault.strerror or fault}). Make reference results in a "
            "clone of the source code that you can write to."
        ) from None


def _keep_report(part: Part, made: Path, draft: Path) -> None:
    facts = read_json(made / "reproduction.json")
    facts.pop("simulations", None)  # lists a thousand files that are not stored
    machine = facts.get("machine") or describe_machine(settings.load())
    _write(draft / "reproduction.json", {**facts, "title": part.title, "machine": machine})
    _keep_figures(made, draft)


def _keep_comparison(part: Part, made: Path, draft: Path) -> None:
    folder = ComparisonResult(made)
    write_text(draft / "spec.toml", (made / "spec.toml").read_text(encoding="utf-8"))
    for name in ("plan", "machine", "versions", "capacity"):
        _write(draft / f"{name}.json", read_json(made / f"{name}.json"))
    is_board = (made / BOARD_FILE).is_file()
    # Tables 4 and 5 would take most of a board's bytes, because a board has many policies.
    tables = [
        one
        for one in read_json(made / "tables.json")
        if not (is_board and one["title"].startswith("Table "))
    ]
    _write(draft / "tables.json", tables)
    _write(draft / CONCLUSION_FILE, read_json(made / CONCLUSION_FILE))
    head, _, _ = (made / "tables.md").read_text(encoding="utf-8").partition("\n### ")
    write_text(draft / "tables.md", head + "\n")  # tables.json has the tables
    if part.keeps_logs:
        shutil.copytree(made / "runs", draft / "runs")
    else:
        _write(draft / reference.CURVES, _shortened(curves_of(folder), part))
    if is_board:
        _write(draft / BOARD_FILE, read_json(made / BOARD_FILE))
        _keep_figures(made, draft)
        return
    if part.name == "scoreboard":
        rows = [{**row, "result": part.folder.name} for row in scoreboard.rows_of_result(folder)]
        _write(draft / scoreboard.SCORES, {"conditions": scoreboard.alike(), "rows": rows})


def _keep_figures(made: Path, draft: Path) -> None:
    """Store claims, tables, figures as small SVG files, and the numbers of the figures."""
    for name in ("claims.json", "exhibits.json"):
        _write(draft / name, read_json(made / name))
    keys = {one["key"] for one in read_json(made / "exhibits.json")}
    for path in sorted((made / "figures").glob("*")):
        if path.suffix not in (".svg", ".csv") or path.stem not in keys:
            continue
        text = path.read_text(encoding="utf-8")
        (draft / "figures").mkdir(exist_ok=True)
        write_text(
            draft / "figures" / path.name, compact_svg(text) if path.suffix == ".svg" else text
        )


def _shortened(curves: dict[str, Any], part: Part) -> dict[str, Any]:
    """Return the curves with numbers rounded to three decimals. If the part does not keep curves by
    page type, only the curves for all pages remain, without the intervals of `above`.
    """

    def of_band(band: dict[str, Any]) -> dict[str, Any]:
        rounded: dict[str, Any] = _rounded(
            band if part.keeps_pages else {**band, "low": [None], "high": [None]}
        )
        return rounded

    def of_line(line: dict[str, Any]) -> dict[str, Any]:
        pages = [page for page in line["above"] if page == ALL_PAGES or part.keeps_pages]
        return {
            **line,
            "attempts": {page: line["attempts"][page] for page in pages},
            "above": {page: of_band(line["above"][page]) for page in pages},
            "histogram": {page: _rounded(line["histogram"][page]) for page in pages},
        }

    return {**curves, "lines": [of_line(line) for line in curves["lines"]]}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, 3) if isinstance(value, float) else value


def _mark(part: Part, draft: Path, took_real_s: float, *, quick: bool) -> None:
    is_quick = quick and bool(part.quick)
    machine = _facts(draft, "machine")
    smaller = "The grid is smaller than the complete grid, so intervals are wider."
    Reference(
        command=shlex.join(["doorbuster", *part.words(quick=quick)]),
        version=str(_versions(draft).get("doorbuster", "")),
        machine=f"{machine['cpus']} × {machine['cpu']}, {machine['memory_gib']} GiB, "
        f"{machine['system']}",
        written_at=datetime.now(UTC).isoformat(timespec="seconds"),
        took_real_s=round(took_real_s, 1),
        is_quick=is_quick,
        text=" ".join(filter(None, (part.text, smaller if is_quick else ""))),
    ).write(draft)


def _versions(folder: Path) -> dict[str, Any]:
    return _facts(folder, "versions")


def _facts(folder: Path, name: str) -> dict[str, Any]:
    if (folder / "reproduction.json").is_file():
        return dict(read_json(folder / "reproduction.json")[name])
    return dict(read_json(folder / f"{name}.json"))


def _write(path: Path, content: object) -> None:
    """Write JSON without spaces, to keep the many reference files small."""
    write_text(path, json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
