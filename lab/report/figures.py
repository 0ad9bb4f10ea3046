"""The figures of a comparison, as PNG and SVG: response times of the home page at each ρ, and
metrics against ρ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lab.analysis.cells import Cell, counted_attempts
from lab.analysis.outcomes import Outcomes, response_times_s
from lab.analysis.published import published
from lab.report.drawing.figure import finish, from_zero, new_figure, note, save
from lab.report.drawing.palette import Style, styles_of
from lab.report.drawing.pictures import Series
from lab.report.drawing.plots import curve, staircase
from lab.results.comparison import ComparisonResult
from lab.results.result import made_at
from lab.wording import title_of
from loadgen.workload.sessions import FIRST_PAGE

if TYPE_CHECKING:
    from lab.report.drawing.figure import Axes, Figure

Styles = Mapping[str, Style]
"""The style of each policy's line, by the policy's key."""

_CCDF_UNTIL_S = 40.0
"""The latest end of the time axis in LIFO-Pri's Fig. 7, in paper seconds."""
_INCHES = (7.0, 4.2)
_PAIR_INCHES = (10.0, 4.2)


def draw_figures(folder: ComparisonResult, cells: Sequence[Cell]) -> list[Path]:
    """Draw all figures of the complete runs. Return the paths of the PNG files."""
    spec = folder.spec()
    if spec.clients:  # a closed loop has no ρ and no session ends: its tables are enough
        return []
    folder.figures.mkdir(exist_ok=True)
    style = styles_of(policy.key for policy in spec.policy)
    signed = note_of(folder, cells)
    files = [
        save(_ccdf(folder, cells, rho, style), folder.figures / f"ccdf-br1-rho{rho:g}", signed)
        for rho in dict.fromkeys(cell.rho for cell in cells)
    ]
    if spec.customers.lengths:  # no sales; the last long session would dilute throughput
        files.append(save(_sessions(cells, style), folder.figures / "sessions", signed))
    else:
        figure = _throughput(folder, cells, style)
        files.append(save(figure, folder.figures / "throughput", signed))
    return files


def note_of(folder: ComparisonResult, cells: Sequence[Cell]) -> str:
    """Return the line under a comparison's figure: experiment, number of runs and date."""
    spec = folder.spec()
    runs = sum(len(cell.runs) for cell in cells)
    words = "run" if runs == 1 else "runs"
    return note(spec.heading, f"{runs} {words}, {spec.load.words()} each", made_at(folder.path))


def _ccdf(
    folder: ComparisonResult, cells: Sequence[Cell], rho: float | None, style: Styles
) -> Figure:
    """Draw Fig. 7: P(response time of Br-1 > t) over all repetitions together. Unanswered attempts
    have an infinite response time.
    """
    figure, (axes,) = new_figure(1, 1, _INCHES)
    runs = [(p, run) for p, run in folder.whole_runs() if p.rho == rho]
    spec = folder.spec()
    until_s = 0.0
    for policy, look in style.items():
        pooled = [
            response_times_s(counted_attempts(spec, run), FIRST_PAGE)
            for planned, run in runs
            if planned.policy == policy
        ]
        if not pooled:
            continue
        times_s = np.sort(np.concatenate(pooled))
        shown = times_s[np.isfinite(times_s)]
        until_s = max(until_s, shown[-1] if len(shown) else 0.0)
        above = 1 - np.arange(1, len(shown) + 1) / len(times_s)
        staircase(
            axes,
            [0.0, *shown.tolist(), _CCDF_UNTIL_S],
            [1.0, *above.tolist(), 1 - len(shown) / len(times_s)],
            look,
            title_of(policy),
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
    """Draw Fig. 6 (throughput against ρ) and revenue efficiency next to it."""
    capacity = folder.capacity()
    assert capacity is not None  # the load is open
    figure, (left, right) = new_figure(1, 2, _PAIR_INCHES)
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
        from_zero(axes)
    return figure


def _sessions(cells: Sequence[Cell], style: Styles) -> Figure:
    """Draw the useful work, and next to it the completed share of the sessions that were let in."""
    figure, (left, right) = new_figure(1, 2, _PAIR_INCHES)
    _over_rho(left, cells, style, lambda run: run.useful_rps)
    _over_rho(right, cells, style, lambda run: run.fates.completed_of_let_in_ratio)
    left.set(
        ylabel="requests of completed sessions\nper paper second of arrivals",
        title="Useful throughput",
    )
    right.set(ylabel="completed / let in", title="Completed share of the sessions that were let in")
    for axes in (left, right):
        from_zero(axes)
    return figure


def _over_rho(
    axes: Axes,
    cells: Sequence[Cell],
    style: Styles,
    figure_of: Callable[[Outcomes], float | None],
) -> None:
    for policy, look in style.items():
        found = {
            cell.rho: known
            for cell in cells
            if cell.policy == policy
            and cell.rho is not None
            and (known := cell.over_known(figure_of))
        }
        curve(axes, Series.of(title_of(policy), list(found), found.values()), look)
    loads = sorted({cell.rho for cell in cells if cell.rho is not None})
    axes.set_xlabel("offered load ρ")
    axes.set_xticks(loads, [f"{rho:g}" for rho in loads])
    axes.set_xlim(loads[0] - 0.2, loads[-1] + 0.2)
    finish(axes)


def _compare(cells: Sequence[Cell], number: int) -> str:
    """Return a reference to this figure of LIFO-Pri; empty if no cell's conditions are as
    published."""
    return f" (compare the paper's Fig. {number})" if any(cell.published for cell in cells) else ""
