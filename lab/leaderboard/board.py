"""The board, which shows the share of the bound that each policy reaches at each load."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any

from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes
from lab.analysis.warnings import fell_back
from lab.baselines.sheets import PROXIES
from lab.files.run_summary import Fallback
from lab.intervals import Estimate, over_parts, paired, text_of
from lab.leaderboard.ablation import efficiency, is_step
from lab.leaderboard.recovery import RECOVERED, Recovery
from lab.report.drawing.table import Table
from lab.results.metrics import Metrics
from lab.spec.experiment import Spec
from lab.spec.sections import PolicyChoice
from lab.wording import title_of


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the board: one policy with its results."""

    policy: str
    """The policy's key in the spec."""
    title: str
    rank: int | None
    """The rank by `overall`, beginning with 1; None for a step of the ablation."""
    overall: Estimate
    """The mean of the estimated efficiency over the loads."""
    estimated: Mapping[float, Estimate]
    """The estimated revenue efficiency at each load."""
    counted: Mapping[float, Estimate]
    """The confirms divided by the bound, at each load. This ratio varies more by chance than
    `estimated`."""
    confirms: Mapping[float, int]
    """The number of confirms at each load, summed over all repetitions."""
    expected: Mapping[float, float]
    """The expected number of confirms at each load, calculated from `estimated`."""
    repetitions: Mapping[float, Mapping[int, float]]
    """The estimated efficiency by load and seed."""


def rows_of(cells: Sequence[Cell]) -> list[Row]:
    """Return a row for each policy with an estimated efficiency, from the best to the worst."""
    found = []
    for policy in dict.fromkeys(cell.policy for cell in cells):
        own = {cell.rho: cell for cell in cells if cell.policy == policy and cell.rho is not None}
        estimated = _by_rho(own, efficiency)
        if not estimated:
            continue
        found.append(
            Row(
                policy=policy,
                title=title_of(policy),
                rank=None,
                overall=over_parts([cell.by_seed(efficiency) for cell in own.values()]),
                estimated=estimated,
                counted=_by_rho(own, lambda run: run.revenue_efficiency_ratio),
                confirms={rho: cell.confirms for rho, cell in own.items()},
                expected={rho: math.fsum(map(_promised, cell.runs)) for rho, cell in own.items()},
                repetitions={rho: cell.by_seed(efficiency) for rho, cell in own.items()},
            )
        )
    found.sort(key=lambda row: -row.overall.mean)
    ranked = [row for row in found if not is_step(row.policy)]
    return [replace(row, rank=ranked.index(row) + 1) if row in ranked else row for row in found]


def _promised(run: Outcomes) -> float:
    return (efficiency(run) or 0.0) * (run.confirm_bound or 0.0)


def loads_of(rows: Sequence[Row]) -> list[float]:
    """Return the loads for the columns: every ρ that occurs in any row, in increasing order."""
    return sorted({rho for row in rows for rho in row.estimated})


def leaders(rows: Sequence[Row], rho: float) -> list[Row]:
    """Return the row with the highest mean at `rho`, followed by the rows that are level with it. A
    row is level if the interval of its paired difference contains 0. Without repetitions, the
    result is only the row with the highest mean."""
    there = [row for row in rows if row.rank is not None and rho in row.estimated]
    if not there:
        return []
    best = max(there, key=lambda row: row.estimated[rho].mean)
    level = [row for row in there if row is not best and _is_level(row, best, rho)]
    return [best, *sorted(level, key=lambda row: -row.estimated[rho].mean)]


def _is_level(row: Row, best: Row, rho: float) -> bool:
    behind = behind_at(row, best, rho)
    return behind is not None and behind.half_width is not None and not behind.is_above_zero


def behind_at(row: Row, best: Row, rho: float) -> Estimate | None:
    """Return the difference `best` minus `row` at `rho`, paired by seed; None if the two rows share
    no seed at this load."""
    return paired([best.repetitions.get(rho, {})], [row.repetitions.get(rho, {})])


