"""The report of a reproduction: a self-contained HTML file, and its figures and data."""

import base64
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lab.executors import tasks
from lab.files.documents import write_json, write_text
from lab.report.charts import draw, draw_freely
from lab.report.claims import held_words
from lab.report.drawing.figure import note
from lab.report.drawing.table import Table
from lab.report.study_figures import Figure, Study
from lab.results.metrics import Results
from lab.results.result import Result, made_at

_VERDICTS = {True: "yes", False: "no", None: "not decided"}


def write_report(
    study: Study,
    results: Results,
    result: Result,
    made: Sequence[tuple[str, str]],
    missing: str = "",
    runs: str = "",
) -> Path:
    """Write figures, their data, tables and the page. Return the page.

    `made` describes the reproduction (command, seeds, versions, machine). `missing` is a text about
    the runs that are not finished. `runs` is the number of runs as text for the line under a
    figure. If `runs` is empty, the number comes from `results`.
    """
    result.figures.mkdir(exist_ok=True)
    result.tables.mkdir(exist_ok=True)
    claims = claims_table(study, results)
    when = made_at(result.path)
    figures = []
    for figure in study.figures:
        signed = note(study.title, runs or _runs(figure, study, results), when)
        figures.append(_figure(figure, results, result, signed))
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    page = environment.get_template("page.html.j2").render(
        study=study,
        claims=claims,
        claims_summary=claims_summary(claims),
        figures=figures,
        made=made,
        missing=missing,
    )
    rows = [dict(zip(claims.header, row, strict=True)) for row in claims.rows]
    write_json(result.path / "claims.json", rows)
    exhibits = [
        {
            **{name: one[name] for name in ("key", "heading", "what")},
            "differs": list(one["differs"]),
            "tables": [asdict(table) for table in (*one["tables"], *one["numbers"])],
        }
        for one in figures
    ]
    write_json(result.path / "exhibits.json", exhibits)
    write_text(result.report_file, page)  # last: a folder with a page is complete
    return result.report_file


def claims_table(study: Study, results: Results) -> Table:
    """Return every claim with its finding."""
    rows: list[tuple[str, ...]] = []
    for claim in study.claims:
        found, holds = claim.decide(results)
        rows.append((claim.text, claim.required, found, _VERDICTS[holds]))
    return Table("Claims", ("Claim", "Required", "Found", "Holds"), rows)


def claims_summary(claims: Table) -> str:
    """Return a text with the number of claims that hold."""
    held = held_words([row[-1] for row in claims.rows])
    return f"{held}. Each claim was checked with the numbers of this report."


def _runs(figure: Figure, study: Study, results: Results) -> str:
    number = results.number(figure.cases()) or results.number(study.cases())
    return "1 run" if number == 1 else f"{number} runs"


def _figure(figure: Figure, results: Results, result: Result, signed: str) -> Mapping[str, Any]:
    tables = [part.table(results) for part in figure.tables]
    for i, table in enumerate(tables, start=1):
        name = figure.key if len(tables) == 1 else f"{figure.key}-{i}"
        write_text(result.tables / f"{name}.csv", table.csv())
    shown: dict[str, Any] = {
        "key": figure.key,
        "heading": figure.heading,
        "short": figure.heading.split(":")[0],
        "what": figure.what,
        "differs": figure.differs,
        "tables": tables,
        "numbers": [panel.table(results) for panel in figure.panels],
        "picture": None,
        "has_data": bool(figure.panels),
        "narrow": not figure.drawing.is_wide if figure.drawing else len(figure.panels) == 1,
    }
    if figure.drawing:
        shown["picture"] = _embedded(draw_freely(figure, results, result.figures, signed))
        shown["alt"] = figure.drawing.alternative
        shown["caption"] = figure.drawing.caption
    if figure.panels:
        shown["picture"] = _embedded(draw(figure, results, result.figures, signed))
        shown["alt"] = alternative_text(figure)
        bars = any(
            panel.kind in ("lines", "bars")
            and any(curve.series(results).has_intervals for curve in panel.curves)
            for panel in figure.panels
        )
        texts = {
            "Crosses are published values.": any(panel.published for panel in figure.panels),
            "Lines with a black edge are published values for a part of the x axis.": any(
                panel.levels for panel in figure.panels
            ),
            "Error bars are 95 % intervals over the repetitions.": bars,
        }
        shown["caption"] = " ".join(text for text, wanted in texts.items() if wanted)
    return shown


def _embedded(svg: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.read_bytes()).decode()}"


def alternative_text(figure: Figure) -> str:
    """Return the text that describes the figure to readers who cannot see it."""
    panels = (
        f"{panel.key}: {panel.title}; {panel.y_label} over {panel.x_label}, "
        f"for {', '.join(curve.label for curve in panel.curves)}."
        for panel in figure.panels
    )
    return " ".join((*panels, "The numbers are in the tables below."))


def made_by(
    *,
    repetitions: int,
    seed: int,
    machine: Mapping[str, Any],
    versions: Mapping[str, str],
    more: Sequence[tuple[str, str]],
) -> list[tuple[str, str]]:
    """Return the facts about a reproduction for the end of its page."""
    return [
        ("Command", shlex.join(["doorbuster", *map(tasks.shown, sys.argv[1:])])),
        ("Written", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        *more,
        ("Repetitions", f"{repetitions}, seeds {seed} to {seed + repetitions - 1}; "
                        "with the same seed, every policy has the same customers"),
        ("Machine", f"{machine['cpus']} CPUs, {machine['cpu']}, {machine['memory_gib']} GiB, "
                    f"{machine['system']}"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]  # fmt: skip
