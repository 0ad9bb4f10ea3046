"""The files of a board: a page with pictures and tables, and leaderboard.json for the console."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.files.documents import write_json
from lab.leaderboard import BOARD_FILE, ablation, board
from lab.leaderboard.ablation import Step
from lab.leaderboard.board_study import Board, study
from lab.report.page import made_by, write_report
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
        "" if made == planned else f"{made} of {planned} runs are whole.",
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
        "gain": {"mean": step.gain.mean, "half_width": step.gain.half_width},
        "carries": step.carries,
        "falls": step.falls,
        "falls_at": list(step.falls_at),
    }
