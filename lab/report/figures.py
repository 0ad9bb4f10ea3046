"""The figures of a comparison: response time CCDF and throughput against ρ, as PNG and SVG."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from textwrap import fill

import matplotlib as mpl

mpl.use("Agg")  # no display needed, and none looked for

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.container import Container
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes, after_warm_up, response_times_s
from lab.analysis.published import published
from lab.palette import Style, styles_of
from lab.results.comparison import ComparisonResult
from lab.results.result import made_at
from lab.titles import title_of
from loadgen.sessions import FIRST_PAGE

Styles = Mapping[str, Style]
"""By the key of the policy."""

_CCDF_UNTIL_S = 40.0
"""LIFO-Pri's Fig. 7 ends there."""
_NOTE_INCHES = 0.24
"""Height of the line that tells where a figure comes from."""
_NOTE_SIZE = 7.5
_LETTER_INCHES = 0.075
"""Width of a letter in a legend, about."""
_ONLY_IN_SOME = 3
"""Lines that only some panels have (a published value, a bound) may join the common legend."""
_LABEL_LETTERS = 28
"""Letters in a line of a legend beside the axes."""


def draw_figures(folder: ComparisonResult, cells: Sequence[Cell]) -> list[Path]:
    """All figures of the complete runs; returns the PNG files."""
    spec = folder.spec()
    if spec.clients:  # neither a ρ nor an end of a session to draw against: the tables say it all
        return []
    folder.figures.mkdir(exist_ok=True)
    style = styles_of(policy.key for policy in spec.policy)
    note = note_of(folder, cells)
    files = [
        save(_ccdf(folder, cells, rho, style), folder.figures / f"ccdf-br1-rho{rho:g}", note)
        for rho in dict.fromkeys(cell.rho for cell in cells)
    ]
    if spec.customers.lengths:  # nobody buys, and the last long session would dilute throughput
        files.append(save(_sessions(cells, style), folder.figures / "sessions", note))
    else:
        figure = _throughput(folder, cells, style)
        files.append(save(figure, folder.figures / "throughput", note))
    return files


def note_of(folder: ComparisonResult, cells: Sequence[Cell]) -> str:
    """Return the line under a figure of a comparison: which experiment, how many runs, when."""
    spec = folder.spec()
    runs = sum(len(cell.runs) for cell in cells)
    words = "run" if runs == 1 else "runs"
    return note(spec.heading, f"{runs} {words}, {spec.load.words()} each", made_at(folder.path))


def note(experiment: str, number: str, when: datetime) -> str:
    """Return the line under a figure; `number` says how many runs or sessions."""
    return f"{experiment} · {number} · {when:%Y-%m-%d}"


def _ccdf(
    folder: ComparisonResult, cells: Sequence[Cell], rho: float | None, style: Styles
) -> Figure:
    """Fig. 7: P(response time of Br-1 > t), pooled over repetitions; who never got it counts."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    runs = [(p, run) for p, run in folder.whole_runs() if p.rho == rho]
    warm_up_s = folder.spec().warm_up_s
    until_s = 0.0
    for policy, (colour, _, dash) in style.items():
        pooled = [
            response_times_s(after_warm_up(run.attempts(), warm_up_s), FIRST_PAGE)
            for planned, run in runs
            if planned.policy == policy
        ]
        if not pooled:
            continue
        times_s = np.sort(np.concatenate(pooled))
        shown = times_s[np.isfinite(times_s)]
        until_s = max(until_s, shown[-1] if len(shown) else 0.0)
        above = 1 - np.arange(1, len(shown) + 1) / len(times_s)
        axes.step(
            np.concatenate([[0.0], shown, [_CCDF_UNTIL_S]]),
            np.concatenate([[1.0], above, [1 - len(shown) / len(times_s)]]),
            where="post",
            color=colour,
            linestyle=dash,
            linewidth=2,
            label=title_of(policy),
        )
    axes.set(
        xlabel="response time t, paper seconds",
        ylabel="share of Br-1 attempts\nnot answered within t",
        ylim=(0, 1.02),
        xlim=(0, min(_CCDF_UNTIL_S, 1.05 * until_s or 1.0)),
        title=f"Response time of the home page (Br-1) at ρ = {rho:g}{_compare(cells, 7)}",
    )
    finish(axes)
    return figure


def _throughput(folder: ComparisonResult, cells: Sequence[Cell], style: Styles) -> Figure:
    """Fig. 6 (throughput against ρ) and, beside it, revenue efficiency."""
    capacity = folder.capacity()
    assert capacity is not None  # the load is open
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _over_rho(left, cells, style, lambda run: run.throughput_rps)
    _over_rho(right, cells, style, lambda run: run.revenue_efficiency_ratio)
    left.axhline(capacity.median_rps, color="0.4", linewidth=1, label=f"{capacity.origin} capacity")
    if any((cell.published, cell.rho) == ("8q-lifo-pri", 2.0) for cell in cells):
        claim = published()["lifo_pri"]["claims"]["lifo_pri_throughput_rps_at_rho_2"]
        left.plot([2.0], [claim], "x", color="0.2", markersize=9, label="8Q-LIFO-Pri, published")
    left.set(
        ylabel="completed requests per paper second",
        title=f"Throughput against load{_compare(cells, 6)}",
    )
    right.axhline(1.0, color="0.4", linewidth=1, linestyle=":", label="capacity bound")
    right.set(ylabel="confirms / capacity bound", title="Revenue efficiency")
    for axes in (left, right):
        _from_zero(axes)
    return figure


def _sessions(cells: Sequence[Cell], style: Styles) -> Figure:
    """The work that was of use, and who of those that were let in got to their end."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _over_rho(left, cells, style, lambda run: run.useful_rps)
    _over_rho(right, cells, style, lambda run: run.fates.completed_of_let_in_ratio)
    left.set(
        ylabel="requests of completed sessions\nper paper second of arrivals",
        title="Useful throughput",
    )
    right.set(ylabel="completed / let in", title="Sessions completed, of those let in")
    for axes in (left, right):
        _from_zero(axes)
    return figure


