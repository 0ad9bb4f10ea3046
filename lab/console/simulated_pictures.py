"""Pictures of what was simulated, for the exhibits of the gallery that no paper has.

    doorbuster simulate leaderboard --rho 1.4
    python -m lab.console.simulated_pictures leaderboard results/<folder>
    doorbuster leaderboard hysteresis
    python -m lab.console.simulated_pictures hysteresis results/<folder>

Owns: one small picture of a result. Must not know: which exhibits there are.
"""

import json
import sys
from pathlib import Path

from lab.experiments.cells import Cell, read_cells
from lab.experiments.leaderboard.ablation import is_step
from lab.experiments.results import ResultFolder

FOLDER = Path(__file__).parent / "static" / "console" / "simulated"
COLOUR = "#0072B2"
RUSH_CONDUCT = "stubborn"
RUSH_POLICIES = ("pass-through", "door-fifo")
CROWDED = 8
"""More names than this are written smaller."""


def draw(name: str, result: ResultFolder, folder: Path = FOLDER) -> Path:
    """Write `name`.svg: estimated efficiency of every policy of a result that has one ρ."""
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    is_board = result.spec().leaderboard  # on which steps of the ablation are not ranked
    cells = [
        cell
        for cell in read_cells(result)
        if _efficiency(cell) is not None and not (is_board and is_step(cell.policy))
    ]
    found = [_efficiency(cell) for cell in cells]
    size = 11 if len(cells) <= CROWDED else 7.5
    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        places = range(len(cells))
        axes.barh(places, [known.mean for known in found], color=COLOUR,
                  xerr=[known.half_width or 0.0 for known in found])  # fmt: skip
        axes.set_yticks(places, [cell.title for cell in cells], fontsize=size)
        axes.invert_yaxis()
        axes.set(
            xlabel="revenue efficiency, estimated",
            title=f"ρ = {cells[0].rho:g}, simulated",
            xlim=(0, None),
        )
        axes.spines[["top", "right"]].set_visible(False)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path


def draw_rush(name: str, report: Path, folder: Path = FOLDER) -> Path:
    """Write `name`.svg: a collapse that stays and one that does not, of a report on hysteresis."""
    from matplotlib import rc_context

    from lab.experiments.leaderboard.hysteresis import RUSH_S
    from lab.experiments.leaderboard.hysteresis_study import CEILING_S, course
    from lab.experiments.leaderboard.pictures import small_multiples

    made: dict[str, list] = {policy: [] for policy in RUSH_POLICIES}
    for file in sorted((report / "simulations").glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        case = found["case"]
        policy = case["spec"]["policy"][0]
        if case["scenario"] == RUSH_CONDUCT and policy["name"] in made:
            made[policy["name"]].append(found["metrics"])
    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        courses = [course(policy, runs) for policy, runs in made.items() if runs]
        figure = small_multiples(courses, RUSH_S, CEILING_S)
        figure.suptitle("ρ = 3 for a minute, simulated", fontsize=11)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
    return path


def _efficiency(cell: Cell):
    return cell.over_known(lambda run: run.estimated_efficiency_ratio)


if __name__ == "__main__":
    target, source = sys.argv[1], Path(sys.argv[2])
    if target == "hysteresis":
        print(draw_rush(target, source))
    else:
        print(draw(target, ResultFolder.open(source)))
