"""The board: how near each policy comes to the bound at each load, with intervals, and who leads.

Owns: rows, ranks, the tables of the board, its form as JSON. Must not know: how runs are made, how
a page looks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab.experiments.cells import Cell
from lab.experiments.intervals import Estimate, differences, estimate, over_parts
from lab.experiments.leaderboard.ablation import efficiency, is_step
from lab.experiments.outcomes import Outcomes
from lab.experiments.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """One policy on the board."""

    policy: str
    """Its key in the spec."""
    title: str
    rank: int | None
    """From 1, by `overall`; None for a step of the ablation, which nobody would use."""
    overall: Estimate
    """Mean over the loads of the estimated efficiency."""
    estimated: Mapping[float, Estimate]
    """ρ → revenue efficiency by what failed sessions were worth."""
    counted: Mapping[float, Estimate]
    """ρ → confirms / bound, which scatters more."""
    confirms: Mapping[float, int]
    """ρ → confirms of all repetitions together."""
    expected: Mapping[float, float]
    """ρ → as many as `estimated` promises."""
    repetitions: Mapping[float, Mapping[int, float]]
    """ρ → seed → the estimated efficiency."""


def rows_of(cells: Sequence[Cell]) -> list[Row]:
    """A row per policy, the best first; policies in whose runs nobody plans to buy are left out."""
    found = []
    for policy in dict.fromkeys(cell.policy for cell in cells):
        own = [cell for cell in cells if cell.policy == policy and cell.rho is not None]
        estimated = _by_rho(own, efficiency)
        if not estimated:
            continue
        found.append(
            Row(
                policy=policy,
                title=own[0].title,
                rank=None,
                overall=over_parts([cell.by_seed(efficiency) for cell in own]),
                estimated=estimated,
                counted=_by_rho(own, lambda run: run.revenue_efficiency_ratio),
                confirms={cell.rho: sum(run.confirms for run in cell.runs) for cell in own},  # type: ignore[misc]
                expected={cell.rho: sum(map(_promised, cell.runs)) for cell in own},  # type: ignore[misc]
                repetitions={cell.rho: cell.by_seed(efficiency) for cell in own},  # type: ignore[misc]
            )
        )
    found.sort(key=lambda row: -row.overall.mean)
    ranked = [row for row in found if not is_step(row.policy)]
    return [replace(row, rank=ranked.index(row) + 1) if row in ranked else row for row in found]


def _promised(run: Outcomes) -> float:
    return (efficiency(run) or 0.0) * run.confirm_bound


def loads_of(rows: Sequence[Row]) -> list[float]:
    """The columns: every ρ of any row, the lightest first."""
    return sorted({rho for row in rows for rho in row.estimated})


def leaders(rows: Sequence[Row], rho: float) -> list[Row]:
    """Who is best at `rho`: the highest mean, and all ranked ones that are level with it.

    Level: the interval of the difference, runs of the same seed in pairs, reaches 0. Without
    repetitions the highest alone.
    """
    there = [row for row in rows if row.rank is not None and rho in row.estimated]
    if not there:
        return []
    best = max(there, key=lambda row: row.estimated[rho].mean)
    level = [row for row in there if row is not best and _is_level(row, best, rho)]
    return [best, *sorted(level, key=lambda row: -row.estimated[rho].mean)]


def _is_level(row: Row, best: Row, rho: float) -> bool:
    pairs = differences(best.repetitions[rho], row.repetitions[rho])
    behind = estimate(list(pairs.values())) if pairs else None
    return behind is not None and behind.half_width is not None and not behind.is_above_zero


def efficiency_table(rows: Sequence[Row]) -> Table:
    """The board itself: revenue efficiency as estimated, a column per load."""
    loads = loads_of(rows)
    table = Table(
        "Revenue efficiency, estimated",
        ("Policy", "Rank", *(f"ρ = {rho:g}" for rho in loads), "All loads"),
        note="Mean of the repetitions ± half-width of the 95 % interval. 1 is the capacity bound, "
        "by the linear program of the customers' chain. Estimated from what failed sessions were "
        "worth: (1 − Σ V(page at which a session failed) / Σ V(Br-1)) × planned confirms / bound, "
        "V = probability of a confirm to come. A little more than 1 is possible: the bound "
        "reckons the time of the arrivals, and the server goes on until the last at its door is "
        "served. “step”: a part of DOOR, for the ablation.",
    )
    for row in rows:
        table.rows.append(
            (
                row.title,
                "step" if row.rank is None else f"{row.rank}",
                *(_text(row.estimated.get(rho)) for rho in loads),
                _text(row.overall),
            )
        )
    return table


def confirms_table(rows: Sequence[Row]) -> Table:
    """The same as counted: who happened to buy decides, so that it scatters."""
    loads = loads_of(rows)
    table = Table(
        "Confirms over bound, as counted",
        (
            "Policy",
            *(f"ρ = {rho:g}" for rho in loads),
            *(f"Confirms, ρ = {rho:g}" for rho in loads),
        ),
        note="Mean of the repetitions ± half-width of the 95 % interval, and confirms of all "
        "repetitions together. Of 1,000 sessions 27 buy: these scatter by ten per cent and more, "
        "which is why the board goes by the estimate.",
    )
    for row in rows:
        table.rows.append(
            (
                row.title,
                *(_text(row.counted.get(rho)) for rho in loads),
                *(f"{row.confirms[rho]}" if rho in row.confirms else "–" for rho in loads),
            )
        )
    return table


def as_json(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows for a file: ρ as text, estimates as `mean` and `half_width`."""
    return [
        {
            "policy": row.policy,
            "title": row.title,
            "rank": row.rank,
            "overall": _plain(row.overall),
            "estimated": {f"{rho:g}": _plain(one) for rho, one in row.estimated.items()},
            "counted": {f"{rho:g}": _plain(one) for rho, one in row.counted.items()},
            "confirms": {f"{rho:g}": count for rho, count in row.confirms.items()},
            "expected": {f"{rho:g}": round(count, 1) for rho, count in row.expected.items()},
        }
        for row in rows
    ]


def _by_rho(
    cells: Sequence[Cell], figure: Callable[[Outcomes], float | None]
) -> dict[float, Estimate]:
    return {
        cell.rho: known
        for cell in cells
        if cell.rho is not None and (known := cell.over_known(figure))
    }


def _text(known: Estimate | None) -> str:
    return known.text(2) if known else "–"


def _plain(known: Estimate) -> dict[str, float | None]:
    return {"mean": known.mean, "half_width": known.half_width}
