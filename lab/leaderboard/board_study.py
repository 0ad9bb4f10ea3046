"""The report of a board: its text, figures, tables and claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lab.analysis.cells import Cell, counted_attempts
from lab.leaderboard import ablation, board
from lab.leaderboard.ablation import Step
from lab.leaderboard.board import Row
from lab.leaderboard.fairness import (
    CLASSES,
    Fairness,
    FairnessRow,
    completed_table,
    fairness_of,
    waiting_table,
)
from lab.leaderboard.recovery import Recovery, gather
from lab.report.claims import Claim, Verdict
from lab.report.drawing.pictures import Heat, Series
from lab.report.drawing.table import Table
from lab.report.study_figures import BuiltTable, Drawing, Figure, Panel, Study
from lab.results.comparison import ComparisonResult
from lab.results.metrics import Results
from lab.spec.cases import AnyCase
from lab.wording import title_of

FAIRNESS_RHO = 1.4
"""The load ρ at which the board examines fairness. If a board does not have this load, it uses the
nearest load.
"""

REQUIRED_OF_DOOR = 0.95
"""The share of the bound that DOOR must reach in the simulator at every load."""
REQUIRED_OF_DOOR_LIVE = 0.90


@dataclass(frozen=True, slots=True)
class Board:
    """The content of a board, which can be incomplete."""

    folder: ComparisonResult
    rows: Sequence[Row]
    steps: Sequence[Step]
    fairness_rho: float
    fairness: Sequence[FairnessRow]
    recoveries: Mapping[str, Recovery] = field(default_factory=dict)

    def tables(self) -> list[Table]:
        """Return the board's tables, beginning with the most important table."""
        found = [
            board.efficiency_table(self.rows, self.recoveries),
            board.confirms_table(self.rows),
            board.differences_table(self.rows),
            board.conditions_table(self.folder.spec()),
        ]
        if self.steps:
            found.append(ablation.table(self.steps))
        return [*found, *self.fairness_tables()]

    def fairness_tables(self) -> list[Table]:
        """Return the tables of completed sessions and of the waits of failed sessions, by planned
        length; empty if no ranked policy has a complete run at the load."""
        if not self.fairness:
            return []
        return [
            completed_table(self.fairness, self.fairness_rho),
            waiting_table(self.fairness, self.fairness_rho),
        ]


def board_of(folder: ComparisonResult, cells: Sequence[Cell]) -> Board:
    """Return the board of a comparison's complete runs; raises ExperimentError for damaged logs."""
    rows = board.rows_of(cells)
    loads = board.loads_of(rows)
    rho = min(loads, key=lambda one: abs(one - FAIRNESS_RHO)) if loads else FAIRNESS_RHO
    spec = folder.spec()
    by_policy: dict[str, list[Fairness]] = {}
    for planned, run in folder.whole_runs():
        if planned.rho == rho:
            found = fairness_of(counted_attempts(spec, run))
            by_policy.setdefault(planned.policy, []).append(found)
    fairness = [
        FairnessRow(row.policy, row.title, tuple(by_policy[row.policy]))
        for row in rows
        if row.policy in by_policy and row.rank is not None
    ]
    return Board(folder, rows, ablation.steps_of(cells), rho, fairness, gather(folder))


@dataclass(slots=True)
class _RowCurve:
    label: str
    row: Row

    def cases(self) -> Sequence[AnyCase]:
        return ()

    def series(self, results: Results) -> Series:
        found = dict(sorted(self.row.estimated.items()))
        return Series.of(self.label, list(found), found.values())


def study(found: Board) -> Study:
    """Return the study of a board."""
    spec = found.folder.spec()
    ranked = [row for row in found.rows if row.rank is not None]
    figures = [
        Figure(
            "board",
            "The board: how close each policy comes to the bound",
            "At every load, 1 is the maximum that a policy can reach on average without knowing "
            "which customers will buy. " + _leaders_words(found.rows),
            drawing=Drawing(
                lambda results: _efficiency_heat(ranked),
                f"Heat table of {len(ranked)} policies by offered load: revenue efficiency as "
                "estimated. The table below has the numbers.",
                "The best policy over all loads is at the top.",
            ),
            tables=[
                _fixed(board.efficiency_table(found.rows, found.recoveries)),
                _fixed(board.differences_table(found.rows)),
            ],
        ),
        Figure(
            "curves",
            "Efficiency over the offered load",
            "A falling curve means that the policy reaches a smaller share of the bound at higher "
            "loads.",
            panels=[
                Panel(
                    "Efficiency",
                    "revenue efficiency, estimated",
                    "offered load ρ",
                    "share of the bound",
                    [_RowCurve(row.title, row) for row in ranked],
                    digits=2,
                )
            ],
        ),
        Figure(
            "counted",
            "Confirms as counted",
            "Here, the efficiency is calculated from the actual purchases.",
            tables=[_fixed(board.confirms_table(found.rows))],
        ),
        Figure(
            "conditions",
            "Conditions of each row",
            "The table lists the settings that differ from a row's defaults, and what happens when "
            "a customer leaves.",
            tables=[_fixed(board.conditions_table(spec))],
        ),
    ]
    if found.steps:
        figures.append(
            Figure(
                "ablation",
                "DOOR, one rule at a time",
                ablation.words(found.steps),
                tables=[_fixed(ablation.table(found.steps))],
            )
        )
    if found.fairness:
        figures.append(_fairness_figure(found))
    return Study(
        "leaderboard",
        f"{spec.title}: which policy would you use today?",
        (
            "The papers' policies, policies in use today and this project's policies serve the "
            "same customers at the same loads, "
            + ("in the simulator." if spec.engine == "simulated" else "on the running appliance."),
        ),
        figures,
        _claims(found),
    )


