"""Pictures of what was simulated or measured, for the exhibits of the gallery that no paper has.

doorbuster simulate first-look --repetitions 20
python -m lab.console.gallery.measured_pictures first-look results/<folder>
doorbuster simulate leaderboard --rho 1.4
python -m lab.console.gallery.measured_pictures leaderboard results/<folder>
doorbuster compare live-leaderboard --repetitions 3
python -m lab.console.gallery.measured_pictures live-leaderboard results/<folder>
doorbuster leaderboard hysteresis
python -m lab.console.gallery.measured_pictures hysteresis results/<folder>
"""

import json
import sys
from itertools import cycle, islice
from pathlib import Path

from lab.analysis.cells import Cell, read_cells
from lab.leaderboard.ablation import is_step
from lab.palette import COLOURS
from lab.results.comparison import ComparisonResult
from lab.results.result import made_at

FOLDER = Path(__file__).parent / "static" / "console"
"""Beside the published ones: one folder per engine."""
RUSH_CONDUCT = "stubborn"
RUSH_POLICIES = ("pass-through", "door-fifo")
CROWDED = 8
"""More names than this are written smaller."""


def draw(name: str, result: ComparisonResult, folder: Path | None = None) -> Path:
    """Write `name`.svg: estimated efficiency of every policy, a bar for each ρ."""
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    from lab.report.figures import note_of, place_legends, sign

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
            place_legends(figure)
        sign(figure, note_of(result, cells))
        axes.spines[["top", "right"]].set_visible(False)
        folder = folder or FOLDER / spec.engine
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path


def draw_confirms(name: str, result: ComparisonResult, folder: Path = FOLDER / "simulated") -> Path:
    """Write `name`.svg: confirms of a run under every policy, with 95 % intervals."""
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    spec = result.spec()
    cells = read_cells(result)
    confirms = [cell.over(lambda run: run.confirms) for cell in cells]
    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
        bars = axes.bar(
            [cell.title for cell in cells],
            [one.mean for one in confirms],
            color=list(islice(cycle((COLOURS[1], COLOURS[0], COLOURS[2])), len(cells))),
            yerr=[one.half_width or 0.0 for one in confirms],
            capsize=6,
        )
        axes.bar_label(bars, [f"{one.mean:.0f}" for one in confirms], padding=3)
        axes.set(
            ylabel=f"customers of {spec.load.sessions:,} who buy",
            title=f"ρ = {cells[0].rho:g}, {spec.engine}: mean of {spec.repetitions} runs",
        )
        axes.margins(y=0.15)  # room for the figures above the intervals
        axes.spines[["top", "right"]].set_visible(False)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.svg"
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)
    return path


def draw_rush(name: str, report: Path, folder: Path = FOLDER / "simulated") -> Path:
    """Write `name`.svg: a collapse that stays and one that does not, of a report on hysteresis."""
    from matplotlib import rc_context

    from lab.analysis.hysteresis import RUSH_S
    from lab.leaderboard.hysteresis_study import CEILING_S, course
    from lab.leaderboard.pictures import small_multiples
    from lab.report.figures import note, sign

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
        number = sum(map(len, made.values()))
        sign(figure, note("Hysteresis", f"{number} runs, simulated", made_at(report)))
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
    elif target == "first-look":
        print(draw_confirms(target, ComparisonResult.open(source)))
    else:
        print(draw(target, ComparisonResult.open(source)))
