"""The live run under way: of which experiment, which of its runs, at what load.

Owns: finding it among the runs that make themselves known, in the launches and in its result
folder. Must not know: the gateway, pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.console.lanes import Seen
from lab.console.models import Launch, State
from lab.console.settings import LAB
from lab.experiments import lane, live_runs
from lab.experiments.errors import ExperimentError
from lab.experiments.event_words import load_words
from lab.experiments.peers import shown
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder
from lab.experiments.spec import Spec
from lab.experiments.titles import title_of


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A live experiment that is carried out, launched here or begun at a terminal; `run` is None
    before its first run and between."""

    title: str
    words: str
    """While there is no run."""
    launch: Launch | None = None
    """Of this console, if this is its result."""
    planned: PlannedRun | None = None
    run: RunFolder | None = None
    of: int = 0
    beside: tuple[tuple[PlannedRun, RunFolder], ...] = ()
    """The runs that are made at the same time as `run`, that one too; else empty."""

    def set_load_factor(self, factor: float) -> None:
        """More or fewer customers from now on; of all runs that are made at the same time."""
        for run in [run for _, run in self.beside] or [self.run]:
            if run is not None:
                run.set_load_factor(factor)

    def told(self) -> Mapping[str, Any]:
        """As a frame has it."""
        found: dict[str, Any] = {"title": self.title, "words": self.words}
        if self.planned is not None and self.run is not None:
            found |= {
                "experiment": _experiment(self.run),
                "run": self.planned.number,
                "of": self.of,
                "words": f"{self._which()}, {load_words(self.planned.rho)}",
                "load_factor": self.run.load_factor(),
            }
        return found

    def _which(self) -> str:
        assert self.planned is not None
        if not self.beside:
            found = f"run {self.planned.number}/{self.of}: {title_of(self.planned.policy)}"
            if self.run is not None and self.run.peer_file.is_file():
                found += " in the gateway's place (which pages wait is known when it is over)"
            return found
        numbers = [planned.number for planned, _ in self.beside]
        titles = " | ".join(title_of(planned.policy) for planned, _ in self.beside)
        return f"runs {min(numbers)} to {max(numbers)} of {self.of} at once: {titles}"


def under_way() -> UnderWay | None:
    """What is carried out live on this machine; None if nothing is.

    A run makes itself known, whoever began it; what is before the first run and between, only the
    launch knows.
    """
    launch = Launch.objects.filter(state=State.RUNNING, engine="live").first()
    told = live_runs.under_way(LAB.state_dir)
    if not told:
        return launch and UnderWay(launch.title, launch.words or "measuring the capacity", launch)
    experiment = told[0]["experiment"]
    folder = ResultFolder(LAB.results_dir / experiment)
    if launch is not None and launch.result != experiment:
        launch = None  # it waits for this one; or has it made, and has not said so yet
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
        begun = [one for one in begun if one[1].lane_file.is_file()]
        begun.sort(key=lambda one: order.index(one[0].policy))
    first = begun[0] if begun else (None, None)
    return UnderWay(
        launch.title if launch is not None else spec.title,
        "between two runs",
        launch,
        *first,
        len(plan),
        tuple(begun) if spec.at_once else (),
    )


def lanes_now() -> list[Seen]:
    """The shops of the runs under way that are made at the same time, in the order of the spec."""
    going = under_way()
    if going is None:
        return []
    return [
        Seen(f"{_experiment(run)}/{run.path.name}", title_of(planned.policy), where)
        for planned, run in going.beside
        if (where := lane.read(run)) is not None
    ]


def peer_now() -> Mapping[str, Any] | None:
    """What the peer in the gateway's place says, of the run under way; None without one."""
    going = under_way()
    return None if going is None or going.run is None else shown.read(going.run)


def _experiment(run: RunFolder) -> str:
    return run.path.parents[1].name


@cache
def _spec(folder: Path) -> Spec:
    """The spec of a result, which nobody changes."""
    return ResultFolder(folder).spec()
