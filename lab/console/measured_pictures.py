"""Pictures of what was simulated or measured, for the exhibits of the gallery that no paper has.

    doorbuster simulate leaderboard --rho 1.4
    python -m lab.console.measured_pictures leaderboard results/<folder>
    doorbuster compare live-leaderboard --repetitions 3
    python -m lab.console.measured_pictures live-leaderboard results/<folder>
    doorbuster leaderboard hysteresis
    python -m lab.console.measured_pictures hysteresis results/<folder>

Owns: one small picture of a result. Must not know: which exhibits there are.
"""

import json
import sys
from itertools import cycle
from pathlib import Path

from lab.experiments.cells import Cell, read_cells
from lab.experiments.leaderboard.ablation import is_step
from lab.experiments.results import ResultFolder

FOLDER = Path(__file__).parent / "static" / "console"
"""Beside the published ones: one folder per engine."""
COLOURS = ("#0072B2", "#D55E00", "#009E73")
RUSH_CONDUCT = "stubborn"
RUSH_POLICIES = ("pass-through", "door-fifo")
CROWDED = 8
"""More names than this are written smaller."""


def draw(name: str, result: ResultFolder, folder: Path | None = None) -> Path:
    """Write `name`.svg: estimated efficiency of every policy, a bar for each ρ."""
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    spec = result.spec()
    is_board = spec.leaderboard  # on which steps of the ablation are not ranked
    cells = [
        cell
        for cell in read_cells(result)
        if _efficiency(cell) is not None and not (is_board and is_step(cell.policy))
    ]
    titles = list(dict.fromkeys(cell.title for cell in cells))
    loads = sorted({cell.rho for cell in cells})
    size = 11 if len(titles) <= CROWDED else 7.5
    height = 0.8 / len(loads)
    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        for nth, (rho, colour) in enumerate(zip(loads, cycle(COLOURS), strict=False)):
            of_load = [cell for cell in cells if cell.rho == rho]
            found = [_efficiency(cell) for cell in of_load]
            places = [titles.index(cell.title) + (nth + 0.5) * height - 0.4 for cell in of_load]
            axes.barh(places, [known.mean for known in found], height, color=colour,
                      xerr=[known.half_width or 0.0 for known in found],
                      label=f"ρ = {rho:g}")  # fmt: skip
        axes.set_yticks(range(len(titles)), titles, fontsize=size)
        axes.invert_yaxis()
        axes.axvline(1.0, color="0.35", linestyle=":", linewidth=1)
        axes.set(
            xlabel="revenue efficiency, estimated",
            title=f"{' and '.join(f'ρ = {rho:g}' for rho in loads)}, {spec.engine}",
            xlim=(0, None),
        )
        if len(loads) > 1:
            axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes.spines[["top", "right"]].set_visible(False)
        folder = folder or FOLDER / spec.engine
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path


def draw_rush(name: str, report: Path, folder: Path = FOLDER / "simulated") -> Path:
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
