"""Changing the load of a run that goes on: the same customers, from now on sooner or later.

Owns: the schedule's time against the run's, the file that says the factor, what was changed when.
Must not know: who arrives, what a customer does.
"""

import math
from pathlib import Path
from typing import NamedTuple

HIGHEST = 10.0
"""0, at which nobody arrives, to this."""
LOOK_EVERY_S = 0.2
"""Real seconds between two looks at the file."""


class Change(NamedTuple):
    """From `at_s` on the run's clock (paper seconds), arrivals at `factor` times their rate."""

    at_s: float
    factor: float


class Pace:
    """When, on the run's clock, what the schedule has for a time is due. All paper seconds.

    The schedule's clock goes `factor` times as fast as the run's: so whoever comes is the same
    customer, and a Poisson process stays one, at `factor` times its rate.
    """

    def __init__(self) -> None:
        self.factor = 1.0
        self.changes: list[Change] = []
        self._run_s = 0.0
        self._schedule_s = 0.0

    def change(self, now_s: float, factor: float) -> None:
        """Another factor from `now_s` on."""
        self._schedule_s += (now_s - self._run_s) * self.factor
        self._run_s, self.factor = now_s, factor
        self.changes.append(Change(now_s, factor))

    def due_s(self, schedule_s: float) -> float:
        """The run's time at which the schedule's `schedule_s` comes, as things stand."""
        ahead_s = schedule_s - self._schedule_s
        if ahead_s <= 0:
            return self._run_s
        return self._run_s + ahead_s / self.factor if self.factor else math.inf


def read(path: Path, otherwise: float) -> float:
    """The factor that the file says; `otherwise` where it says none, or what cannot be meant."""
    try:
        factor = float(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return otherwise
    return factor if 0 <= factor <= HIGHEST else otherwise
