"""The common parts of all figures: size, style, legends, footer and files.

Matplotlib takes half a second to import. Most commands draw nothing, so functions import it when
they draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure

GALLERY_INCHES = (6.4, 3.6)
"""The width and height of a picture in the gallery, in inches."""
_NOTE_INCHES = 0.24
"""The height of the line that shows the origin of a figure, in inches."""
_NOTE_SIZE = 7.5
_LETTER_INCHES = 0.075
"""The approximate width of a letter in a legend, in inches."""
_ONLY_IN_SOME = 3
"""A common legend has at most this number of lines that are not in all panels."""
_LABEL_LETTERS = 28
"""The number of letters per line in a legend next to the axes."""


def new_figure(
    rows: int,
    columns: int,
    inches: tuple[float, float],
    *,
    shares_x: bool = False,
    shares_y: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Return a figure of this width and height, and its axes row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=inches, layout="constrained")
    grid = figure.subplots(rows, columns, sharex=shares_x, sharey=shares_y, squeeze=False)
    return figure, list(grid.flat)


@contextmanager
def reproducible(key: str) -> Iterator[None]:
    """Use the same ids in an SVG every time, so that the file is reproducible."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": key}):
        yield


@contextmanager
def gallery_picture(name: str) -> Iterator[None]:
    """Use the gallery's style in this block: large letters, which remain text in the SVG."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": name, "font.size": 11, "svg.fonttype": "none"}):
        yield


def note(experiment: str, number: str, when: datetime) -> str:
    """Return the line under a figure. `number` is the number of runs or sessions as text."""
    return f"{experiment} · {number} · {when:%Y-%m-%d}"


def from_zero(axes: Axes) -> None:
    """Let the y axis begin at 0 if no drawn value or interval is negative."""
    if axes.dataLim.y0 >= 0:
        axes.set_ylim(bottom=0)


def finish(axes: Axes) -> None:
    """Draw the grid, and remove the frame's top and right side."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def place_legends(figure: Figure) -> None:
    """Draw one legend above all panels if nearly all lines are in every panel, otherwise one legend
    next to each panel."""
    drawn = {
        axes: dict(zip(labels, handles, strict=True))
        for axes in figure.axes
        for handles, labels in [axes.get_legend_handles_labels()]
        if labels and axes.get_visible() and axes.get_legend() is None
    }
    together: dict[str, Artist] = {}
    looks = set()
    for each in sorted(drawn.values(), key=len, reverse=True):
        for label, handle in each.items():
            together.setdefault(label, handle)
            looks.add((label, _colour(handle)))
    if not together:
        return
    in_all = set.intersection(*map(set, drawn.values()))
    only_in_some = len(together) - len(in_all)
    # The panels get one legend if each label has the same style in every panel.
    if in_all and len(looks) == len(together) and only_in_some <= _ONLY_IN_SOME:
        together = dict(sorted(together.items(), key=lambda one: one[0] not in in_all))
        width = max(map(len, together)) * _LETTER_INCHES + 0.6
        rows = -(-len(together) // max(1, int(figure.get_figwidth() / width)))
        columns = -(-len(together) // rows)
        figure.legend(
            list(together.values()),
            list(together),
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            fontsize=9,
        )
        return
    for axes, of_axes in drawn.items():
        axes.legend(
            list(of_axes.values()),
            [fill(label, _LABEL_LETTERS) for label in of_axes],
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            frameon=False,
            fontsize="small",
        )


def _colour(handle: Artist) -> str:
    from matplotlib.colors import to_hex
    from matplotlib.container import Container

    if isinstance(handle, Container):
        handle = next(iter(handle))
    if hasattr(handle, "get_color"):
        return to_hex(handle.get_color())
    assert hasattr(handle, "get_facecolor")
    return to_hex(handle.get_facecolor())


def save(figure: Figure, stem: Path, note: str) -> Path:
    """Write a figure with `note` under it as `stem`.svg and .png, and return the PNG."""
    place_legends(figure)
    sign(figure, note)
    # Not with_suffix(): ".4" in "rho1.4" would count as a suffix.
    files = [stem.with_name(stem.name + suffix) for suffix in (".svg", ".png")]
    for file in files:
        # A time of day would change the file of an unchanged figure.
        undated = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, dpi=150, metadata=undated)
    return files[-1]


def save_gallery_picture(figure: Figure, path: Path) -> Path:
    """Write a picture for the gallery as SVG, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    return path


def sign(figure: Figure, note: str) -> None:
    """Write the origin of a figure into its lower right corner, below all drawn parts."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = figure.get_size_inches()
    lines = fill(note, int(15 * width)).count("\n") + 1
    bottom = (_NOTE_INCHES + 0.13 * (lines - 1)) / height
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine)
    engine.set(rect=(0.0, bottom, 1.0, 1.0 - bottom))
    figure.text(
        1 - 0.1 / width,
        0.06 / height,
        fill(note, int(15 * width)),
        ha="right",
        va="bottom",
        fontsize=_NOTE_SIZE,
        color="0.35",
        in_layout=False,
    )
