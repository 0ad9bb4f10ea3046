"""The numbers that a figure shows: curves, a heat table, or courses over time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lab.intervals import Estimate


@dataclass(frozen=True, slots=True)
class Series:
    """A curve as numbers. `half_width` is the half-width of the 95 % interval, or None."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    half_width: Sequence[float | None]

    @classmethod
    def of(cls, label: str, x: Sequence[float], found: Iterable[Estimate | None]) -> "Series":
        """Return the curve of these estimates; None is a gap."""
        known = list(found)
        y = [one and one.mean for one in known]
        return cls(label, x, y, [one and one.half_width for one in known])

    @property
    def has_intervals(self) -> bool:
        """Whether any point has an interval. Formulas and single runs have none."""
        return any(half is not None for half in self.half_width)


PanelKind = Literal["lines", "plain", "steps", "bars"]
"""The kinds of panel: `lines` have a marker and an interval at each x.

`plain` lines have many points, so they have no markers and no intervals. `steps` are constant
between the values of x. `bars` are bars in groups.
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A named part of the x axis."""

    name: str
    from_x: float
    until_x: float


@dataclass(frozen=True, slots=True)
class Level:
    """The published value or range of a curve on a part of the x axis."""

    label: str
    """The label of the curve."""
    from_x: float
    until_x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Heat:
    """A table of numbers by row and column, drawn in colours; None is an empty cell.

    The colours range from `low` to `high`.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    low: float = 0.0
    high: float = 1.0
    digits: int = 2
    scale: str = "share of the bound"
    """The label on the colour scale."""


@dataclass(frozen=True, slots=True)
class Course:
    """One policy's response times and queue lengths before, during and after the rush. `time_s` and
    `recovered_s` are paper seconds since the end of the rush."""

    title: str
    time_s: Sequence[float]
    response_s: Sequence[float | None]
    """The 95th percentile of response times: inf while too many customers leave, and None while too
    few attempts end.
    """
    waiting: Sequence[float]
    recovered_s: float | None
    """The time of recovery; None if the policy did not recover within the observed time."""
    ending: str
    """The end of the title: the time of recovery, or a note that there was none."""


@dataclass(frozen=True, slots=True)
class Courses:
    """The courses of several policies, which are drawn side by side with common axes. Response
    times above `ceiling_s`, and the response times of customers who leave, are drawn at the top
    edge."""

    courses: Sequence[Course]
    rush_s: float
    ceiling_s: float


Picture = Heat | Courses
"""A figure without panels."""
