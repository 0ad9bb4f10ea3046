"""The report on the bound: whether any policy sells more than the bound allows, in short or long
runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from lab.intervals import Estimate, estimate, simultaneous, text_of
from lab.leaderboard import BOUND, measures
from lab.leaderboard.ablation import ranked
from lab.leaderboard.measures import EFFICIENCY, Grid, estimated
from lab.report.claims import Claim, Verdict
from lab.report.drawing.pictures import Heat
from lab.report.drawing.table import Table
from lab.report.study_figures import BuiltTable, Drawing, Figure, Study
from lab.results.metrics import Results
from lab.spec.cases import Case
from lab.spec.experiment import Spec, changed
from lab.spec.runs import ShopRun
from lab.wording import title_of

SESSIONS = (500, 2_400, 24_000)
"""The numbers of sessions per run, from a first try in class to the paper's number."""
QUICK_SESSIONS = SESSIONS[:2]


@dataclass(frozen=True, slots=True)
class _Grid(Grid):
    sessions: int
    loads: Sequence[float]


def study(base: Spec, *, quick: bool) -> Study:
    """Return the study of a board's policies at the board's loads, without the steps of the
    ablation."""
    policies = ranked(base)
    loads = [rho for rho in base.load.rhos if rho is not None]
    grids = [
        _Grid({policy: _row(base, policy, loads, sessions) for policy in policies}, sessions, loads)
        for sessions in (QUICK_SESSIONS if quick else SESSIONS)
    ]
    return Study(
        BOUND,
        "The bound: how close each policy comes to it, in short and in long runs",
        (
            "1 is the maximum that a policy can reach on average without knowing which customers "
            "will buy. docs/bound.md has the proof. This report tests "
            "whether any policy exceeds this bound.",
        ),
        [
            Figure(
                f"bound-{grid.sessions}",
                f"Runs of {grid.sessions:,} sessions",
                "Each value is the expected number of confirms, divided by the bound. The "
                "expectation assumes that the shop serves the same share of the requests for "
                "each page as in these runs.",
                drawing=Drawing(
                    partial(_heat, grid),
                    f"Heat table of {len(policies)} policies by {len(loads)} loads in runs of "
                    f"{grid.sessions:,} sessions, showing the share of the bound. The table below "
                    "has the numbers.",
                    "A brighter cell is closer to the bound.",
                    is_wide=True,
                ),
                tables=[BuiltTable(grid.all_cases(), partial(_table, grid))],
            )
            for grid in grids
        ],
        [
            Claim(
                f"No policy exceeds the bound in runs of {grid.sessions:,} sessions",
                "each share, minus the half-width of its interval, is at most 1. The intervals are "
                "so wide that, with a probability of at least 95 %, every interval contains the "
                "true share",
                grid.all_cases(),
                partial(_holds, grid),
            )
            for grid in grids
        ],
        [],
        folder=BOUND,
        readings_heading="Readings",
    )


def _row(
    base: Spec, policy: str, loads: Sequence[float], sessions: int
) -> Mapping[float, Case[ShopRun]]:
    return {
        rho: measures.case_of(
            changed(base, leaderboard=False, load={"rho": [rho], "sessions": sessions}),
            policy,
            EFFICIENCY,
        )
        for rho in loads
    }


def _table(grid: _Grid, results: Results) -> Table:
    table = Table(
        f"Share of the bound, runs of {grid.sessions:,} sessions",
        ("Policy", *(f"ρ = {rho:g}" for rho in grid.loads), "Confirms", "Bound"),
        note="Values are estimated from the share of the requests for each page that the shop "
        "served: means of the repetitions ± half-width of the 95 % interval. Confirms and bound "
        "are sums over all runs of the row.",
    )
    for policy, row in grid.cases.items():
        every = [run for case in row.values() for run in results.of(case)]
        table.rows.append(
            (
                title_of(policy),
                *(text_of(results.estimate(case, estimated), 3) for case in row.values()),
                f"{sum(run['confirms'] for run in every):,.0f}",
                f"{sum(run['bound'] for run in every):,.0f}",
            )
        )
    return table


def _heat(grid: _Grid, results: Results) -> Heat:
    return Heat(
        [title_of(policy) for policy in grid.cases],
        [f"ρ = {rho:g}" for rho in grid.loads],
        grid.means(results, grid.cases),
    )


def _holds(grid: _Grid, results: Results) -> Verdict:
    reached = {
        f"{title_of(policy)} at ρ = {rho:g}": known
        for policy, row in grid.cases.items()
        for rho, case in row.items()
        if (known := list(results.by_seed(case, estimated).values()))
    }
    if not reached:
        return "nothing to measure", None
    found = {place: simultaneous(known, len(reached)) for place, known in reached.items()}
    above = [place for place, known in found.items() if exceeds(known)]
    nearest = max(found, key=lambda place: found[place].mean)
    told = f"highest of {len(found)}: {nearest} {estimate(reached[nearest]).text(3)}"
    if above:
        told += f"; above: {', '.join(above)}"
    return told, not above


def exceeds(found: Estimate) -> bool:
    """Return whether a share is above the bound by more than chance explains; False for a single
    run.
    """
    return found.half_width is not None and found.mean - found.half_width > 1.0
