"""The files of a study's figure: its panels as PNG and SVG, and its numbers as CSV."""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from lab.files.documents import write_text
from lab.report.drawing.figure import finish, new_figure, reproducible, save
from lab.report.drawing.plots import (
    draw_levels,
    draw_picture,
    draw_published,
    draw_series,
    draw_stretches,
)
from lab.report.drawing.table import csv_text
from lab.report.study_figures import Figure, Panel
from lab.results.metrics import Results

if TYPE_CHECKING:
    from lab.report.drawing.figure import Axes

_PANEL_INCHES = (6.2, 4.2)
_STACKED_PANEL_INCHES = (9.5, 2.7)
_ROOM_FOR_NAMES_RATIO = 0.18
"""The space above the curves for the names of `stretches`, as a share of the curves' height."""
_LETTERS_PER_INCH = 8.5
"""A label next to a panel is wrapped if it has more than this number of letters per inch of the
panel's height."""
_NAME_LINE = 13
"""The number of letters per line in the name of a bar."""


def draw(figure: Figure, results: Results, folder: Path, note: str) -> Path:
    """Draw all panels of a figure as SVG and PNG, and write its CSV. Return the SVG. `note` is the
    line under the figure: the experiment, the number of runs and the date."""
    panels = figure.panels
    columns = 1 if figure.stacked else min(2, len(panels))
    width, height = _STACKED_PANEL_INCHES if figure.stacked else _PANEL_INCHES
    rows = -(-len(panels) // columns)
    with reproducible(figure.key):
        inches = (width * columns, height * rows)
        canvas, places = new_figure(rows, columns, inches, shares_x=figure.stacked)
        for panel, axes in zip(panels, places, strict=False):
            _draw(panel, results, axes, height)
            if figure.stacked:
                axes.margins(x=0)
            if figure.stacked and panel is not panels[-1]:
                axes.set_xlabel("")
        for axes in places[len(panels) :]:
            axes.set_visible(False)
        png = save(canvas, folder / figure.key, note)
    write_text(folder / f"{figure.key}.csv", as_csv(figure, results))
    return png.with_name(f"{figure.key}.svg")


def draw_freely(figure: Figure, results: Results, folder: Path, note: str) -> Path:
    """Draw a figure without panels as SVG and PNG, without CSV. Return the SVG."""
    assert figure.drawing is not None
    with reproducible(figure.key):
        canvas = draw_picture(figure.drawing.picture(results))
        png = save(canvas, folder / figure.key, note)
    return png.with_name(f"{figure.key}.svg")


def as_csv(figure: Figure, results: Results) -> str:
    """Return the numbers of a figure as CSV, with a line for each point."""
    lines = [("panel", "curve", "x", "x_name", "mean", "half_width_95", "published")]
    for panel in figure.panels:
        for curve in panel.curves:
            series = curve.series(results)
            names = panel.x_names or [""] * len(series.x)
            for x, name, y, half in zip(series.x, names, series.y, series.half_width, strict=True):
                theirs = panel.published.get((series.label, x))
                lines.append(
                    (panel.key, series.label, f"{x:g}", name, _number(y), _number(half),
                     _number(theirs))
                )  # fmt: skip
    return csv_text(lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _draw(panel: Panel, results: Results, axes: Axes, height: float) -> None:
    drawn = [curve.series(results) for curve in panel.curves]
    draw_series(axes, panel.kind, drawn)
    draw_published(axes, panel.kind, drawn, panel.published)
    draw_levels(axes, drawn, panel.levels)
    draw_stretches(axes, panel.stretches)
    axes.set_xscale(panel.x_scale)
    if panel.x_ticks:
        axes.set_xticks(panel.x_ticks, [panel.x_format(x) for x in panel.x_ticks])
        axes.minorticks_off()
    axes.set(xlabel=panel.x_label, ylabel=fill(panel.y_label, int(_LETTERS_PER_INCH * height)))
    axes.set_title(f"{panel.key}: {panel.title}", fontsize=11)
    if panel.stretches:
        axes.margins(y=_ROOM_FOR_NAMES_RATIO)
    axes.set_ylim(bottom=panel.y_from, top=panel.y_to)
    if panel.kind == "bars" and panel.x_names:
        names = [fill(name, _NAME_LINE) for name in panel.x_names]
        axes.set_xticks(range(len(names)), names)
    finish(axes)
