"""What a figure shows, as numbers: curves, a heat table, courses over time. Nothing here draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Series:
    """A curve with its numbers; `half_width` is that of the 95 % interval, None without one."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    half_width: Sequence[float | None]

    @property
    def has_intervals(self) -> bool:
        """False of a formula, and of cases that were simulated once."""
        return any(half is not None for half in self.half_width)


PanelKind = Literal["lines", "plain", "steps", "bars"]
"""`lines` have a marker and an interval at each x; `plain` lines are many points; `steps` are
constant between x; `bars` stand in groups."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the x axis that has a name."""

    name: str
    from_x: float
    until_x: float


@dataclass(frozen=True, slots=True)
class Level:
    """What was published of a curve over a part of the x axis: one value, or from low to high."""

    label: str
    """Of the curve."""
    from_x: float
    until_x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Heat:
    """Numbers by row and column; None where there is none. Colours go from `low` to `high`."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    low: float
    high: float
    digits: int
    scale: str
    """What the colours mean."""


@dataclass(frozen=True, slots=True)
class Course:
    """One policy before, during and after the rush; times since the rush's end, paper s."""

    title: str
    time_s: Sequence[float]
    response_s: Sequence[float | None]
    """95th percentile; inf while too many leave, None where nobody's request ended."""
    waiting: Sequence[float]
    recovered_s: float | None
    """None: not within what was watched."""
    ending: str
    """How it ended, for the title: when it recovered, or that it did not."""


@dataclass(frozen=True, slots=True)
class Courses:
    """Courses drawn side by side with common axes.

    Response times above `ceiling_s`, and those of customers who leave, are drawn at the top.
    """

    courses: Sequence[Course]
    rush_s: float
    ceiling_s: float


Picture = Heat | Courses
"""A figure that is no set of panels."""
