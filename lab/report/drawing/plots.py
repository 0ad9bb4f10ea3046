"""The kinds of plot: curves with intervals, bars, published values, heat tables, time courses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from lab.report.drawing.figure import new_figure
from lab.report.drawing.palette import COLOURS, Style, curve_styles
from lab.report.drawing.pictures import (
    Course,
    Courses,
    Heat,
    Level,
    PanelKind,
    Picture,
    Series,
    Stretch,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "//", "..", "xx", "--", "\\\\")
_GROUP = 0.8
"""The width of a group of bars. The distance between the centres of two groups is 1."""
_MAP = "cividis"
"""A colour map whose colours also differ for colour-blind readers and in grey prints."""
_CELL_INCHES = (0.82, 0.3)
_NAMES_INCHES = 2.4


# ---- curves --------------------------------------------------------------------------------------


def draw_series(axes: Axes, kind: PanelKind, drawn: Sequence[Series]) -> None:
    """Draw the curves of a panel in the styles of `curve_styles`."""
    styles = curve_styles([series.label for series in drawn])
    for number, series in enumerate(drawn):
        style = styles[series.label]
        if kind == "bars":
            _group_of_bars(axes, series, style, number, len(drawn))
        elif kind == "lines":
            curve(axes, series, style)
        else:
            axes.plot(series.x, _numbers(series.y), color=style.colour, linestyle=style.dash,
                      linewidth=1.8, label=series.label,
                      drawstyle="steps-post" if kind == "steps" else "default")  # fmt: skip


def curve(axes: Axes, series: Series, style: Style) -> None:
    """Draw a curve with a marker and an interval at each x."""
    half = np.array([value or 0.0 for value in series.half_width])
    axes.errorbar(series.x, _numbers(series.y), yerr=half, color=style.colour, marker=style.marker,
                  linestyle=style.dash, linewidth=1.8, markersize=5, capsize=3,
                  label=series.label)  # fmt: skip


def staircase(axes: Axes, x: Sequence[float], y: Sequence[float], style: Style, label: str) -> None:
    """Draw a distribution as a curve that falls in steps."""
    axes.step(x, y, where="post", color=style.colour, linestyle=style.dash, linewidth=2,
              label=label)  # fmt: skip


def _numbers(values: Sequence[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def _group_of_bars(axes: Axes, series: Series, style: Style, number: int, of: int) -> None:
    half = np.array([value or 0.0 for value in series.half_width])
    axes.bar(_places(len(series.x), number, of), _numbers(series.y), _GROUP / of,
             color=style.colour, label=series.label, edgecolor="white",
             hatch=_HATCHES[number % len(_HATCHES)], yerr=half if half.any() else None,
             capsize=2)  # fmt: skip


def _places(groups: int, number: int, of: int) -> list[float]:
    return [group + (number - (of - 1) / 2) * _GROUP / of for group in range(groups)]


def draw_published(
    axes: Axes,
    kind: PanelKind,
    drawn: Sequence[Series],
    published: Mapping[tuple[str, float], float],
) -> None:
    """Draw a cross for each published value. A key of `published` is a curve's label and an x."""
    labelled = False
    for number, series in enumerate(drawn):
        bars = _places(len(series.x), number, len(drawn))
        for x, bar in zip(series.x, bars, strict=True):
            theirs = published.get((series.label, x))
            if theirs is None:
                continue
            place = bar if kind == "bars" else x
            axes.plot([place], [theirs], "X", color="black", markeredgecolor="white", markersize=9,
                      zorder=5, label=None if labelled else "published")  # fmt: skip
            labelled = True


def draw_levels(axes: Axes, drawn: Sequence[Series], levels: Sequence[Level]) -> None:
    """Draw the published values that apply to parts of the x axis."""
    from matplotlib.patches import Rectangle

    styles = curve_styles([series.label for series in drawn])
    for i, level in enumerate(levels):
        width = level.until_x - level.from_x
        place, height = (level.from_x, level.low), level.high - level.low
        colour, _, dash = styles[level.label]
        axes.add_patch(Rectangle(place, width, height, facecolor=colour, alpha=0.18, zorder=1))
        for y in dict.fromkeys((level.low, level.high)):
            ends = [level.from_x, level.until_x]
            axes.plot(ends, [y, y], color="black", linewidth=4.4, solid_capstyle="butt", zorder=5)
            # The later of two equal lines has gaps, so that both are visible.
            axes.plot(ends, [y, y], color=colour, linewidth=2.4, linestyle=dash,
                      solid_capstyle="butt", dash_capstyle="butt", zorder=6 + 0.1 * i)  # fmt: skip
        if i == 0:
            axes.plot([], [], color="black", linewidth=4.4, label="published")


def draw_stretches(axes: Axes, stretches: Sequence[Stretch]) -> None:
    """Shade the named parts of the x axis, and write their names."""
    for stretch in stretches:
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


# ---- bars of the gallery -------------------------------------------------------------------------


def named_bars(
    axes: Axes, names: Iterable[str], heights: Sequence[float], text: Callable[[float], str]
) -> None:
    """Draw a bar for each name in the colour of its policy, with the height as text above it."""
    titles = list(names)
    axes.bar(titles, heights, color=[style.colour for style in curve_styles(titles).values()])
    for place, height in enumerate(heights):
        axes.annotate(text(height), (place, height), ha="center", va="bottom")


