"""The live run under way: which launch, which of its runs, at what load.

Owns: finding it in the launches and in its result folder. Must not know: the gateway, pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.console.lanes import Seen
from lab.console.models import Launch, State
from lab.console.settings import LAB
from lab.experiments import lane
from lab.experiments.errors import ExperimentError
from lab.experiments.event_words import load_words
from lab.experiments.peers import shown
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder
from lab.experiments.spec import Spec
from lab.experiments.titles import title_of


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A live launch that is being carried out; `run` is None before its first run and between."""

    launch: Launch
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
        found: dict[str, Any] = {
            "launch": self.launch.pk,
            "title": self.launch.title,
            "words": self.launch.words or "measuring the capacity",
        }
        if self.planned is not None and self.run is not None:
            found |= {
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
    """The live launch of this console that runs; None if there is none."""
    launch = Launch.objects.filter(state=State.RUNNING, engine="live").first()
    if launch is None:
        return None
    if not launch.result:
        return UnderWay(launch)
    folder = ResultFolder(LAB.results_dir / launch.result)
    try:
        plan, spec = folder.plan(), _spec(folder.path)
    except ExperimentError:  # a reproduction has a plan of another kind, or none yet
        return UnderWay(launch)
    begun = [
        (planned, run)
        for planned, run in ((planned, folder.run(planned)) for planned in plan)
        if run.events_file.is_file() and not run.is_whole
    ]
    if not spec.at_once:
        return UnderWay(launch, *(begun[0] if begun else (None, None)), len(plan))
    order = [choice.key for choice in spec.policy]
    beside = sorted(
        (one for one in begun if one[1].lane_file.is_file()),
        key=lambda one: order.index(one[0].policy),
    )
    return UnderWay(launch, *(beside[0] if beside else (None, None)), len(plan), tuple(beside))


def lanes_now() -> list[Seen]:
    """The shops of the runs under way that are made at the same time, in the order of the spec."""
    going = under_way()
    if going is None:
        return []
    return [
        Seen(f"{going.launch.pk}/{run.path.name}", title_of(planned.policy), where)
        for planned, run in going.beside
        if (where := lane.read(run)) is not None
    ]


def peer_now() -> Mapping[str, Any] | None:
    """What the peer in the gateway's place says, of the run under way; None without one."""
    going = under_way()
    return None if going is None or going.run is None else shown.read(going.run)


@cache
def _spec(folder: Path) -> Spec:
    """The spec of a result, which nobody changes."""
    return ResultFolder(folder).spec()
