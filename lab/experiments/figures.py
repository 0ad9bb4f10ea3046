"""The figures of a comparison: response time CCDF and throughput against ρ, as PNG and SVG.

Owns: what is drawn. Must not know: how runs are made.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no display needed, and none looked for

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.capacity import from_json
from lab.experiments.cells import Cell
from lab.experiments.outcomes import Outcomes, after_warm_up, response_times_s
from lab.experiments.published import published
from lab.experiments.results import ResultFolder
from lab.experiments.titles import title_of
from loadgen.sessions import FIRST_PAGE

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's, told apart by most colour-blind eyes."""
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "--", "-.", ":")
LABELS_INSIDE = 8
"""A legend with more of them is beside the axes, not over the lines."""

Styles = Mapping[str, tuple[str, str, str]]
"""Colour, marker and dash by the key of the policy."""

_CCDF_UNTIL_S = 40.0


def draw_figures(folder: ResultFolder, cells: Sequence[Cell]) -> list[Path]:
    """All figures of the complete runs; returns the PNG files."""
    spec = folder.spec()
    if spec.clients:  # neither a ρ nor an end of a session to draw against: the tables say it all
        return []
    folder.figures.mkdir(exist_ok=True)
    style = {policy.key: style_of(number) for number, policy in enumerate(spec.policy)}
    files = [
        save(_ccdf(folder, rho, style), folder.figures / f"ccdf-br1-rho{rho:g}")
        for rho in dict.fromkeys(cell.rho for cell in cells)
    ]
    if spec.customers.lengths:  # nobody buys, and the last long session would dilute throughput
        files.append(save(_sessions(cells, style), folder.figures / "sessions"))
    else:
        files.append(save(_throughput(folder, cells, style), folder.figures / "throughput"))
    return files


def style_of(number: int) -> tuple[str, str, str]:
    """Colour, marker and dash of a line; of the first 24 no two have both colour and dash alike."""
    colour, again = number % len(COLOURS), number // len(COLOURS)
    shifted = colour + again
    return COLOURS[colour], MARKERS[shifted % len(MARKERS)], DASHES[shifted % len(DASHES)]


def _ccdf(folder: ResultFolder, rho: float | None, style: Styles) -> Figure:
    """Fig. 7: P(response time of Br-1 > t), pooled over repetitions; who never got it counts."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    runs = [(p, run) for p, run in folder.whole_runs() if p.rho == rho]
    warm_up_s = folder.spec().warm_up_s
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
        xlim=(0, _CCDF_UNTIL_S),
        title=f"Response time of the main page at ρ = {rho:g} (compare Fig. 7)",
    )
    finish(axes)
    return figure


def _throughput(folder: ResultFolder, cells: Sequence[Cell], style: Styles) -> Figure:
    """Fig. 6 (throughput against ρ) and, beside it, revenue efficiency."""
    capacity = from_json(folder.facts("capacity"))
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _over_rho(left, cells, style, lambda run: run.throughput_rps)
    _over_rho(right, cells, style, lambda run: run.revenue_efficiency_ratio)
    left.axhline(capacity.median_rps, color="0.4", linewidth=1)
    place = (0.02, capacity.median_rps)
    left.annotate(f"{capacity.origin} capacity", place, xycoords=("axes fraction", "data"),
                  va="bottom", fontsize=9, color="0.3")  # fmt: skip
    if any((cell.published, cell.rho) == ("8q-lifo-pri", 2.0) for cell in cells):
        claim = published()["lifo_pri"]["claims"]["lifo_pri_throughput_rps_at_rho_2"]
        left.plot([2.0], [claim], "x", color="0.2", markersize=9, label="8Q-LIFO-Pri, published")
        finish(left)
    left.set(
        ylabel="completed requests per paper second",
        title="Throughput against load (compare Fig. 6)",
        ylim=(0, 1.15 * capacity.median_rps),
    )
    right.set(ylabel="confirms / capacity bound", title="Revenue efficiency", ylim=(0, 1.1))
    return figure


def _sessions(cells: Sequence[Cell], style: Styles) -> Figure:
    """The work that was of use, and who of those that were let in got to their end."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _over_rho(left, cells, style, lambda run: run.useful_rps)
    _over_rho(right, cells, style, lambda run: run.fates.completed_of_admitted_ratio)
    left.set(
        ylabel="requests of completed sessions\nper paper second of arrivals",
        title="Useful throughput",
        ylim=(0, None),
    )
    right.set(
        ylabel="completed / admitted", title="Sessions completed, of the admitted", ylim=(0, 1.1)
    )
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
        found = [(cell.rho, known) for cell in own if (known := cell.over_known(figure_of))]
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
    loads = sorted({cell.rho for cell in cells})
    axes.set_xlabel("offered load ρ")
    axes.set_xticks(loads, [f"{rho:g}" for rho in loads])
    axes.set_xlim(loads[0] - 0.2, loads[-1] + 0.2)
    finish(axes)


def finish(axes: Axes) -> None:
    """Grid, frame and legend as every figure has them."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    if len(axes.get_legend_handles_labels()[1]) <= LABELS_INSIDE:
        axes.legend(frameon=False)
    else:
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize="x-small")


def save(figure: Figure, stem: Path) -> Path:
    """Write `stem`.svg and .png and close the figure; returns the PNG."""
    # Not with_suffix(): the ".4" of "rho1.4" is no suffix.
    files = [stem.with_name(stem.name + suffix) for suffix in (".svg", ".png")]
    for file in files:
        # The time of day would make another file of the same figure.
        undated = {"Date": None} if file.suffix == ".svg" else None
        figure.savefig(file, dpi=150, metadata=undated)
    plt.close(figure)
    return files[-1]
