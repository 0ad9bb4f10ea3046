"""The change of the load during a run. After a change, the same customers arrive, but earlier or
later than planned.
"""

import math
from pathlib import Path
from typing import NamedTuple

HIGHEST = 10.0
"""The largest factor; the smallest is 0, at which no session arrives."""
LOOK_EVERY_S = 0.2
"""The real seconds between two reads of the file with the factor."""


class Change(NamedTuple):
    """A change of the load: after `at_s` paper seconds of the run's clock, sessions arrive at
    `factor` times the planned rate.
    """

    at_s: float
    factor: float


class Pace:
    """The relation between the run's clock and the schedule's clock, which runs `factor` times as
    fast. All times are paper seconds.

    The customers stay the same, and Poisson arrivals stay Poisson arrivals at `factor` times the
    rate.
    """

    def __init__(self) -> None:
        self.factor = 1.0
        self.changes: list[Change] = []
        self._run_s = 0.0
        self._schedule_s = 0.0

    def change(self, now_s: float, factor: float) -> None:
        self._schedule_s += (now_s - self._run_s) * self.factor
        self._run_s, self.factor = now_s, factor
        self.changes.append(Change(now_s, factor))

    def due_s(self, schedule_s: float) -> float:
        """Return the run's time at which the schedule's clock will show `schedule_s`, if the factor
        does not change.
        """
        ahead_s = schedule_s - self._schedule_s
        if ahead_s <= 0:
            return self._run_s
        return self._run_s + ahead_s / self.factor if self.factor else math.inf


def read(path: Path, otherwise: float) -> float:
    """Return the factor in the file, or `otherwise` if the file is missing or invalid."""
    try:
        factor = float(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return factor if 0 <= factor <= HIGHEST else otherwise
