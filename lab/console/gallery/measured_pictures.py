"""Pictures of simulated or measured results, for the gallery's cards without a published result.

For example, these commands make four results and draw their pictures:

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

from lab.analysis.cells import read_cells
from lab.analysis.hysteresis import CONDUCTS, RUSH_S
from lab.leaderboard.ablation import is_step
from lab.leaderboard.hysteresis_study import CEILING_S, course
from lab.leaderboard.recovery import case_of
from lab.report.drawing.figure import (
    GALLERY_INCHES,
    gallery_picture,
    new_figure,
    note,
    place_legends,
    save_gallery_picture,
    sign,
)
from lab.report.drawing.palette import COLOURS
from lab.report.drawing.pictures import Courses, Series
from lab.report.drawing.plots import bars_with_intervals, draw_picture, lying_bars
from lab.report.figures import note_of
from lab.results.comparison import ComparisonResult
from lab.results.metrics import Metrics
from lab.results.result import made_at
from lab.spec.cases import Case
from lab.spec.experiment import load_checked

FOLDER = Path(__file__).parent / "static" / "console"
"""The folder of the gallery's pictures, with subfolders for each engine and for published
pictures."""
RUSH_CONDUCT = "stubborn"
RUSH_POLICIES = ("pass-through", "door-fifo")
CROWDED = 8
"""The maximum number of names for which a picture uses large letters."""


def draw(name: str, result: ComparisonResult, folder: Path | None = None) -> Path:
    """Write `name`.svg: estimated efficiency of the policies, with a bar for each ρ."""
    spec = result.spec()
    is_board = spec.leaderboard  # which leaves out the steps of the ablation
    found = [
        (cell, cell.rho, known)
        for cell in read_cells(result)
        if cell.rho is not None
        and (known := cell.over_known(lambda run: run.estimated_efficiency_ratio)) is not None
        and not (is_board and is_step(cell.policy))
    ]
    titles = list(dict.fromkeys(cell.title for cell, _, _ in found))
    loads = sorted({rho for _, rho, _ in found})
    drawn = [
        Series(
            f"ρ = {load:g}",
            [titles.index(cell.title) for cell, rho, _ in found if rho == load],
            [known.mean for _, rho, known in found if rho == load],
            [known.half_width for _, rho, known in found if rho == load],
        )
        for load in loads
    ]
    with gallery_picture(name):
        figure, (axes,) = new_figure(1, 1, GALLERY_INCHES)
        lying_bars(axes, titles, drawn)
        axes.tick_params(axis="y", labelsize=11 if len(titles) <= CROWDED else 7.5)
        axes.axvline(1.0, color="0.35", linestyle=":", linewidth=1)
        axes.set(
            xlabel="revenue efficiency, estimated",
            title=f"{' and '.join(f'ρ = {rho:g}' for rho in loads)}, {spec.engine}",
            xlim=(0, None),
        )
        if len(loads) > 1:
            place_legends(figure)
        sign(figure, note_of(result, [cell for cell, _, _ in found]))
        axes.spines[["top", "right"]].set_visible(False)
        return save_gallery_picture(figure, (folder or FOLDER / spec.engine) / f"{name}.svg")


def draw_confirms(name: str, result: ComparisonResult, folder: Path = FOLDER / "simulated") -> Path:
    """Write `name`.svg: mean number of confirms per run under each policy, with 95 % intervals."""
    spec = result.spec()
    cells = read_cells(result)
    confirms = [cell.over(lambda run: run.confirms) for cell in cells]
    drawn = Series(
        "confirms",
        range(len(cells)),
        [one.mean for one in confirms],
        [one.half_width for one in confirms],
    )
    colours = list(islice(cycle((COLOURS[1], COLOURS[0], COLOURS[2])), len(cells)))
    with gallery_picture(name):
        figure, (axes,) = new_figure(1, 1, GALLERY_INCHES)
        bars_with_intervals(axes, [cell.title for cell in cells], drawn, colours)
        axes.set(
            ylabel=f"customers of {spec.load.sessions:,} who buy",
            title=f"ρ = {cells[0].rho:g}, {spec.engine}: mean of {spec.repetitions} runs",
        )
        axes.spines[["top", "right"]].set_visible(False)
        return save_gallery_picture(figure, folder / f"{name}.svg")


def draw_rush(name: str, report: Path, folder: Path = FOLDER / "simulated") -> Path:
    """Write `name`.svg from a report on hysteresis. The picture shows a shop that stays
    collapsed and a shop that recovers."""
    board = load_checked("leaderboard")
    conduct = next(one for one in CONDUCTS if one.key == RUSH_CONDUCT)
    wanted = {
        case_of(board, conduct, policy, quick=quick).id: policy
        for policy in RUSH_POLICIES
        for quick in (False, True)
    }
    made: dict[str, list[Metrics]] = {policy: [] for policy in RUSH_POLICIES}
    for file in sorted((report / "simulations").glob("*.json")):
        found = json.loads(file.read_text(encoding="utf-8"))
        if policy := wanted.get(Case.of_json(found["case"]).id):
            made[policy].append(found["metrics"])
    courses = [course(policy, runs) for policy, runs in made.items() if runs]
    with gallery_picture(name):
        figure = draw_picture(Courses(courses, RUSH_S, CEILING_S))
        figure.suptitle("ρ = 3 for a minute, simulated", fontsize=11)
        number = sum(map(len, made.values()))
        sign(figure, note("Hysteresis", f"{number} runs, simulated", made_at(report)))
        return save_gallery_picture(figure, folder / f"{name}.svg")


if __name__ == "__main__":
    target, source = sys.argv[1], Path(sys.argv[2])
    if target == "hysteresis":
        print(draw_rush(target, source))
    elif target == "first-look":
        print(draw_confirms(target, ComparisonResult.open(source)))
    else:
        print(draw(target, ComparisonResult.open(source)))
