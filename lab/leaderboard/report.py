"""Write the files of a board: a page, and leaderboard.json for the console. Print the board."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lab.analysis.cells import Cell
from lab.errors import ExperimentError
from lab.files.documents import write_json
from lab.leaderboard import BOARD_FILE, ablation, board, recovery
from lab.leaderboard.ablation import Step
from lab.leaderboard.board_study import Board, board_of, study
from lab.report.figures import draw_figures
from lab.report.page import made_by, write_report
from lab.report.tables import write_tables
from lab.report.terminal import console, show
from lab.results.comparison import ComparisonResult
from lab.results.metrics import Results


def write_board(found: Board) -> Path:
    """Write report.html with its pictures and tables, and leaderboard.json; return the page."""
    folder = found.folder
    spec, loads = folder.spec(), board.loads_of(found.rows)
    made, planned = len(folder.whole_runs()), len(folder.plan())
    capacity = folder.capacity()
    page = write_report(
        study(found),
        Results({}),
        folder,
        made_by(
            repetitions=spec.repetitions,
            seed=spec.seed,
            machine=folder.facts("machine"),
            versions=folder.facts("versions"),
            more=[
                ("Runs", f"{made} of {planned}, {spec.load.words()} each, {spec.engine}"),
                *([("Capacity", capacity.words())] if capacity else []),
                (
                    "Every run",
                    "runs/ has the raw log of each run; spec.toml describes the experiment",
                ),
            ],
        ),
        "" if made == planned else f"{made} of {planned} runs are complete.",
        runs=f"{made} runs, {spec.load.words()} each",
    )
    write_json(
        folder.path / BOARD_FILE,
        {
            "engine": spec.engine,
            "heading": spec.title,
            "made": made,
            "planned": planned,
            "sessions": spec.load.words(),
            "repetitions": spec.repetitions,
            "loads": [f"{rho:g}" for rho in loads],
            "rows": board.as_json(found.rows, found.recoveries),
            "leaders": {
                f"{rho:g}": [row.title for row in board.leaders(found.rows, rho)] for rho in loads
            },
            "ablation": ablation.words(found.steps) if found.steps else "",
            "steps": [_step(step) for step in found.steps],
        },
    )
    return page


def _step(step: Step) -> Mapping[str, Any]:
    return {
        "words": step.words,
        "policy": step.policy,
        "gain": asdict(step.gain),
        "carries": step.carries,
        "falls": step.falls,
        "falls_at": list(step.falls_at),
    }


def say_board(folder: ComparisonResult, cells: Sequence[Cell]) -> None:
    """Write the files of a comparison and of its board, and print the board. If a user caused a
    fault or traces were exported during a run, the function writes only the comparison's files."""
    write_tables(folder, cells)
    draw_figures(folder, cells)
    found = board_of(folder, cells)
    if not found.rows:
        raise ExperimentError(
            "No customer of these runs planned to buy anything, so no policy has an efficiency. "
            f"For a board, give --sessions a larger value. The runs are in {folder.path}."
        )
    if board.best_of(found.rows) is None:
        raise ExperimentError(
            "Only steps of DOOR's ablation have complete runs, and a step has no rank. For a "
            f"board, run another policy, too. The runs are in {folder.path}."
        )
    why_not = _disturbance(cells)
    page = None if why_not else write_board(found)
    efficiency, counted, *more = found.tables()
    for table in reversed([efficiency, *more]):
        show(table)
    if not found.recoveries:
        console.print(f"The seconds to recover are not measured yet. {recovery.how(folder.spec())}")
    if found.steps:
        console.print(ablation.words(found.steps))
    for line in folder.conclusion().lines:
        console.print(line)
    console.print(f"All tables, including {counted.title!r}: {folder.path / 'tables.md'}")
    if page is None:
        (folder.path / BOARD_FILE).unlink(missing_ok=True)
        console.print(f"The board is not stored, because {why_not} during a run.")
    else:
        console.print(f"Report: {page}")


def _disturbance(cells: Sequence[Cell]) -> str:
    """Return the event that excludes these runs from boards, as text; empty if there was none."""
    summaries = [summary for cell in cells for summary in cell.summaries]
    if any(summary.faults for summary in summaries):
        return "a user caused a fault"
    if any(summary.traced_ratio for summary in summaries):
        return "traces were exported"
    return ""
