"""Pictures of what was simulated, for the exhibits of the gallery that no paper has.

    doorbuster simulate leaderboard --rho 1.4
    python -m lab.console.simulated_pictures leaderboard results/<folder>

Owns: one small picture of a result. Must not know: which exhibits there are.
"""

import sys
from pathlib import Path

from lab.experiments.cells import Cell, read_cells
from lab.experiments.results import ResultFolder

FOLDER = Path(__file__).parent / "static" / "console" / "simulated"
COLOUR = "#0072B2"
CROWDED = 8
"""More names than this are written smaller."""


def draw(name: str, result: ResultFolder, folder: Path = FOLDER) -> Path:
    """Write `name`.svg: estimated efficiency of every policy of a result that has one ρ."""
    from matplotlib import pyplot as plt
    from matplotlib import rc_context

    cells = [cell for cell in read_cells(result) if _efficiency(cell) is not None]
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


def _efficiency(cell: Cell):
    return cell.over_known(lambda run: run.estimated_efficiency_ratio)


if __name__ == "__main__":
    print(draw(sys.argv[1], ResultFolder.open(Path(sys.argv[2]))))
