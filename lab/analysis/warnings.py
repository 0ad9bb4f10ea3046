"""The warnings, passed checks and notes above the tables of a comparison."""

import math
import statistics
from collections.abc import Iterable, Sequence

from common import cpus
from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes
from lab.analysis.published import table5
from lab.engines.live import faults, outages
from lab.files.run_summary import Fallback, RunSummary
from lab.wording import factor_words, title_in_force, title_of
from loadgen.workload.sessions import CONFIRM_PAGE

WHY_IT_DIFFERS = (
    "Compare the order of the policies with the published order, not the percentages, because "
    "nothing was tuned to reach the published percentages. The paper's footnote 2 explains its low "
    "numbers in overload by a load generator that could not produce the workload. Under "
    "8Q-LIFO-Pri, the paper's server used about 60 % of its capacity for useful work; this "
    "project's server uses nearly all of its capacity."
)
_MORE_CAPACITY = (
    "The shop served more than its measured capacity. Measure the capacity again: make capacity."
)
_DEFECT = (
    "The capacity of a simulated shop is fixed, so the simulator or the bound probably has a "
    "defect. Please open an issue with the spec and the seed."
)
LATE_SHARE_LIMIT = 0.01
"""A run gets a warning if its share of late attempts, 0 to 1, is larger than this."""
APART_LIMIT_S = 0.1
"""A larger gap between the starts of simultaneous runs, in real seconds, causes a warning."""
FEW_SALES = 30
"""If fewer confirms than this are possible, chance can change confirms / bound by a third or more.
"""
UNDISTURBED_LIMIT = 0.5
"""If all attempts complete during more than this share (0 to 1) of the time with arrivals, the run
can be too short to show its overload.
"""
_NORMAL_975 = 1.96
UNLIKE_LIMIT_RATIO = 0.1
"""A warning appears if the capacity of a simultaneous shop differs from the median of all shops by
more than this share of the median.
"""


def honesty(cells: Sequence[Cell]) -> list[str]:
    """Return the warnings, the passed checks, and notes on the runs, one per line."""
    summaries = [summary for cell in cells for summary in cell.summaries]
    runs = [
        (f"{cell.place}, seed {summary.seed}", summary)
        for cell in cells
        for summary in cell.summaries
    ]
    lines = _of_the_bound(cells)
    lines += [
        f"COUNTS DO NOT RECONCILE: {run}: {check.statement}: {check.value}, "
        f"should be {check.low} to {check.high}"
        for run, summary in runs
        if not summary.reconciles
        for check in summary.checks
        if not check.holds
    ]
    if all(summary.reconciles for summary in summaries):
        lines.append(
            f"Counts reconcile in {_all(len(runs))}: client's attempts, gateway's counts and "
            "shop's orders agree."
        )
    lines += [
        f"CHANGED IN MID-RUN: {run}: {'; '.join(changes)}. "
        "The numbers of the run do not describe a single policy and ρ."
        for run, summary in runs
        if (changes := _changes(summary))
    ]
    lines += [
        f"FAULT IN MID-RUN: {run}: {faults.words(summary.faults)}. "
        "A user caused this fault on purpose, so no leaderboard accepts the result."
        for run, summary in runs
        if summary.faults
    ]
    lines += [
        f"TRACED: {run}: the traces of {100 * summary.traced_ratio:g} % of the requests were "
        "exported. The export took CPU time from gateway and shop, so no leaderboard accepts the "
        "result. Remove DOORBUSTER_TELEMETRY_ENDPOINT before you measure."
        for run, summary in runs
        if summary.traced_ratio
    ]
    lines += [
        f"AWAY: {run}: {outages.words(summary.outages)}. "
        "For a part of the run, the shop was not fully available."
        for run, summary in runs
        if summary.outages
    ]
    lines += [
        f"SAMPLES MISSING: {run}: the gateway did not answer for {summary.samples_missed} of the "
        "run's samples, so the curves have gaps."
        for run, summary in runs
        if summary.samples_missed
    ]
    lines += [fell_back(run, summary.fallen_back) for run, summary in runs if summary.fallen_back]
    late = [
        f"LOAD GENERATOR FELL BEHIND: {cell.place}: "
        f"{100 * schedule.late_share:.1f} % of attempts started more than "
        f"{1000 * schedule.late_tolerance_s:.0f} ms late, the latest by "
        f"{schedule.max_behind_s:.2f} s (real time)"
        for cell in cells
        for summary in cell.summaries
        if (schedule := summary.load_generator.schedule) and schedule.late_share > LATE_SHARE_LIMIT
    ]
    lines += [*late, *_of_proxies(summaries), *_of_runs_at_once(summaries)]
    if _is_simulated(summaries):
        lines.append(
            "These runs are simulated: policies and customers are the same as in a live run, but "
            "the server is a model."
        )
    elif not late:
        lines.append(f"The load generator kept its schedule in {_all(len(runs))}.")
    beside_published = {
        cell.published
        for cell in cells
        if cell.published and cell.rho and table5(cell.rho, cell.published)
    }
    if {"sq", "8q-lifo-pri"} <= beside_published:
        lines.append(WHY_IT_DIFFERS)
    return lines


