"""The live run in progress: its experiment, its number and its load."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from common.waiting import wait_until
from lab import durations
from lab.analysis.event_words import load_words
from lab.console.models import Launch, State
from lab.console.site.settings import LAB
from lab.console.watch.live_shops import Seen
from lab.engines.live import announcement as live_runs
from lab.engines.live import proxy_status as shown
from lab.engines.live import shop_file
from lab.errors import ExperimentError
from lab.files.run_folder import PlannedRun, RunFolder
from lab.results.comparison import ComparisonResult
from lab.spec.experiment import Spec
from lab.titles import title_of

_TAKEN_OVER_WITHIN_S = 5.0
"""Real seconds; customers read the factor five times a second and report it once a second."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A live experiment in progress, launched here or from a terminal.

    `run` is None before its first run and between runs.
    """

    title: str
    words: str
    """The text while there is no run."""
    launch: Launch | None = None
    """The launch of this console whose result this is; otherwise None."""
    planned: PlannedRun | None = None
    run: RunFolder | None = None
    of: int = 0
    beside: tuple[tuple[PlannedRun, RunFolder], ...] = ()
    """The runs at the same time as `run`, including it; otherwise empty."""
    customers: Mapping[str, Any] = field(default_factory=dict)
    """The counts of the customers of `run` so far (`loadgen.tally`); empty at first."""
    is_between: bool = False
    """Whether a run has ended and the next one has not begun."""

    def set_load_factor(self, factor: float) -> None:
        """Change the number of customers from now on, in all runs at the same time.

        It returns once the customers have adopted the change. Raises ExperimentError if they do
        not.
        """
        runs: list[RunFolder | None] = [run for _, run in self.beside] or [self.run]
        try:
            for run in runs:
                if run is not None:
                    run.set_load_factor(factor)
        except OSError as fault:
            raise ExperimentError(
                f"The load cannot be changed: {fault.filename}: {fault.strerror}."
            ) from None

        def is_taken_over() -> bool:
            told = live_runs.under_way(LAB.state_dir)
            of_runs = [
                next((one for one in told if run is not None and _is_of(one, run)), None)
                for run in runs
            ]
            if None in of_runs:
                raise ExperimentError("The run ended before the load changed.")
            if all(one and load_factor_of(one["customers"]) == factor for one in of_runs):
                return True
            if any(one and _all_have_come(one["customers"]) for one in of_runs):
                raise ExperimentError(
                    "All customers of this run have come: there are no arrivals left to change."
                )
            return False

        if not wait_until(is_taken_over, _TAKEN_OVER_WITHIN_S, every_s=0.1):
            raise ExperimentError(
                f"The customers have not taken the change over within "
                f"{_TAKEN_OVER_WITHIN_S:g} s (real time). The head of this page shows the "
                "load that they have."
            )

    def told(self) -> Mapping[str, Any]:
        """Return the run in the form of a frame."""
        found: dict[str, Any] = {"title": self.title, "words": self.words}
        if self.planned is not None and self.run is not None:
            found |= {
                "experiment": _experiment(self.run),
                "run": self.planned.number,
                "of": self.of,
                "words": f"{self._which()}, {load_words(self.planned.rho)}",
                "load_factor": load_factor_of(self.customers),
                "customers": None if self.beside else self.customers,
            }
        return found | ({"between": True} if self.is_between else {})

    def _which(self) -> str:
        assert self.planned is not None
        if not self.beside:
            found = f"run {self.planned.number}/{self.of}: {title_of(self.planned.policy)}"
            if self.run is not None and self.run.proxy_file.is_file():
                found += " in the gateway's place (which pages wait is known when it is over)"
            return found
        numbers = [planned.number for planned, _ in self.beside]
        titles = " | ".join(title_of(planned.policy) for planned, _ in self.beside)
        return f"runs {min(numbers)} to {max(numbers)} of {self.of} at once: {titles}"


def under_way() -> UnderWay | None:
    """Return the live experiment on this machine; None if there is none.

    A run and a capacity measurement announce themselves, whichever process began them. Only the
    launch knows the time before and between runs.
    """
    launch = Launch.objects.filter(state=State.RUNNING, engine="live").first()
    told = live_runs.under_way(LAB.state_dir)
    if not told:
        if (measured := live_runs.measuring(LAB.state_dir)) is not None:
            return _measuring(measured, launch)
        return None if launch is None else _without_run(launch)
    experiment = told[0]["experiment"]
    folder = ComparisonResult(LAB.results_dir / experiment)
    if launch is not None and launch.result != experiment:
        launch = None  # it waits for this one, or has finished it and not yet reported that
    try:
        plan, spec = folder.plan(), _spec(folder.path)
    except ExperimentError:  # its results are kept elsewhere
        return UnderWay(experiment, "a run from a terminal", launch)
    going = {one["run"] for one in told if one["experiment"] == experiment}
    begun = [
        (planned, run)
        for planned, run in ((planned, folder.run(planned)) for planned in plan)
        if run.path.name in going
    ]
    if spec.at_once:
        order = [choice.key for choice in spec.policy]
        begun = [one for one in begun if one[1].live_shop_file.is_file()]
        begun.sort(key=lambda one: order.index(one[0].policy))
    planned, run = begun[0] if begun else (None, None)
    return UnderWay(
        launch.title if launch is not None else spec.title,
        "between two runs",
        launch,
        planned,
        run,
        of=len(plan),
        beside=tuple(begun) if spec.at_once else (),
        customers=_customers_of(told, run),
    )


def _customers_of(told: Sequence[Mapping[str, Any]], run: RunFolder | None) -> Mapping[str, Any]:
    """Return the counts of the customers of `run` so far."""
    found = (one["customers"] for one in told if run is not None and _is_of(one, run))
    return next(found, {})


def _measuring(told: Mapping[str, Any], launch: Launch | None) -> UnderWay:
    """Return the state before the first run; `told` is from `live_runs.told_measuring`."""
    if launch is not None and launch.title != told["measures"]:
        launch = None  # it waits for this one
    left_s = told["until"] - time.time()
    left = f"about {durations.duration(left_s)} left" if left_s >= 1 else "a moment left"
    words = f"Measuring the shop's capacity: {left}. Purchases count from the first run on."
    return UnderWay(told["measures"], words, launch)


def _without_run(launch: Launch) -> UnderWay:
    """Return a launch before its first run, between two runs or after the last one."""
    made = planned = 0
    if launch.result:
        folder = ComparisonResult(LAB.results_dir / launch.result)
        with contextlib.suppress(ExperimentError):
            planned, made = len(folder.plan()), len(folder.whole_runs())
    if made == 0:
        return UnderWay(launch.title, launch.words or "preparing the first run", launch)
    words = "between two runs" if made < planned else "writing the report"
    return UnderWay(launch.title, words, launch, is_between=True)


def load_factor_of(customers: Mapping[str, Any]) -> float:
    """Return the present factor on the rate of customers, from their counts."""
    changes = customers.get("load_changes") or [{"factor": 1.0}]
    return float(changes[-1]["factor"])


def _all_have_come(customers: Mapping[str, Any]) -> bool:
    planned: int = customers.get("planned", 0)
    started: int = customers.get("started", 0)
    return 0 < planned <= started


def _is_of(told: Mapping[str, Any], run: RunFolder) -> bool:
    return (told["experiment"], told["run"]) == (_experiment(run), run.path.name)


def live_shops_now() -> list[Seen]:
    """Return the shops of simultaneous runs in progress, in the order of the spec."""
    going = under_way()
    if going is None:
        return []
    return [
        Seen(f"{_experiment(run)}/{run.path.name}", title_of(planned.policy), where)
        for planned, run in going.beside
        if (where := shop_file.read(run)) is not None
    ]


def proxy_now() -> Mapping[str, Any] | None:
    """Return the state of the baseline proxy in the gateway's place; None without one."""
    going = under_way()
    return None if going is None or going.run is None else shown.read(going.run)


def _experiment(run: RunFolder) -> str:
    return run.path.parents[1].name


@cache
def _spec(folder: Path) -> Spec:
    """Return the spec of a result, which never changes."""
    return ComparisonResult(folder).spec()
