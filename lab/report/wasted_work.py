"""The table of wasted work, and the sentences about cancelling."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

from lab.analysis.cells import Cell, wasted_percent
from lab.analysis.outcomes import Outcomes
from lab.intervals import text_of
from lab.report.drawing.table import Table
from lab.spec.experiment import Spec
from loadgen.records.attempts import AttemptOutcome

_WHY_CONFIRMS_FALL = {
    "8q-lifo-pri": "its priority is N × U, the number of waiting requests of a page times the "
    "page's utility. Requests of customers who left remain at the bottom of its LIFO queues and "
    "keep N high, so a customer who comes to a later page is served soon. If the gateway withdraws "
    "these requests, N × U of the later pages is lower, and a buyer waits longer"
}
"""The reason why cancelling can lower a policy's confirms, by policy. A report shows the reason if
confirms fell by more than chance explains.
"""

_ROWS: tuple[tuple[str, Callable[[Mapping[str, Any]], float | None], int], ...] = (
    ("CPU wasted, %", wasted_percent, 1),
    ("CPU wasted, s", lambda waste: waste["wasted_cpu_s"], 0),
    ("CPU kept, s", lambda waste: waste["kept_cpu_s"], 0),
    ("CPU unanswered, s", lambda waste: waste["unanswered_cpu_s"], 0),
    ("Database wasted, s", lambda waste: waste["wasted_database_s"], 0),
    ("Database kept, s", lambda waste: waste["kept_database_s"], 0),
    ("Database unanswered, s", lambda waste: waste["unanswered_database_s"], 0),
    ("Left in service", lambda waste: waste["disconnects"], 0),
    ("… and stopped", lambda waste: waste["interrupted"], 0),
    ("Cancels of queries", lambda waste: waste["cancels_attempted"], 0),
    ("… effective", lambda waste: waste["cancels_effective"], 0),
    ("… too late", lambda waste: waste["cancels_too_late"], 0),
    ("… not confirmed", lambda waste: waste["cancels_failed"], 0),
    ("Withdrawn from queues", lambda waste: waste["withdrawn"], 0),
)


def table(spec: Spec, cells: Sequence[Cell]) -> Table | None:
    """Return the table of work for customers who had left; None if no customer left or no run has a
    meter."""
    if not any(waste.mean for cell in cells if (waste := cell.over_waste(_anybody))):
        return None
    found = Table(
        "Wasted work",
        ("", *(cell.heading for cell in cells)),
        note="\n".join([
            "Times (paper seconds) and counts are means per run, including the warm-up; "
            "completed requests and confirms exclude the warm-up. Wasted is the time that the "
            "server spent after the customer had left and that cancelling can save; its % is of "
            "the server's CPU time. Kept is the time spent after the customer had left, on "
            "requests that had to be finished. Unanswered is the time spent, before the customer "
            "left, on requests that were never answered; cancelling cannot save it. Database is "
            "the time that pages waited for database results; if the Python interpreter is the "
            "bottleneck, this includes the wait for the interpreter. Left in service includes "
            "customers who left before their request was in service. Stopped pages were stopped "
            "during a query or between two queries.",
            *_remarks(spec, cells),
        ]),
    )  # fmt: skip
    modes = (spec.abandonment_of(spec.choice(cell.policy)) for cell in cells)
    found.rows.append(("Abandonment", *modes))
    for name, figure, digits in _ROWS:
        known = [cell.over_waste(figure) for cell in cells]
        if any(known):  # the simulator has no database
            found.rows.append((name, *(text_of(one, digits) for one in known)))
    completed = [cell.over(_completed).text() for cell in cells]
    found.rows.append(("Completed requests", *completed))
    if any(run.confirms for cell in cells for run in cell.runs):
        found.rows.append(
            ("Confirms", *(cell.over(lambda run: run.confirms).text() for cell in cells))
        )
    return found


def _completed(run: Outcomes) -> int:
    return run.count(AttemptOutcome.COMPLETED)


def _anybody(waste: Mapping[str, Any]) -> float:
    return float(waste["disconnects"] + waste["withdrawn"])


def _remarks(spec: Spec, cells: Sequence[Cell]) -> list[str]:
    """Return sentences that compare the abandonment mode `cancel` with `ignore`."""
    found = []
    for cell in cells:
        other = _ignoring(spec, cell, cells)
        if other is None:
            continue
        with_it, without = (one.over(_completed).mean for one in (cell, other))
        said = f"{cell.place}, compared with ignoring that customers leave: "
        times = f"{with_it / without:.2f} times as many" if without else "some, instead of no,"
        said += f"{times} completed requests"
        confirms, before = (one.over(lambda run: run.confirms).mean for one in (cell, other))
        if confirms or before:
            said += f", {confirms:.1f} confirms per run instead of {before:.1f}"
        why = _WHY_CONFIRMS_FALL.get(spec.choice(cell.policy).name)
        sold, sold_before = (sum(run.confirms for run in one.runs) for one in (cell, other))
        if why and fell_clearly(sold_before, sold):
            said += f". The policy's rule explains why: {why}"
        found.append(f"{said}.")
    return found


def fell_clearly(before: int, after: int) -> bool:
    """Return whether the fall from `before` to `after` rare independent events is more than chance
    explains, that is, more than two standard deviations. The variance of a count is the count
    itself.
    """
    return before - after > 2 * sqrt(before + after)


def _ignoring(spec: Spec, cell: Cell, cells: Sequence[Cell]) -> Cell | None:
    """Return the cell with `ignore` that otherwise equals this cell with `cancel`, or None."""
    choice = spec.choice(cell.policy)
    if spec.abandonment_of(choice) != "cancel":
        return None
    for other in cells:
        theirs = spec.choice(other.policy)
        alike = {"abandonment": None, "label": None}
        if (
            other.rho == cell.rho
            and spec.abandonment_of(theirs) == "ignore"
            and theirs.model_copy(update=alike) == choice.model_copy(update=alike)
        ):
            return other
    return None