def behind_over_all(row: Row, best: Row) -> Estimate | None:
    """Return the difference `best` minus `row` over all loads that both rows have, paired by
    seed."""
    loads = sorted(row.repetitions.keys() & best.repetitions.keys())
    return paired([best.repetitions[rho] for rho in loads], [row.repetitions[rho] for rho in loads])


def best_of(rows: Sequence[Row]) -> Row | None:
    """Return the row of rank 1, or None if the board is empty."""
    return next((row for row in rows if row.rank == 1), None)


BEHIND = (
    "“Behind the best” is the efficiency of the best row minus the efficiency of this row. The "
    "difference is calculated for pairs of runs with the same seed. The table shows its mean ± "
    "half-width of the 95 % interval. If the interval contains 0, these runs do not show a "
    "difference. By chance, about one interval in 20 does "
    "not contain the true difference."
)


def efficiency_table(
    rows: Sequence[Row], recoveries: Mapping[str, Recovery] = MappingProxyType({})
) -> Table:
    """Return the board's main table: the estimated revenue efficiency at each load."""
    loads = loads_of(rows)
    table = Table(
        "Revenue efficiency, estimated",
        (
            *("Policy", "Rank"),
            *(f"ρ = {rho:g}" for rho in loads),
            *("All loads", "Behind the best", "Recovered after s"),
        ),
        note="Values are means of the repetitions ± half-width of the 95 % interval. The value 1 "
        "is the capacity bound, which no policy can exceed on average without knowing which "
        "customers will buy. “Estimated” is the expected efficiency if the shop serves the same "
        "share of the requests for each page as in these runs. “step” marks a policy that has only "
        f"some of DOOR's rules. {BEHIND} {RECOVERED}",
    )
    best = best_of(rows)
    for row in rows:
        table.rows.append(
            (
                row.title,
                "step" if row.rank is None else f"{row.rank}",
                *(text_of(row.estimated.get(rho), 2) for rho in loads),
                text_of(row.overall, 2),
                behind_words(row, best),
                recoveries[row.policy].words if row.policy in recoveries else "–",
            )
        )
    return table


def behind_words(row: Row, best: Row | None) -> str:
    """Return the difference from the best row over all loads as text: `0.12 ± 0.03`."""
    if best is None or row.rank is None:
        return "–"
    return "best" if row is best else text_of(behind_over_all(row, best), 2)


def differences_table(rows: Sequence[Row]) -> Table:
    """Return the table of each row's difference from the best row at each load, paired by seed."""
    best = {rho: found[0] for rho in loads_of(rows) if (found := leaders(rows, rho))}
    table = Table(
        "Behind the best at each load, paired by seed",
        ("Policy", *(f"ρ = {rho:g}" for rho in best)),
        note=BEHIND + " The best row at a load is the row with the highest mean at this load.",
    )
    for row in rows:
        if row.rank is not None:
            cells = (
                "best" if one is row else text_of(behind_at(row, one, rho), 2)
                for rho, one in best.items()
            )
            table.rows.append((row.title, *cells))
    return table


def conditions_table(spec: Spec) -> Table:
    """Return the table of each row's program, settings and abandonment."""
    table = Table(
        "Conditions of each row",
        ("Row", "Program", "Settings that differ from the defaults", "When a customer leaves"),
        note=_conditions_words(spec),
    )
    for choice in spec.policy:
        table.rows.append(
            (
                title_of(choice.key),
                title_of(choice.gateway) if choice.gateway else "gateway",
                settings_words(choice) or "none",
                title_of(spec.abandonment_of(choice)),
            )
        )
    return table


def _conditions_words(spec: Spec) -> str:
    settings = {spec.abandonment_of(choice) for choice in spec.policy}
    if len(settings) > 1:
        said = (
            "NOT ALIKE: the rows differ in what happens when a customer leaves, so do not compare "
            "their efficiencies."
        )
    else:
        said = "All rows have the same abandonment setting."
    if any(choice.gateway in PROXIES for choice in spec.policy):
        said += (
            " By default, HAProxy ignores that a customer has left (without `option "
            "abortonclose`), and nginx cancels the request (`proxy_ignore_client_abort off`)."
        )
    return said


