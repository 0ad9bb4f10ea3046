"""Figures of growth: a cost against a size, both on logarithmic axes."""

import csv
import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from bench.growth.axes import Axis, Grown
from lab.report.drawing.figure import (
    GALLERY_INCHES,
    finish,
    gallery_picture,
    new_figure,
    place_legends,
    save_gallery_picture,
    sign,
)
from lab.report.drawing.pictures import Series
from lab.report.drawing.plots import draw_series
from lab.report.drawing.svg import compact_svg

VALUES = "values.csv"
_COLUMNS = ("axis", "curve", "size", "cost")
_PROPORTIONAL = "proportional to the size"


def draw(grown: Grown, folder: Path, origin: str) -> Path:
    """Write the figure of one axis as SVG, with the line `origin` below it; return the path."""
    axis = grown.axis
    with gallery_picture(axis.key):
        figure, (axes,) = new_figure(1, 1, GALLERY_INCHES)
        drawn = [
            Series(curve, list(costs), list(costs.values()), [None] * len(costs))
            for curve, costs in grown.curves.items()
        ]
        axes.set(xscale="log", yscale="log")
        draw_series(axes, "lines", drawn)
        sizes = sorted({size for costs in grown.curves.values() for size in costs})
        costs = [cost for of_curve in grown.curves.values() for cost in of_curve.values()]
        _draw_proportion(axes, sizes, costs)
        axes.set(xlabel=axis.x_label, ylabel=axis.y_label)
        axes.set_title(axis.title, fontsize=11)
        finish(axes)
        place_legends(figure)
        sign(figure, origin)
        path = save_gallery_picture(figure, folder / f"{axis.key}.svg")
    path.write_text(compact_svg(path.read_text(encoding="utf-8")), encoding="utf-8")
    return path


def _draw_proportion(axes: Axes, sizes: Sequence[int], costs: Sequence[float]) -> None:
    low = 10 ** math.floor(math.log10(min(costs)))
    high = max(10 ** math.ceil(math.log10(max(costs))), 100 * low)
    axes.plot(
        sizes,
        [low * size / sizes[0] for size in sizes],
        color="0.55",
        linestyle=":",
        linewidth=1.5,
        label=_PROPORTIONAL,
        zorder=1,
    )
    axes.set_ylim(low, high)
    axes.xaxis.set_major_locator(FixedLocator([float(size) for size in sizes]))
    axes.xaxis.set_minor_locator(NullLocator())
    plain = FuncFormatter(lambda value, _: f"{value:,.10g}")
    axes.xaxis.set_major_formatter(plain)
    axes.yaxis.set_major_locator(LogLocator(10))
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(NullFormatter())


def write_values(found: Iterable[Grown], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(_COLUMNS)
        for grown in found:
            for curve, costs in grown.curves.items():
                for size, cost in costs.items():
                    rows.writerow((grown.axis.key, curve, size, f"{cost:.4g}"))


def read_values(axes: Iterable[Axis], path: Path) -> list[Grown]:
    found = {axis.key: Grown(axis) for axis in axes}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["axis"] in found:
                found[row["axis"]].add(int(row["size"]), {row["curve"]: float(row["cost"])})
    return [grown for grown in found.values() if grown.curves]


def origin_of(machine: str, when: datetime) -> str:
    return f"make bench-growth · {machine} · {when:%Y-%m-%d}"
