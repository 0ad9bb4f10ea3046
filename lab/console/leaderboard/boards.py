"""The leaderboards among the results, and the reports on robustness and hysteresis."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.console.results.result_list import ResultEntry
from lab.errors import ExperimentError
from lab.files.documents import read_json
from lab.intervals import Estimate
from lab.leaderboard import BOARD_FILE

SHADES = 10
"""The highest colour step that a cell of the table can have."""


@dataclass(frozen=True, slots=True)
class CellShown:
    """One cell of the leaderboard's table."""

    text: str
    value: float | None
    """The value by which a reader can sort the rows."""
    shade: int
    """The colour step of the cell, from 0 to SHADES. The step is proportional to the share of the
    bound that the cell shows."""


@dataclass(frozen=True, slots=True)
class RowShown:
    """One policy's row in the leaderboard's table."""

    title: str
    rank: int | None
    """The policy's rank; None for a step of DOOR's ablation."""
    cells: tuple[CellShown, ...]
    """The cells of the row: one for each load, and a last cell for the mean over the loads."""
    behind: str
    """The difference from the best row, paired by seed; `best` for the best row. A dash for a step,
    or if an older version of Doorbuster made the board."""
    recovery: CellShown
    """The time until recovery after a one-minute rush, in paper seconds."""


@dataclass(frozen=True, slots=True)
class BoardShown:
    """A board as a page shows it."""

    result: ResultEntry
    title: str
    engine: str
    made: int
    planned: int
    sessions: str
    repetitions: int
    loads: tuple[str, ...]
    rows: tuple[RowShown, ...]
    leaders: tuple[tuple[str, str, tuple[str, ...]], ...]
    """For each load: ρ, the best policy, and the policies that do not differ significantly from the
    best policy."""
    ablation: str

    @property
    def pictures(self) -> dict[str, bool]:
        """The names of the board's possible pictures, and whether each picture exists."""
        drawn = set(self.result.figures())
        return {key: key in drawn for key in ("board", "curves", "fairness")}

    @property
    def has_report(self) -> bool:
        """Whether the board's report page, with pictures and tables, exists."""
        return self.result.file("report.html") is not None

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """Return the tables in the report's entry with this key."""
        return next(
            (one["tables"] for one in self.result.figures_and_tables() if one["key"] == key), []
        )

    @property
    def ablation_tables(self) -> list[Mapping[str, Any]]:
        """The table that shows how much each rule of DOOR gains."""
        return self.tables("ablation")

    @property
    def fairness_tables(self) -> list[Mapping[str, Any]]:
        """The tables of the completed sessions, and of the waiting times of the other sessions."""
        return self.tables("fairness")


def boards(results: Iterable[ResultEntry]) -> list[BoardShown]:
    """Return the readable boards: this lab's boards, from the newest to the oldest, then the
    imported boards and the reference boards."""
    found = [
        board
        for result in results
        if (result.path / BOARD_FILE).is_file() and (board := _board(result)) is not None
    ]
    return sorted(
        found,
        key=lambda board: (board.result.reference is not None, board.result.imported is not None),
    )


def newest_report(results: Iterable[ResultEntry], paper: str) -> ResultEntry | None:
    """Return this lab's newest report on `paper`, or the reference report if this lab has
    none."""
    return next(
        (
            result
            for result in results
            if result.is_reproduction
            and result.imported is None
            and result.paper == paper
            and (result.reference or (result.path / "report.html").is_file())
        ),
        None,
    )


def _board(result: ResultEntry) -> BoardShown | None:
    """Return the board of a result; None if the board's file cannot be read as a board."""
    try:
        plain = read_json(result.path / BOARD_FILE)
        loads = tuple(str(load) for load in plain["loads"])
        return BoardShown(
            result=result,
            title=str(plain["heading"]),
            engine=str(plain["engine"]),
            made=int(plain["made"]),
            planned=int(plain["planned"]),
            sessions=str(plain["sessions"]),
            repetitions=int(plain["repetitions"]),
            loads=loads,
            rows=tuple(_row(row, loads) for row in plain["rows"]),
            leaders=tuple(
                (load, str(found[0]), tuple(map(str, found[1:])))
                for load in loads
                if (found := plain["leaders"].get(load))
            ),
            ablation=str(plain["ablation"]),
        )
    except (ExperimentError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        return None


def _row(row: Mapping[str, Any], loads: Iterable[str]) -> RowShown:
    cells = [_cell(row["estimated"].get(load)) for load in loads]
    rank = row["rank"]
    return RowShown(
        str(row["title"]),
        None if rank is None else int(rank),
        (*cells, _cell(row["overall"])),
        str(row.get("behind", "–")),
        _recovery(row.get("recovery")),
    )


def _recovery(plain: Mapping[str, Any] | None) -> CellShown:
    if plain is None:
        return CellShown("–", None, 0)
    mean = plain["mean"]
    return CellShown(str(plain["words"]), None if mean is None else float(mean), 0)


def _cell(plain: Mapping[str, Any] | None) -> CellShown:
    if plain is None:
        return CellShown("–", None, 0)
    half = plain["half_width"]
    known = Estimate(float(plain["mean"]), None if half is None else float(half))
    shade = round(SHADES * min(1.0, max(0.0, known.mean)))
    return CellShown(known.text(2), known.mean, shade)
