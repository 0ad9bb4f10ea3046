"""The scenarios of robustness, in which the customers, the load or the server differ from the
board's.

Each scenario is a change to a board's spec. Durations are paper seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.spec.experiment import Spec, changed

RHO = 1.4
"""The load ρ of all scenarios that do not change it."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A deviation from the usual conditions."""

    key: str
    title: str
    """The short title for the head of a column."""
    what: str
    """A sentence that describes the changed condition."""
    changes: Mapping[str, Any]
    """The changes to the spec, in the form that `lab.spec.experiment.changed` accepts."""

    def spec(self, base: Spec) -> Spec:
        """Return the board's spec in this scenario, at one load."""
        steady = {"load__rho": [RHO]} if "load" not in self.changes else {}
        return changed(base, leaderboard=False, **steady, **self.changes)


def scheduled(cycle: Sequence[tuple[float, float]], cycles: int) -> dict[str, Any]:
    """Return a section `[load]` that repeats these pairs of duration and ρ."""
    steps = [{"duration_s": duration_s, "rho": rho} for duration_s, rho in cycle]
    return {"schedule": steps * cycles}


_BURSTS = ((60.0, 0.5), (60.0, 2.5))
_FLASH = ((120.0, 0.9), (30.0, 4.5), (150.0, 0.9))


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return all scenarios, beginning with the usual scenario; `quick` shortens the scenarios with
    a changing load."""
    return (
        Scenario("usual", "usual", f"The customers are the board's, at ρ = {RHO:g}.", {}),
        Scenario(
            "bursts",
            "bursts",
            "The load alternates every minute between ρ = 0.5 and ρ = 2.5.",
            {"load": scheduled(_BURSTS, 4 if quick else 12)},
        ),
        Scenario(
            "flash-crowd",
            "flash crowd",
            "The load is ρ = 0.9, and every five minutes it is five times as high for 30 s.",
            {"load": scheduled(_FLASH, 2 if quick else 6)},
        ),
        Scenario(
            "slow-server",
            "pages twice as long",
            "Every page takes twice as long as planned, so the load is twice the stated load.",
            {"server": {"kind": "shared-cpus", "execution_factor": 2.0}},
        ),
        Scenario(
            "patience-halved",
            "half the patience",
            "Customers leave after 4 s + Exp(6 s) instead of 8 s + Exp(12 s).",
            {"customers__timeout_s": 4.0, "customers__think_timeout_mean_s": 6.0},
        ),
        Scenario(
            "patience-doubled",
            "twice the patience",
            "Customers leave after 16 s + Exp(24 s).",
            {"customers__timeout_s": 16.0, "customers__think_timeout_mean_s": 24.0},
        ),
        Scenario(
            "buys-less",
            "half as many buy",
            "After reading the details, 5 % of the customers want the book instead of 10 %.",
            {"customers__buy_probability": 0.05},
        ),
        Scenario(
            "buys-more",
            "half as many more buy",
            "After reading the details, 15 % of the customers want the book instead of 10 %.",
            {"customers__buy_probability": 0.15},
        ),
        Scenario(
            "think-times",
            "think times",
            "Customers pause between pages for an exponentially distributed time with a mean of 7 "
            "s, as in TPC-W.",
            {"customers__think_time_mean_s": 7.0},
        ),
    )
