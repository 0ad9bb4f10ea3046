"""A leaderboard and its reports as files, made by hand."""

import json

from lab.leaderboard import BOARD_FILE

ESTIMATE = {"mean": 0.961, "half_width": 0.02}


def board(mean=0.961, **changes):
    """Return the content of leaderboard.json; `mean` is DOOR-LIFO's at ρ = 2."""
    rows = [
        {"policy": "door-lifo", "title": "DOOR-LIFO", "rank": 1, "overall": ESTIMATE,
         "estimated": {"1.4": ESTIMATE, "2": {"mean": mean, "half_width": None}}},
        {"policy": "Few hands", "title": "Few hands", "rank": None, "overall": ESTIMATE,
         "estimated": {"1.4": ESTIMATE}},
    ]  # fmt: skip
    return {
        "engine": "simulated", "heading": "Leaderboard", "made": 5, "planned": 6,
        "sessions": "60 sessions", "repetitions": 2, "loads": ["1.4", "2"], "rows": rows,
        "leaders": {"1.4": ["DOOR-LIFO", "DAGOR"], "2": ["DOOR-LIFO"]},
        "ablation": "Few hands carry it.", "steps": [], **changes,
    }  # fmt: skip


def written(console, name, content):
    """A result folder with a board, of which there is nothing else."""
    folder = console.results / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.json").write_text("[]")
    (folder / BOARD_FILE).write_text(content if isinstance(content, str) else json.dumps(content))
    return folder


def report(console, name, paper):
    """A result folder with a report and its pictures."""
    folder = console.results / name
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    (folder / "reproduction.json").write_text(json.dumps({"paper": paper, "engine": "simulated"}))
    (folder / "report.html").write_text("<!doctype html>")
    figure = {"key": "stubborn", "heading": "Stubborn customers", "what": "They ask again.",
               "differs": [], "tables": []}  # fmt: skip
    (folder / "exhibits.json").write_text(json.dumps([figure]))
    for figure in ("robustness", "stubborn"):
        (folder / f"figures/{figure}.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
