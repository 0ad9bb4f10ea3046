"""The table of paired differences, which compares policies seed by seed and marks each difference
that is larger than chance explains.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import Final

from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes
from lab.intervals import paired
from lab.report.drawing.table import Table
from lab.spec.experiment import Spec

ALL_PAIRS_UP_TO: Final = 4
"""Up to this number of policies, all pairs are compared. With more policies, each policy is
compared only with the first policy.
"""

_Metrics = tuple[tuple[str, int, Callable[[Outcomes], float | None]], ...]
_BUYERS: Final[_Metrics] = (
    ("Completed %", 1, lambda run: 100 * run.completed_ratio),
    ("Confirms", 1, lambda run: float(run.confirms)),
    ("Estimated", 3, lambda run: run.estimated_efficiency_ratio),
    ("Requests/s", 2, lambda run: run.throughput_rps),
)
"""The columns if customers buy."""
_SESSIONS: Final[_Metrics] = (
    ("Sessions completed %", 1, lambda run: 100 * run.fates.share("completed")),
    ("Mean length of completed", 1, lambda run: run.fates.mean_completed_length),
    ("Useful requests/s", 2, lambda run: run.useful_rps),
)
"""The columns if no customer buys, because the session model defines only lengths of sessions."""


def table(spec: Spec, cells: Sequence[Cell]) -> Table | None:
    """Return the differences of the pairs at each load; None if no pair shares two seeds."""
    metrics = _SESSIONS if spec.customers.lengths else _BUYERS
    found = Table(
        "Differences by seed",
        ("ρ", "Policy", "less", *(column for column, _, _ in metrics)),
        note="Runs with the same seed have the same customers, so the difference (Policy minus "
        "the policy in the column “less”) is calculated for each seed. Values are means of these "
        "differences ± half-width of the 95 % interval. A difference marked * is larger than "
        "chance explains: its interval excludes 0. Do not compare the intervals of other tables."
        + ("" if spec.customers.lengths else " Confirms are per run, not sums."),
    )
    for cell, other in _pairs(cells):
        texts = [_difference(cell, other, metric, digits) for _, digits, metric in metrics]
        if texts[0] != "–":
            found.rows.append((cell.load, cell.title, other.title, *texts))
    return found if found.rows else None


def _pairs(cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Yield the pairs to compare at each load. The policy that is later in the spec comes first."""
    for rho in dict.fromkeys(cell.rho for cell in cells):
        there = [cell for cell in cells if cell.rho == rho]
        if len(there) <= ALL_PAIRS_UP_TO:
            yield from ((cell, other) for other, cell in combinations(there, 2))
        else:
            yield from ((cell, there[0]) for cell in there[1:])


def _difference(
    cell: Cell, first: Cell, metric: Callable[[Outcomes], float | None], digits: int
) -> str:
    found = paired([cell.by_seed(metric)], [first.by_seed(metric)])
    if found is None or found.half_width is None:
        return "–"
    mark = " *" if found.is_above_zero or found.is_below_zero else ""
    return f"{'+' if found.mean > 0 else ''}{found.text(digits)}{mark}"
