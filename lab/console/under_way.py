"""The live run under way: which launch, which of its runs, at what load.

Owns: finding it in the launches and in its result folder. Must not know: the gateway, pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.console.models import Launch, State
from lab.console.settings import LAB
from lab.experiments.errors import ExperimentError
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder
from lab.experiments.titles import title_of


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A live launch that is being carried out; `run` is None before its first run and between."""

    launch: Launch
    planned: PlannedRun | None = None
    run: RunFolder | None = None
    of: int = 0

    def told(self) -> Mapping[str, Any]:
        """As a frame has it."""
        found: dict[str, Any] = {
            "launch": self.launch.pk,
            "title": self.launch.title,
            "words": self.launch.words or "measuring the capacity",
        }
        if self.planned is not None and self.run is not None:
            load = "closed loop" if self.planned.rho is None else f"ρ = {self.planned.rho:g}"
            found |= {
                "run": self.planned.number,
                "of": self.of,
                "words": f"run {self.planned.number}/{self.of}: "
                f"{title_of(self.planned.policy)}, {load}",
                "load_factor": self.run.load_factor(),
            }
        return found


def under_way() -> UnderWay | None:
    """The live launch of this console that runs; None if there is none."""
    launch = Launch.objects.filter(state=State.RUNNING, engine="live").first()
    if launch is None:
        return None
    if not launch.result:
        return UnderWay(launch)
    folder = ResultFolder(LAB.results_dir / launch.result)
    try:
        plan = folder.plan()
    except ExperimentError:  # a reproduction has a plan of another kind, or none yet
        return UnderWay(launch)
    begun = [(planned, folder.run(planned)) for planned in plan]
    planned, run = next(
        (one for one in begun if one[1].events_file.is_file() and not one[1].is_whole), (None, None)
    )
    return UnderWay(launch, planned, run, len(plan))
