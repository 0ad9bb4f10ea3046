"""The figures of a comparison: response time CCDF and throughput against ρ, as PNG and SVG.

Owns: what is drawn. Must not know: how runs are made.
"""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")  # no display needed, and none looked for

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lab.experiments.cells import Cell
from lab.experiments.intervals import estimate
from lab.experiments.outcomes import response_times_s
from lab.experiments.published import published
from lab.experiments.results import ResultFolder
from lab.experiments.titles import title_of
from loadgen.sessions import FIRST_PAGE

STYLES = (
    ("#D55E00", "o", "-"),
    ("#0072B2", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#E69F00", "v", "-"),
    ("#56B4E9", "P", "--"),
)
"""Okabe and Ito's colours, told apart by most colour-blind eyes; a marker and a dash each."""

_CCDF_UNTIL_S = 40.0


def draw_figures(folder: ResultFolder, cells: Sequence[Cell]) -> list[Path]:
    """All figures of the complete runs; returns the PNG files."""
    folder.figures.mkdir(exist_ok=True)
    style = {policy.key: STYLES[i % 6] for i, policy in enumerate(folder.spec().policy)}
    files = [
        save(_ccdf(folder, rho, style), folder.figures / f"ccdf-br1-rho{rho:g}")
        for rho in dict.fromkeys(cell.rho for cell in cells)
    ]
    files.append(save(_over_rho(folder, cells, style), folder.figures / "throughput"))
    return files


def _ccdf(folder: ResultFolder, rho: float, style: dict[str, tuple[str, str, str]]) -> Figure:
    """Fig. 7: P(response time of Br-1 > t), pooled over repetitions; who never got it counts."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    runs = [(p, run) for p, run in folder.whole_runs() if p.rho == rho]
    for policy, (colour, _, dash) in style.items():
        pooled = [response_times_s(r.attempts(), FIRST_PAGE) for p, r in runs if p.policy == policy]
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


def _over_rho(
    folder: ResultFolder, cells: Sequence[Cell], style: dict[str, tuple[str, str, str]]
) -> Figure:
    """Fig. 6 (throughput against ρ) and, beside it, revenue efficiency."""
    capacity_rps = folder.facts("capacity")["median_rps"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for policy, (colour, marker, dash) in style.items():
        own = [cell for cell in cells if cell.policy == policy]
        drawn = {"color": colour, "marker": marker, "linestyle": dash, "linewidth": 2, "capsize": 4}
        label = title_of(policy)
        for axes, figure_of in (
            (left, lambda run: run.throughput_rps),
            (right, lambda run: run.revenue_efficiency_ratio or 0.0),
        ):
            found = [estimate([figure_of(run) for run in cell.runs]) for cell in own]
            axes.errorbar(
                [cell.rho for cell in own],
                [one.mean for one in found],
                yerr=[one.half_width or 0.0 for one in found],
                label=label,
                **drawn,
            )
    left.axhline(capacity_rps, color="0.4", linewidth=1)
    left.annotate("measured capacity", (0.02, capacity_rps), xycoords=("axes fraction", "data"),
                  va="bottom", fontsize=9, color="0.3")  # fmt: skip
    claim = published()["lifo_pri"]["claims"]["lifo_pri_throughput_rps_at_rho_2"]
    if any(cell.rho == 2.0 for cell in cells):
        left.plot([2.0], [claim], "x", color="0.2", markersize=9, label="8Q-LIFO-Pri, published")
    left.set(
        xlabel="offered load ρ",
        ylabel="completed requests per paper second",
        title="Throughput against load (compare Fig. 6)",
        ylim=(0, 1.15 * capacity_rps),
    )
    right.set(
        xlabel="offered load ρ",
        ylabel="confirms / capacity bound",
        title="Revenue efficiency",
        ylim=(0, 1.1),
    )
    loads = sorted({cell.rho for cell in cells})
    for axes in (left, right):
        axes.set_xticks(loads, [f"{rho:g}" for rho in loads])
        axes.set_xlim(loads[0] - 0.2, loads[-1] + 0.2)
        finish(axes)
    return figure


def finish(axes: Axes) -> None:
    """Grid, frame and legend as every figure has them."""
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


def save(figure: Figure, stem: Path) -> Path:
    """Write `stem`.svg and .png and close the figure; returns the PNG."""
    # Not with_suffix(): the ".4" of "rho1.4" is no suffix.
    files = [stem.with_name(stem.name + suffix) for suffix in (".svg", ".png")]
    for file in files:
        figure.savefig(file, dpi=150)
    plt.close(figure)
    return files[-1]