def _over_rho(
    axes: Axes,
    cells: Sequence[Cell],
    style: Styles,
    figure_of: Callable[[Outcomes], float | None],
) -> None:
    """A figure of the runs against their ρ, a line per policy, with intervals."""
    for policy, (colour, marker, dash) in style.items():
        own = [cell for cell in cells if cell.policy == policy]
        found = [
            (cell.rho, known)
            for cell in own
            if cell.rho is not None and (known := cell.over_known(figure_of))
        ]
        axes.errorbar(
            [rho for rho, _ in found],
            [known.mean for _, known in found],
            yerr=[known.half_width or 0.0 for _, known in found],
            color=colour,
            marker=marker,
            linestyle=dash,
            linewidth=2,
            capsize=4,
            label=title_of(policy),
        )
    loads = sorted({cell.rho for cell in cells if cell.rho is not None})
    axes.set_xlabel("offered load ρ")
    axes.set_xticks(loads, [f"{rho:g}" for rho in loads])
    axes.set_xlim(loads[0] - 0.2, loads[-1] + 0.2)
    finish(axes)


def _compare(cells: Sequence[Cell], number: int) -> str:
    """Which figure of LIFO-Pri shows the same; nothing where none does."""
    return f" (compare Fig. {number})" if any(cell.published for cell in cells) else ""


def _from_zero(axes: Axes) -> None:
    """An axis that begins at 0, or below the lowest interval, and ends above all that is drawn."""
    if axes.dataLim.y0 >= 0:
        axes.set_ylim(bottom=0)


def finish(axes: Axes) -> None:
    """Grid and frame as every figure has them."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def place_legends(figure: Figure) -> None:
    """Put what the lines mean beside the axes: one legend for all that mean the same."""
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
    # One legend for all panels, if every label in it means the same in all of them.
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
    """Colour of a line, a bar or a line with whiskers."""
    if isinstance(handle, Container):
        handle = next(iter(handle))
    if hasattr(handle, "get_color"):
        return to_hex(handle.get_color())
    assert hasattr(handle, "get_facecolor")
    return to_hex(handle.get_facecolor())


def save(figure: Figure, stem: Path, note: str) -> Path:
    """Write `stem`.svg and .png with `note` under the figure and close it; returns the PNG."""
    place_legends(figure)
    sign(figure, note)
    # Not with_suffix(): the ".4" of "rho1.4" is no suffix.
    files = [stem.with_name(stem.name + suffix) for suffix in (".svg", ".png")]
    for file in files:
        # The time of day would make another file of the same figure.
        undated = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, dpi=150, metadata=undated)
    plt.close(figure)
    return files[-1]


def sign(figure: Figure, note: str) -> None:
    """Write where a figure comes from into its lower right corner, below all that is drawn."""
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
