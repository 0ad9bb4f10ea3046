"""The numbers behind a figure: curves, a heat table, courses over time. Nothing here draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Series:
    """A curve with its numbers; `half_width` is that of the 95 % interval, or None."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    half_width: Sequence[float | None]

    @property
    def has_intervals(self) -> bool:
        """Whether any point has an interval; formulas and single simulations have none."""
        return any(half is not None for half in self.half_width)


PanelKind = Literal["lines", "plain", "steps", "bars"]
"""The kinds of panel.

`lines` have a marker and an interval at each x, `plain` lines are many points, `steps` are constant
between x, and `bars` are in groups.
"""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the x axis that has a name."""

    name: str
    from_x: float
    until_x: float


@dataclass(frozen=True, slots=True)
class Level:
    """The published value of a curve over a part of the x axis: one value, or from low to high."""

    label: str
    """The label of the curve."""
    from_x: float
    until_x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Heat:
    """Numbers by row and column, or None for an empty cell. Colours go from `low` to `high`."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    low: float
    high: float
    digits: int
    scale: str
    """The meaning of the colours."""


@dataclass(frozen=True, slots=True)
class Course:
    """One policy before, during and after the rush; times since the rush's end, paper s."""

    title: str
    time_s: Sequence[float]
    response_s: Sequence[float | None]
    """95th percentile; inf while too many customers leave, None without any ended request."""
    waiting: Sequence[float]
    recovered_s: float | None
    """None: not within the observed time."""
    ending: str
    """The ending for the title: the time of recovery, or that there was none."""


@dataclass(frozen=True, slots=True)
class Courses:
    """Courses drawn side by side with common axes.

    Response times above `ceiling_s`, and those of customers who leave, are drawn at the top.
    """

    courses: Sequence[Course]
    rush_s: float
    ceiling_s: float


Picture = Heat | Courses
"""A figure without panels."""
