"""The pictures of the leaderboard: heat tables, and small multiples over time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.leaderboard.recovery import NOT_NORMAL
from lab.palette import COLOURS

_MAP = "cividis"
"""Told apart by colour-blind eyes, and in grey."""
_CELL_INCHES = (0.82, 0.3)
_NAMES_INCHES = 2.4


@dataclass(frozen=True, slots=True)
class Heat:
    """Numbers by row and column; None where there is none. Colours go from `low` to `high`."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    low: float
    high: float
    digits: int
    scale: str
    """What the colours mean."""


def heat_table(heat: Heat) -> Figure:
    """A table whose cells are coloured by their numbers, which stand in them."""
    width = _NAMES_INCHES + _CELL_INCHES[0] * len(heat.columns)
    height = 1.2 + _CELL_INCHES[1] * len(heat.rows)
    figure, axes = plt.subplots(figsize=(width, height), layout="constrained")
    values = np.array(
        [[np.nan if value is None else value for value in row] for row in heat.values], dtype=float
    )
    colours = colormaps[_MAP]
    image = axes.imshow(values, cmap=colours, vmin=heat.low, vmax=heat.high, aspect="auto")
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


@dataclass(frozen=True, slots=True)
class Course:
    """One policy before, during and after the rush; times since the rush's end, paper s."""

    title: str
    time_s: Sequence[float]
    response_s: Sequence[float | None]
    """95th percentile; inf while too many leave, None where nobody's request ended."""
    waiting: Sequence[float]
    recovered_s: float | None
    """None: not within what was watched."""
    was_normal: bool
    """Whether it was well before the rush, so that it could be again."""


def small_multiples(courses: Sequence[Course], rush_s: float, ceiling_s: float) -> Figure:
    """A small picture per policy: response time over time, the queue shaded behind it.

    Response times above `ceiling_s`, and those of customers who leave, are drawn at the top.
    """
    columns = min(4, max(1, len(courses)))
    rows = -(-len(courses) // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(3.1 * columns, 1.9 * rows + 0.6), layout="constrained",
        sharex=True, sharey=True, squeeze=False,
    )  # fmt: skip
    places = list(grid.flat)
    for course, axes in zip(courses, places, strict=False):
        _course(course, axes, rush_s, ceiling_s)
    for axes in places[len(courses) :]:
        axes.set_visible(False)
    for axes in places[max(0, len(courses) - columns) : len(courses)]:
        axes.set_xlabel("paper s since the rush ended", fontsize=8)
        axes.tick_params(labelbottom=True)
    figure.supylabel("response time p95, paper s", fontsize=10)
    return figure


def _course(course: Course, axes: Axes, rush_s: float, ceiling_s: float) -> None:
    shown = [np.nan if value is None else min(value, ceiling_s) for value in course.response_s]
    behind = axes.twinx()
    behind.fill_between(course.time_s, course.waiting, step="post", color=COLOURS[1], alpha=0.25,
                        linewidth=0)  # fmt: skip
    most = max(1.0, max(course.waiting, default=0.0))
    behind.set_ylim(0, 1.05 * most)  # each its own: a hundred would be nothing beside thousands
    behind.set_yticks([most], [f"{most:,.0f} wait"])
    behind.tick_params(labelsize=7, colors=COLOURS[1])
    behind.spines[["top"]].set_visible(False)
    axes.set_zorder(behind.get_zorder() + 1)  # the line over the shade
    axes.patch.set_visible(False)
    axes.axvspan(-rush_s, 0, color="0.5", alpha=0.18, linewidth=0)
    axes.plot(course.time_s, shown, color=COLOURS[0], linewidth=1.1)
    if course.recovered_s is not None:
        axes.axvline(course.recovered_s, color=COLOURS[2], linestyle="--", linewidth=1.2)
    if course.recovered_s is not None:
        ending = f"{course.recovered_s:.0f} s"
    else:
        ending = "stays" if course.was_normal else NOT_NORMAL
    axes.set_title(f"{course.title}: {ending}", fontsize=8)
    axes.set_ylim(0, 1.05 * ceiling_s)
    axes.tick_params(labelsize=7)
    axes.spines[["top"]].set_visible(False)
    axes.grid(alpha=0.3)