def paired_bars(
    axes: Axes, names: Sequence[str], pairs: Mapping[str, tuple[Sequence[float], str]]
) -> None:
    """Draw two bars side by side for each name. `pairs` has the heights and the colour by label."""
    for offset, (label, (heights, colour)) in enumerate(pairs.items()):
        places = [place + 0.4 * offset for place in range(len(names))]
        axes.bar(places, heights, 0.38, color=colour, label=label)
    axes.set_xticks([place + 0.2 for place in range(len(names))], names)


def stacked_bars(
    axes: Axes, names: Sequence[str], parts: Mapping[str, tuple[Sequence[float], str]]
) -> None:
    """Draw a horizontal bar for each name. `parts` has the lengths and the colour of each part."""
    left = [0.0] * len(names)
    for label, (lengths, colour) in parts.items():
        axes.barh(names, lengths, left=left, color=colour, label=label)
        left = [begin + length for begin, length in zip(left, lengths, strict=True)]
    axes.invert_yaxis()


def lying_bars(axes: Axes, names: Sequence[str], drawn: Sequence[Series]) -> None:
    """Draw a group of horizontal bars with intervals for each name."""
    height = _GROUP / len(drawn)
    for number, (series, colour) in enumerate(zip(drawn, cycle(COLOURS), strict=False)):
        places = [x + (number + 0.5) * height - _GROUP / 2 for x in series.x]
        axes.barh(places, _numbers(series.y), height, color=colour,
                  xerr=[half or 0.0 for half in series.half_width],
                  label=series.label)  # fmt: skip
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()


def bars_with_intervals(
    axes: Axes, names: Sequence[str], series: Series, colours: Sequence[str]
) -> None:
    """Draw a bar with its interval for each name, and the height of the bar as a whole number above
    it."""
    bars = axes.bar(
        names,
        _numbers(series.y),
        color=colours,
        yerr=[half or 0.0 for half in series.half_width],
        capsize=6,
    )
    axes.bar_label(bars, [f"{height:.0f}" for height in _numbers(series.y)], padding=3)
    axes.margins(y=0.15)  # space for the numbers above the intervals


# ---- pictures ------------------------------------------------------------------------------------


def draw_picture(picture: Picture) -> Figure:
    """Draw a picture: a heat table, or a small plot for each policy."""
    return heat_table(picture) if isinstance(picture, Heat) else small_multiples(picture)


def heat_table(heat: Heat) -> Figure:
    """Draw a table of numbers. The colour of a cell depends on its number."""
    width = _NAMES_INCHES + _CELL_INCHES[0] * len(heat.columns)
    height = 1.2 + _CELL_INCHES[1] * len(heat.rows)
    figure, (axes,) = new_figure(1, 1, (width, height))
    values = np.array([_numbers(row) for row in heat.values], dtype=float)
    image = axes.imshow(values, cmap=_MAP, vmin=heat.low, vmax=heat.high, aspect="auto")
    for y, row in enumerate(heat.values):
        for x, value in enumerate(row):
            if value is None:
                text, colour = "–", "0.4"
            else:
                place = (value - heat.low) / (heat.high - heat.low)
                text, colour = f"{value:.{heat.digits}f}", "black" if place > 0.5 else "white"
            axes.text(x, y, text, ha="center", va="center", color=colour, fontsize=9)
    axes.set_xticks(range(len(heat.columns)), heat.columns)
    axes.set_yticks(range(len(heat.rows)), heat.rows)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    figure.colorbar(image, ax=axes, label=heat.scale, fraction=0.04, pad=0.02)
    return figure


def small_multiples(shown: Courses) -> Figure:
    """Draw a small picture for each policy: the response time over time, with the queue length
    shaded behind it."""
    number = len(shown.courses)
    columns = min(4, max(1, number))
    rows = -(-number // columns)
    inches = (3.1 * columns, 1.9 * rows + 0.6)
    figure, places = new_figure(rows, columns, inches, shares_x=True, shares_y=True)
    for course, axes in zip(shown.courses, places, strict=False):
        _course(course, axes, shown.rush_s, shown.ceiling_s)
    for axes in places[number:]:
        axes.set_visible(False)
    for axes in places[max(0, number - columns) : number]:
        axes.set_xlabel("paper seconds since the rush ended", fontsize=8)
        axes.tick_params(labelbottom=True)
    figure.supylabel("response time p95, paper s", fontsize=10)
    return figure


def _course(course: Course, axes: Axes, rush_s: float, ceiling_s: float) -> None:
    shown = [np.nan if value is None else min(value, ceiling_s) for value in course.response_s]
    behind = axes.twinx()
    behind.fill_between(course.time_s, course.waiting, step="post", color=COLOURS[1], alpha=0.25,
                        linewidth=0)  # fmt: skip
    most = max(1.0, max(course.waiting, default=0.0))
    behind.set_ylim(0, 1.05 * most)  # one scale for each panel
    behind.set_yticks([most], [f"{most:,.0f} wait"])
    behind.tick_params(labelsize=7, colors=COLOURS[1])
    behind.spines[["top"]].set_visible(False)
    axes.set_zorder(behind.get_zorder() + 1)  # draw the line over the shade
    axes.patch.set_visible(False)
    axes.axvspan(-rush_s, 0, color="0.5", alpha=0.18, linewidth=0)
    axes.plot(course.time_s, shown, color=COLOURS[0], linewidth=1.1)
    if course.recovered_s is not None:
        axes.axvline(course.recovered_s, color=COLOURS[2], linestyle="--", linewidth=1.2)
    axes.set_title(f"{course.title}: {course.ending}", fontsize=8)
    axes.set_ylim(0, 1.05 * ceiling_s)
    axes.tick_params(labelsize=7)
    axes.spines[["top"]].set_visible(False)
    axes.grid(alpha=0.3)