def settings_words(choice: PolicyChoice) -> str:
    """Return the parameters that a spec sets for a row, as text: `maxconn 8, queue_s 5`."""
    given = {**choice.parameters, **choice.admission_parameters}
    return ", ".join(
        f"{name} ({', '.join(f'{page} {number:g}' for page, number in value.items())})"
        if isinstance(value, Mapping)
        else f"{name} {value:g}"
        for name, value in given.items()
    )


def confirms_table(rows: Sequence[Row]) -> Table:
    """Return the table of counted confirms divided by the bound; these values vary by chance,
    because few sessions buy.
    """
    loads = loads_of(rows)
    table = Table(
        "Counted confirms divided by the bound",
        (
            "Policy",
            *(f"ρ = {rho:g}" for rho in loads),
            *(f"Confirms, ρ = {rho:g}" for rho in loads),
        ),
        note="Ratios are means of the repetitions ± half-width of the 95 % interval; confirms are "
        "sums over all repetitions. About 27 of 1,000 sessions buy, so chance changes these values "
        "by ten per cent and more. The board therefore ranks policies by the estimate.",
    )
    for row in rows:
        table.rows.append(
            (
                row.title,
                *(text_of(row.counted.get(rho), 2) for rho in loads),
                *(f"{row.confirms[rho]}" if rho in row.confirms else "–" for rho in loads),
            )
        )
    return table


def as_json(
    rows: Sequence[Row], recoveries: Mapping[str, Recovery] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """Return the rows in a form that can be written as JSON: ρ and seeds as text, estimates as
    `mean` and `half_width`.
    """
    best = best_of(rows)
    return [
        {
            "policy": row.policy,
            "title": row.title,
            "rank": row.rank,
            "overall": asdict(row.overall),
            "estimated": {f"{rho:g}": asdict(one) for rho, one in row.estimated.items()},
            "counted": {f"{rho:g}": asdict(one) for rho, one in row.counted.items()},
            "confirms": {f"{rho:g}": count for rho, count in row.confirms.items()},
            "expected": {f"{rho:g}": round(count, 1) for rho, count in row.expected.items()},
            "repetitions": {
                f"{rho:g}": {str(seed): value for seed, value in by_seed.items()}
                for rho, by_seed in row.repetitions.items()
            },
            "behind": behind_words(row, best),
            "recovery": recoveries[row.policy].as_json() if row.policy in recoveries else None,
        }
        for row in rows
    ]


def _by_rho(
    cells: Mapping[float, Cell], figure: Callable[[Outcomes], float | None]
) -> dict[float, Estimate]:
    return {
        rho: known for rho, cell in cells.items() if (known := cell.over_known(figure)) is not None
    }


FALLBACK_MARK = "*"
"""The mark for a student's policy that FIFO replaced during a simulation."""


def fallback_mark(runs: Iterable[Metrics]) -> str:
    """Return FALLBACK_MARK if FIFO replaced the policy in a simulation, otherwise ""."""
    return FALLBACK_MARK if any(run.get("fallen_back") for run in runs) else ""


def fallback_words(places: Iterable[tuple[str, str, Sequence[Metrics]]]) -> str:
    """Return the text below a table that names each cell in which FIFO replaced the policy; empty
    if there is no such cell. A cell is given as (policy, scenario, simulations)."""
    told = []
    for policy, scenario, runs in places:
        found = [run for run in runs if run.get("fallen_back")]
        if found:
            first = found[0]
            cell = f"{title_of(policy)}, {scenario}, {len(found)} of {len(runs)} runs"
            run = f"{cell}, seed {first['seed']}"
            told.append(fell_back(run, Fallback(**first["fallen_back"])))
    return "".join(f" {FALLBACK_MARK} {one}" for one in told)
