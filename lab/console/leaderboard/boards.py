"""The leaderboards among the results, and the reports on robustness and hysteresis."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat, SkipValidation, ValidationError

from lab.console.results.result_list import ResultEntry
from lab.errors import ExperimentError
from lab.files.documents import read_json
from lab.intervals import Estimate
from lab.leaderboard import BOARD_FILE

SHADES = 10
"""The highest colour step that a cell of the table can have."""


class Mean(BaseModel):
    """A mean with its interval, as a share of the bound."""

    mean: FiniteFloat
    half_width: float | None

    @property
    def text(self) -> str:
        return Estimate(self.mean, self.half_width).text(2)

    @property
    def shade(self) -> int:
        """The colour step of the cell, from 0 to SHADES, proportional to the share."""
        return round(SHADES * min(1.0, max(0.0, self.mean)))


class Recovery(BaseModel):
    """The time until recovery after a one-minute rush, in paper seconds."""

    words: str
    mean: float | None


class Row(BaseModel):
    """One policy's row in the leaderboard's table."""

    title: str
    rank: int | None
    """The policy's rank; None for a step of DOOR's ablation."""
    estimated: dict[str, Mean | None]
    """The efficiency at each load."""
    overall: Mean | None
    """The mean efficiency over the loads."""
    behind: str = "–"
    """The difference from the best row, paired by seed; `best` for the best row. A dash for a step,
    or if an older version of Doorbuster made the board."""
    recovery: Recovery | None = None


class Board(BaseModel):
    """The content of BOARD_FILE, and the result to which the file belongs."""

    model_config = ConfigDict(coerce_numbers_to_str=True, arbitrary_types_allowed=True)

    result: SkipValidation[ResultEntry]
    heading: str
    engine: str
    made: int
    planned: int
    sessions: str
    repetitions: int
    loads: tuple[str, ...]
    rows: tuple[Row, ...]
    leaders: dict[str, tuple[str, ...]]
    """For each load: the best policy, and the policies that do not differ significantly from it."""
    ablation: str

    @property
    def rows_with_cells(self) -> list[tuple[Row, list[Mean | None]]]:
        """Each row with its cells: one for each load, and one for the mean over the loads."""
        return [
            (row, [*(row.estimated.get(load) for load in self.loads), row.overall])
            for row in self.rows
        ]

    @property
    def best(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """For each load with leaders: ρ, the best policy, and the policies that do not differ
        significantly from it."""
        return [
            (load, found[0], found[1:]) for load in self.loads if (found := self.leaders.get(load))
        ]

    @property
    def pictures(self) -> set[str]:
        """The names of the board's pictures."""
        return set(self.result.figures)

    @property
    def has_report(self) -> bool:
        """Whether the board's report page, with pictures and tables, exists."""
        return self.result.file("report.html") is not None

    @property
    def tables(self) -> dict[str, list[Mapping[str, Any]]]:
        """The tables of the report, by the key of their entry, for example `ablation`."""
        return {one["key"]: one["tables"] for one in self.result.figures_and_tables}


def boards(results: Iterable[ResultEntry]) -> list[Board]:
    """Return the readable boards: this lab's boards, from the newest to the oldest, then the
    imported boards and the reference boards."""
    found = [
        board
        for result in results
        if (result.path / BOARD_FILE).is_file() and (board := _board(result)) is not None
    ]
    return sorted(found, key=lambda one: (bool(one.result.reference), bool(one.result.imported)))


def newest_report(results: Iterable[ResultEntry], paper: str) -> ResultEntry | None:
    """Return this lab's newest report on `paper`; if there is none, the reference report or
    None."""
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


def _board(result: ResultEntry) -> Board | None:
    """Return the board of a result; None if the board's file cannot be read as a board."""
    try:
        return Board(result=result, **read_json(result.path / BOARD_FILE))
    except (ExperimentError, TypeError, ValidationError):
        return None