def _fairness_figure(found: Board) -> Figure:
    return Figure(
        "fairness",
        f"Fairness at ρ = {found.fairness_rho:g}: which sessions complete, and how soon the "
        "others get an answer",
        "A session can be lost at each of its planned requests. Longer sessions are therefore "
        "lost more easily. A customer who is turned away at once has lost only the visit; a "
        "customer who leaves after half a minute has also lost time.",
        drawing=Drawing(
            lambda results: _fairness_heat(found.fairness),
            "Heat table of policies by planned length of the session: the percentage of sessions "
            "that completed. The table below has the numbers.",
            "If a row has the same colour everywhere, the policy treats short and long sessions "
            "alike.",
        ),
        tables=[_fixed(table) for table in found.fairness_tables()],
    )


def _efficiency_heat(rows: Sequence[Row]) -> Heat:
    loads = board.loads_of(rows)
    return Heat(
        [row.title for row in rows],
        [*(f"ρ = {rho:g}" for rho in loads), "all"],
        [
            [
                *(row.estimated[rho].mean if rho in row.estimated else None for rho in loads),
                row.overall.mean,
            ]
            for row in rows
        ],
        scale="share of the capacity bound",
    )


def _fairness_heat(rows: Sequence[FairnessRow]) -> Heat:
    def percent(row: FairnessRow, words: str) -> float | None:
        known = row.completed(words)
        return 100 * known.mean if known else None

    return Heat(
        [row.title for row in rows],
        [known.words for known in CLASSES],
        [[percent(row, known.words) for known in CLASSES] for row in rows],
        high=100.0,
        digits=0,
        scale="completed sessions, %",
    )


def _leaders_words(rows: Sequence[Row]) -> str:
    told = []
    for rho in board.loads_of(rows):
        if titles := [row.title for row in board.leaders(rows, rho)]:
            best, *level = titles
            beside = f" (level with it: {'; '.join(level)})" if level else ""
            told.append(f"At ρ = {rho:g}, {best} is the best{beside}.")
    return " ".join(told)


def _claims(found: Board) -> list[Claim]:
    spec = found.folder.spec()
    required = REQUIRED_OF_DOOR if spec.engine == "simulated" else REQUIRED_OF_DOOR_LIVE
    claims = [
        _claim(
            f"{title_of(row.policy)} comes near the bound at every load",
            f"at least {required:.2f} at each",
            (
                ", ".join(f"{row.estimated[rho].mean:.3f}" for rho in sorted(row.estimated)),
                all(one.mean >= required for one in row.estimated.values()),
            ),
        )
        for row in sorted(found.rows, key=lambda row: row.policy, reverse=True)
        if row.policy in ("door-lifo", "door-fifo")
    ]
    loads = [rho for rho in spec.load.rhos if rho is not None]
    with_interval = sum(
        rho in row.estimated and row.estimated[rho].half_width is not None
        for row in found.rows
        for rho in loads
    )
    wanted = len(spec.policy) * len(loads)
    claims.append(
        _claim(
            "Every policy has a row, with an interval for every load",
            f"{wanted} values with an interval",
            (f"{with_interval}", with_interval == wanted),
        )
    )
    if found.steps:
        fallen = [step.words for step in found.steps if step.falls]
        claims.append(
            _claim(
                "No step of DOOR's ablation falls beyond its interval",
                "none of four",
                (", ".join(fallen) or "none", not fallen),
            )
        )
    return claims


def _claim(text: str, required: str, verdict: Verdict) -> Claim:
    return Claim(text, required, (), lambda results: verdict)


def _fixed(table: Table) -> BuiltTable:
    return BuiltTable((), lambda results: table)