def is_warning(line: str) -> bool:
    """Return whether a line of `honesty` is a warning: it begins with capitals and a colon."""
    return line.split(":")[0].isupper()


def _is_simulated(summaries: Iterable[RunSummary]) -> bool:
    return any(summary.load_generator.engine == "simulated" for summary in summaries)


def _of_the_bound(cells: Sequence[Cell]) -> list[str]:
    """Return warnings if a comparison with the bound makes the confirms doubtful."""
    known = [cell for cell in cells if cell.rho is not None and cell.bound]
    lines = []
    for cell in known:
        beyond_chance = cell.confirms - _NORMAL_975 * math.sqrt(cell.confirms)
        if beyond_chance > cell.bound:
            lines.append(
                f"MORE THAN THE BOUND: {cell.place} confirmed {cell.confirms} where "
                f"{cell.bound:.0f} are possible; chance does not explain the difference. "
                + (_DEFECT if _is_simulated(cell.summaries) else _MORE_CAPACITY)
            )
        elif beyond_chance > sum(map(_lasting, cell.runs)) and all(
            run.undisturbed_ratio > UNDISTURBED_LIMIT for run in cell.runs
        ):
            until = 100 * min(run.undisturbed_ratio for run in cell.runs)
            lines.append(
                f"TOO SHORT: {cell.place}: every request was answered in time in the first "
                f"{until:.0f} % of the time with arrivals, because the queues were still filling. "
                "Give the run more sessions."
            )
    few = [cell for cell in known if cell.bound < FEW_SALES]
    if few:
        least = min(few, key=lambda cell: cell.bound)
        lines.append(
            f"TOO FEW SALES: at most {least.bound:.0f} confirms are possible in all runs of "
            f"{least.place}"
            + (f", and fewer than {FEW_SALES} in {len(few)} rows of the table" if few[1:] else "")
            + ". Chance decides such small counts. Read the column Estimated, or run more sessions "
            "or repetitions."
        )
    return lines


def _lasting(run: Outcomes) -> float:
    """Return the bound that a run would have if its server stopped at the last arrival."""
    return run.planned[CONFIRM_PAGE] * (run.lasting_ratio or 0.0)


def fell_back(run: str, why: Fallback) -> str:
    """Return the warning that FIFO replaced a student's policy, for the reason `why`."""
    return (
        f"FELL BACK TO FIFO: {run}, at {why.at_s:.0f} s: {why.reason}. "
        "From then on, the numbers of the run are those of FIFO."
    )


def _of_proxies(summaries: Sequence[RunSummary]) -> list[str]:
    found = dict.fromkeys(
        f"{title_of(proxy.name)} {proxy.version}"
        for summary in summaries
        if (proxy := summary.peer)
    )
    if not found:
        return []
    return [
        "Baseline proxies replaced the gateway (docs/baseline-proxies.md): "
        f"{', '.join(sorted(found))}. The counts of each proxy come from its log."
    ]


def _of_runs_at_once(summaries: Sequence[RunSummary]) -> list[str]:
    found = [summary.at_once for summary in summaries if summary.at_once is not None]
    if not found:
        return []
    first = found[0]
    shops = "; ".join(cpus.written(tuple(shop)) for shop in first.shops)
    lines = [
        f"{first.of} shops ran at the same time on the CPUs {shops}; all other programs ran on "
        f"{cpus.written(tuple(first.rest))}."
    ]
    if first.crowded:
        lines.insert(
            0,
            "CROWDED: the shops shared CPUs because this machine has too few. They slowed each "
            "other down, so the numbers are meaningless. Run the policies one after the other.",
        )
    apart_s = max(one.apart_s for one in found)
    if apart_s > APART_LIMIT_S:
        lines.append(
            f"OUT OF STEP: the customers of one shop began {apart_s:.2f} real seconds later than "
            "those of another."
        )
    capacities = first.shops_rps
    if capacities:
        middle = statistics.median(capacities)
        unlike = max(abs(rps / middle - 1) for rps in capacities)
        if unlike > UNLIKE_LIMIT_RATIO:
            each = ", ".join(f"{rps:.2f}" for rps in capacities)
            lines.append(
                f"SHOPS DIFFER: in a simultaneous measurement, the shops served {each} requests "
                "per paper second. For each load and seed, each policy gets a random shop."
            )
    return lines


def _all(runs: int) -> str:
    return "the one run" if runs == 1 else f"all {runs} runs"


def _changes(summary: RunSummary) -> list[str]:
    switched = [
        f"{title_in_force(change['policy'])}, abandonment {change['abandonment']}, "
        f"from {change['time_s']:.0f} s"
        for change in summary.switched
    ]
    return switched + [
        f"{factor_words(change.factor)} from {change.at_s:.0f} s"
        for change in summary.load_generator.load_changes
    ]
