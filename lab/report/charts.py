"""The figure of an exhibit: its panels as PNG and SVG, and its numbers as CSV."""

import csv
import io
from pathlib import Path
from textwrap import fill

from lab.files.documents import write_text
from lab.report.drawing.figure import Axes, finish, new_figure, reproducible, save
from lab.report.drawing.plots import (
    draw_levels,
    draw_picture,
    draw_published,
    draw_series,
    draw_stretches,
)
from lab.report.exhibits import Exhibit, Panel
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
    with reproducible(exhibit.key):
        inches = (width * columns, height * rows)
        figure, places = new_figure(rows, columns, inches, shares_x=exhibit.stacked)
        for panel, axes in zip(panels, places, strict=False):
            _draw(panel, results, axes, height)
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
    """The figure of an exhibit that is no set of panels, as `draw`; returns the SVG."""
    assert exhibit.drawing is not None
    with reproducible(exhibit.key):
        figure = draw_picture(exhibit.drawing.picture(results))
        png = save(figure, folder / exhibit.key, note)
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


def _draw(panel: Panel, results: Results, axes: Axes, height: float) -> None:
    """Draw a panel of this height in inches."""
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
