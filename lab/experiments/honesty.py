"""What a reader must know before believing the tables.

Owns: the lines above them. Must not know: what stands in the tables.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.experiments.cells import Cell
from lab.experiments.published import table5

WHY_IT_DIFFERS = (
    "The published order and shape come out, the published percentages do not, and nothing was "
    "tuned towards them: the paper's own footnote 2 puts its low overload figures down to a load "
    "generator that could not make the workload, and its server kept about 60 % of its capacity "
    "busy with useful work under 8Q-LIFO-Pri where this one keeps nearly all."
)
LATE_SHARE_LIMIT = 0.01
"""A run in which more attempts than this started late says so."""


def honesty(cells: Sequence[Cell]) -> list[str]:
    """What a reader must know before believing the tables; a line each, the good news too."""
    runs = [(cell, summary) for cell in cells for summary in cell.summaries]
    lines = [
        f"TOO SHORT: {cell.place} confirmed more than a "
        "lasting overload allows: the rush ended before the queues were full. "
        "Give it more sessions."
        for cell in cells
        if cell.rho is not None
        and sum(run.confirms for run in cell.runs)
        > 1.1 * sum(run.confirm_bound for run in cell.runs)
    ]
    broken = [(cell, summary) for cell, summary in runs if not summary["reconciles"]]
    for cell, summary in broken:
        name = f"{cell.place}, seed {summary['seed']}"
        for check in summary["checks"]:
            if not check["holds"]:
                lines.append(
                    f"COUNTS DO NOT RECONCILE: {name}: {check['statement']}: {check['value']}, "
                    f"should be {check['low']} to {check['high']}"
                )
    if not broken:
        lines.append(
            f"Counts reconcile in all {len(runs)} runs: client's attempts, gateway's counts and "
            "shop's orders agree."
        )
    lines += [
        f"CHANGED IN MID-RUN: {cell.place}, seed {summary['seed']}: {'; '.join(changes)}. "
        "Its figures are those of no single policy or ρ."
        for cell, summary in runs
        if (changes := _changes(summary))
    ]
    late = [
        (cell, schedule)
        for cell, summary in runs
        if (schedule := summary["load_generator"].get("schedule"))
        and schedule["late_share"] > LATE_SHARE_LIMIT
    ]
    for cell, schedule in late:
        lines.append(
            f"LOAD GENERATOR FELL BEHIND: {cell.place}: "
            f"{100 * schedule['late_share']:.1f} % of attempts started more than "
            f"{1000 * schedule['late_tolerance_s']:.0f} ms late, the latest by "
            f"{schedule['max_behind_s']:.2f} s (real time)"
        )
    simulated = [s for _, s in runs if s["load_generator"].get("engine") == "simulated"]
    if simulated:
        lines.append(
            "Simulated: the gateway's own policies and the same customers, a modelled server."
        )
    elif not late:
        lines.append(f"The load generator kept its schedule in all {len(runs)} runs.")
    beside_published = {
        cell.published
        for cell in cells
        if cell.published and cell.rho and table5(cell.rho, cell.published)
    }
    if {"sq", "8q-lifo-pri"} <= beside_published:
        lines.append(WHY_IT_DIFFERS)
    return lines


def _changes(summary: Mapping[str, Any]) -> list[str]:
    """What somebody changed while the run went on; nothing in runs of before that was possible."""
    switched = [
        f"{change['policy']['name']} with {change['policy']['admission']['name']} admission, "
        f"abandonment {change['abandonment']}, from {change['time_s']:.0f} s"
        for change in summary.get("switched", ())
    ]
    return switched + [
        f"load × {change['factor']:g} from {change['at_s']:.0f} s"
        for change in summary["load_generator"].get("load_changes", ())
    ]
