"""The drawing of a figure's panels as PNG and SVG, and its numbers as CSV."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import numpy as np
from matplotlib import pyplot as plt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from lab.files.documents import write_text
from lab.palette import curve_styles
from lab.report.exhibits import Exhibit, Panel, Series
from lab.report.figures import finish, save
from lab.results.metrics import Results

_PANEL_INCHES = (6.2, 4.2)
_STACKED_PANEL_INCHES = (9.5, 2.7)
_ROOM_FOR_NAMES_RATIO = 0.18
"""Of the height of the curves, above them: for the names of parts of the x axis."""
_LETTERS_PER_INCH = 8.5
"""Of a label beside a panel, of the panel's height: a longer one is wrapped."""
_NAME_LINE = 13
"""Letters of a bar's name in a line."""


def draw(exhibit: Exhibit, results: Results, folder: Path, note: str) -> Path:
    """All panels of an exhibit in one figure; returns the SVG, its PNG and CSV are beside it.

    `note` is the line under it: which experiment, how many runs, when.
    """
    panels = exhibit.panels
    columns = 1 if exhibit.stacked else min(2, len(panels))
    width, height = _STACKED_PANEL_INCHES if exhibit.stacked else _PANEL_INCHES
    rows = -(-len(panels) // columns)
    # A fixed salt makes the ids inside an SVG, and so the file, the same every time.
    with rc_context({"svg.hashsalt": exhibit.key}):
        figure, grid = plt.subplots(
            rows,
            columns,
            figsize=(width * columns, height * rows),
            layout="constrained",
            sharex=exhibit.stacked,
            squeeze=False,
        )
        places = list(grid.flat)
        for panel, axes in zip(panels, places, strict=False):
            _draw(panel, [curve.series(results) for curve in panel.curves], axes, height)
            if exhibit.stacked:
                axes.margins(x=0)
            if exhibit.stacked and panel is not panels[-1]:
                axes.set_xlabel("")
        for axes in places[len(panels) :]:
            axes.set_visible(False)
        png = save(figure, folder / exhibit.key, note)
    write_text(folder / f"{exhibit.key}.csv", as_csv(exhibit, results))
    return png.with_name(f"{exhibit.key}.svg")


def draw_freely(exhibit: Exhibit, results: Results, folder: Path, note: str) -> Path:
    """The figure of an exhibit that draws it itself, as `draw`; returns the SVG."""
    assert exhibit.drawing is not None
    with rc_context({"svg.hashsalt": exhibit.key}):
        png = save(exhibit.drawing.draw(results), folder / exhibit.key, note)
    return png.with_name(f"{exhibit.key}.svg")


def as_csv(exhibit: Exhibit, results: Results) -> str:
    """The numbers behind a figure, a line per point; empty where there is none."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(("panel", "curve", "x", "x_name", "mean", "half_width_95", "published"))
    for panel in exhibit.panels:
        for curve in panel.curves:
            series = curve.series(results)
            names = panel.x_names or [""] * len(series.x)
            for x, name, y, half in zip(series.x, names, series.y, series.half_width, strict=True):
                theirs = panel.published.get((series.label, x))
                lines.writerow(
                    (panel.key, series.label, f"{x:g}", name, _number(y), _number(half),
                     _number(theirs))
                )  # fmt: skip
    return text.getvalue()


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _draw(panel: Panel, drawn: Sequence[Series], axes: Axes, height: float) -> None:
    styles = curve_styles([series.label for series in drawn])
    for i, series in enumerate(drawn):
        colour, marker, dash = styles[series.label]
        y = np.array([np.nan if value is None else value for value in series.y], dtype=float)
        half = np.array([value or 0.0 for value in series.half_width])
        if panel.kind == "bars":
            width = 0.8 / len(drawn)
            place = np.arange(len(series.x)) + (i - (len(drawn) - 1) / 2) * width
            axes.bar(place, y, width, color=colour, label=series.label, edgecolor="white",
                     hatch=("", "//", "..", "xx", "--", "\\\\")[i % 6],
                     yerr=half if half.any() else None, capsize=2)  # fmt: skip
        elif panel.kind == "lines":
            axes.errorbar(series.x, y, yerr=half, color=colour, marker=marker, linestyle=dash,
                          linewidth=1.8, markersize=5, capsize=3, label=series.label)  # fmt: skip
        else:
            axes.plot(series.x, y, color=colour, linestyle=dash, linewidth=1.8, label=series.label,
                      drawstyle="steps-post" if panel.kind == "steps" else "default")  # fmt: skip
    _draw_published(panel, drawn, axes)
    _draw_levels(panel, drawn, axes)
    axes.set_xscale(panel.x_scale)
    if panel.x_ticks:
        axes.set_xticks(panel.x_ticks, [panel.x_format(x) for x in panel.x_ticks])
        axes.minorticks_off()
    letters = int(_LETTERS_PER_INCH * height)
    axes.set(xlabel=panel.x_label, ylabel=fill(panel.y_label, letters))
    axes.set_title(f"{panel.key}: {panel.title}", fontsize=11)
    if panel.stretches:
        axes.margins(y=_ROOM_FOR_NAMES_RATIO)
    axes.set_ylim(bottom=panel.y_from, top=panel.y_to)
    if panel.kind == "bars" and panel.x_names:
        axes.set_xticks(
            range(len(panel.x_names)), [fill(name, _NAME_LINE) for name in panel.x_names]
        )
    finish(axes)


def _draw_published(panel: Panel, drawn: Sequence[Series], axes: Axes) -> None:
    labelled = False
    for i, series in enumerate(drawn):
        for k, x in enumerate(series.x):
            theirs = panel.published.get((series.label, x))
            if theirs is None:
                continue
            width = 0.8 / len(drawn)
            place = k + (i - (len(drawn) - 1) / 2) * width if panel.kind == "bars" else x
            axes.plot([place], [theirs], "X", color="black", markeredgecolor="white", markersize=9,
                      zorder=5, label=None if labelled else "published")  # fmt: skip
            labelled = True


def _draw_levels(panel: Panel, drawn: Sequence[Series], axes: Axes) -> None:
    """What was published over parts of the x axis, and the parts that have a name."""
    styles = curve_styles([series.label for series in drawn])
    for i, level in enumerate(panel.levels):
        width = level.until_x - level.from_x
        place, height = (level.from_x, level.low), level.high - level.low
        colour, _, dash = styles[level.label]
        axes.add_patch(Rectangle(place, width, height, facecolor=colour, alpha=0.18, zorder=1))
        for y in {level.low, level.high}:
            ends = [level.from_x, level.until_x]
            axes.plot(ends, [y, y], color="black", linewidth=4.4, solid_capstyle="butt", zorder=5)
            # Two that were the same are both seen: the later one has gaps.
            axes.plot(ends, [y, y], color=colour, linewidth=2.4, linestyle=dash,
                      solid_capstyle="butt", dash_capstyle="butt", zorder=6 + 0.1 * i)  # fmt: skip
        if i == 0:
            axes.plot([], [], color="black", linewidth=4.4, label="published")
    for stretch in panel.stretches:
        axes.axvspan(stretch.from_x, stretch.until_x, color="0.5", alpha=0.1, linewidth=0)
        for edge in (stretch.from_x, stretch.until_x):
            axes.axvline(edge, color="0.7", linewidth=0.8, zorder=1)
        axes.annotate(
            stretch.name,
            ((stretch.from_x + stretch.until_x) / 2, 0.97),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="top",
            color="0.3",
            fontweight="bold",
        )
