"""The live run in progress, as the console's pages show it, and the sampler of the gateway."""

import contextlib
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab import wording
from lab.console.models import Launch, State
from lab.console.site.settings import LAB
from lab.console.watch.broadcast import Watch
from lab.console.watch.live_shops import Seen
from lab.engines.live import announcement as live_runs
from lab.engines.live import baseline_proxy, shop_file
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.results.comparison import ComparisonResult
from lab.runner.under_way import RunsUnderWay, load_factor_of, runs_under_way
from lab.wording import factor_words, load_words, title_of


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A live experiment in progress, whether it was started on this console or at a terminal. The
    experiment has no `run` before its first run and between runs."""

    title: str
    words: str
    """The text that pages show while no run is in progress."""
    launch: Launch | None = None
    """The launch of this console that produces the result; None if the run was started at a
    terminal.
    """
    runs: RunsUnderWay | None = None
    is_between: bool = False
    """Whether a run has ended and no other run has begun."""

    @property
    def run(self) -> RunFolder | None:
        """The run in progress, or the first of several runs in progress."""
        return None if self.runs is None else self.runs.run

    def told(self) -> Mapping[str, Any]:
        """Return the run as a frame contains it."""
        found: dict[str, Any] = {"title": self.title, "words": self.words}
        runs = self.runs
        if runs is not None and runs.planned is not None:
            factor = load_factor_of(runs.customers)
            found |= {
                "experiment": runs.experiment,
                "run": runs.planned.number,
                "of": runs.of,
                "words": f"{_which(runs)}, {load_words(runs.planned.rho)}",
                "load_factor": factor,
                "load_words": factor_words(factor, runs.planned.rho),
                "customers": None if runs.beside else runs.customers,
                "patience_s": _patience_s(runs),
            }
        return found | ({"between": True} if self.is_between else {})


def _patience_s(runs: RunsUnderWay) -> float | None:
    """Return the mean patience of the customers in paper seconds; None if they never leave. The
    value is also None for a closed loop, because its clients have several kinds of patience."""
    assert runs.planned is not None
    if runs.spec is None or runs.planned.rho is None:
        return None
    customers = runs.spec.customers
    mean_s = customers.timeout_s + customers.think_timeout_mean_s
    return mean_s if math.isfinite(mean_s) else None


def _which(runs: RunsUnderWay) -> str:
    assert runs.planned is not None
    if not runs.beside:
        found = f"run {runs.planned.number}/{runs.of}: {title_of(runs.planned.policy)}"
        if runs.run is not None and runs.run.proxy_file.is_file():
            found += " instead of the gateway (the result will show which pages waited)"
        return found
    numbers = [planned.number for planned, _ in runs.beside]
    titles = " | ".join(title_of(planned.policy) for planned, _ in runs.beside)
    return f"runs {min(numbers)} to {max(numbers)} of {runs.of} at once: {titles}"


def under_way() -> UnderWay | None:
    """Return the live experiment in progress; None if there is none. The process of an experiment
    announces each run and each capacity measurement. At other times, only the launch shows that an
    experiment is in progress.
    """
    launch = Launch.objects.filter(state=State.RUNNING, engine="live").first()
    runs = runs_under_way(LAB)
    if runs is None:
        if (measured := live_runs.measuring(LAB.state_dir)) is not None:
            return _measuring(measured, launch)
        return None if launch is None else _without_run(launch)
    if launch is not None and launch.result != runs.experiment:
        launch = None  # the launch waits for this run, or has not yet reported the run's end
    if not runs.title:
        return UnderWay(runs.experiment, "a run from a terminal", launch)
    title = launch.title if launch is not None else runs.title
    return UnderWay(title, "the next run begins soon", launch, runs)


def _measuring(told: Mapping[str, Any], launch: Launch | None) -> UnderWay:
    """Return the state of an experiment before its first run. `told` is from
    `live_runs.measuring`."""
    if launch is not None and launch.title != told["measures"]:
        launch = None  # the launch waits for this measurement
    left_s = told["until"] - time.time()
    left = f"about {wording.duration(left_s)} of real time left" if left_s >= 1 else "a moment left"
    words = (
        f"Measuring the shop's capacity: {left}. Purchases count from the start of the first run."
    )
    return UnderWay(told["measures"], words, launch)


def _without_run(launch: Launch) -> UnderWay:
    """Return the state of a launch before its first run, between two runs or after its last run."""
    made = planned = 0
    if launch.result:
        folder = ComparisonResult(LAB.results_dir / launch.result)
        with contextlib.suppress(ExperimentError):
            planned, made = len(folder.plan()), len(folder.whole_runs())
    if made == 0:
        return UnderWay(launch.title, launch.words or "the first run is being prepared", launch)
    words = "the next run begins soon" if made < planned else "the report is being written"
    return UnderWay(launch.title, words, launch, is_between=True)


def live_shops_now() -> list[Seen]:
    """Return the shops of the simultaneous runs in progress, in the order of the spec."""
    going = runs_under_way(LAB)
    if going is None:
        return []
    return [
        Seen(f"{run.experiment}/{run.path.name}", title_of(planned.policy), where)
        for planned, run in going.beside
        if (where := shop_file.read(run)) is not None
    ]


def proxy_now() -> Mapping[str, Any] | None:
    """Return the state of the baseline proxy in the gateway's place; None if there is none."""
    going = runs_under_way(LAB)
    return None if going is None or going.run is None else baseline_proxy.read_status(going.run)


def _told() -> Mapping[str, Any] | None:
    found = under_way()
    return None if found is None else found.told()


watch = Watch(LAB, _told, live_shops_now, proxy_now)
"""The sampler that all viewers of this server process share."""
