"""The base classes of live reproductions.

`ApplianceStudy` runs the comparisons that a paper's `live.py` lists.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from lab.files.documents import read_json, write_json
from lab.files.run_folder import RunFolder
from lab.files.run_summary import PlannedRun
from lab.machine import speeds
from lab.machine.description import describe_machine, describe_versions
from lab.report.study_figures import Study
from lab.report.terminal import console
from lab.results.comparison import ComparisonResult
from lab.results.metrics import Metrics, Results
from lab.results.study import Simulation, StudyResult
from lab.results.study import plan as plan_simulations
from lab.runner.comparison import compare, plan
from lab.runner.estimates import IDLE, Estimate, command_name, cpus_here, of_command
from lab.runner.live import running_appliance
from lab.runner.stopwatch import stopwatch
from lab.runner.study import Options, StudyRun, simulate_missing
from lab.spec.cases import AnyCase
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.studies.measures import simulate_case
from lab.studies.study import PaperCases, PaperStudy

_COMPARISONS = "comparisons.json"

C = TypeVar("C", bound=PaperCases[Any])


class LiveStudy(StudyRun, Generic[C]):
    """A paper's live study on this machine."""

    def __init__(self, paper: PaperStudy[C], given: Mapping[str, Any]) -> None:
        """Create the study for these options of `doorbuster reproduce`. Raises ExperimentError if
        this machine cannot run it."""
        super().__init__()
        self.paper, self.given = paper, given
        self.quick: bool = given["quick"]
        self.seed = given["seed"]
        self.repetitions = given["repetitions"] or paper.repetitions("live", quick=self.quick)
        self.cases = paper.cases_of("live", quick=self.quick)
        self.versions, self.machine = describe_versions(), describe_machine(self.lab)
        is_default = paper.default_engine == "live"
        arguments = ["reproduce", paper.name, *([] if is_default else ["--engine", "live"])]
        arguments += ["--quick"] if self.quick else []
        self._name = command_name(arguments)
        self._estimate = of_command(arguments, speeds.load(self.lab), processes=cpus_here())

    @property
    def name(self) -> str:
        """Return the command's name: `reproduce-ad-server-quick`."""
        return self._name

    @property
    def folder_name(self) -> str:
        """Return the name of the result's folder: the paper's name, "live", and "quick" if the
        study is quick."""
        return f"reproduce-{self.paper.name}-live{'-quick' if self.quick else ''}"

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return the facts that every live study has: paper, engine, size, versions and machine."""
        return {
            "paper": self.paper.name,
            "engine": "live",
            "quick": self.quick,
            "versions": self.versions,
            "machine": self.machine,
        }

    @contextmanager
    def ready(self) -> Iterator[None]:
        """Print the expected duration if it is known."""
        if self._estimate is not None:
            console.print(f"The whole reproduction takes {self._estimate.words}, {IDLE}.")
        with stopwatch.live():
            yield

    def estimate(self, result: StudyResult) -> Estimate | None:
        """Return an estimate based on the duration of earlier runs of the same command."""
        return self._estimate

    def ended(self) -> None:
        """Keep the duration for later estimates, except in two cases: the result was resumed, or
        the user gave a number of repetitions or an option of this paper.
        """
        chosen = ("repetitions", *self.paper.options)
        if stopwatch.is_new and all(self.given[option] is None for option in chosen):
            stopwatch.spent(f"live {self.name}", 1, stopwatch.real_s)


@dataclass(frozen=True, slots=True)
class LivePart:
    """A comparison on the appliance, and the cases of its runs."""

    spec: Spec
    case_of: Callable[[PlannedRun], AnyCase]
    metrics_of: Callable[[RunFolder, ShopRun, float | None], Metrics]
    """A function that reads the metrics from a run's folder. Its arguments are the folder, the run,
    and the measured capacity in requests per paper second, which is None in a closed loop."""


PartsOf = Callable[[Any, int, int], Sequence[LivePart]]
"""A function that returns a paper's comparisons from the cases, first seed and repetitions."""


class ApplianceStudy(LiveStudy[C]):
    """A live study that runs comparisons on the appliance, and simulates all other cases."""

    def __init__(self, paper: PaperStudy[C], parts_of: PartsOf, given: Mapping[str, Any]) -> None:
        super().__init__(paper, given)
        self.parts = parts_of(self.cases, self.seed, self.repetitions)
        self._study = paper.report(self.cases, quick=self.quick)
        repetitions = paper.repetitions("simulated", quick=self.quick)
        self.simulations = simulations_of(
            self._study, self.parts, seed=self.seed, repetitions=repetitions
        )

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return the facts that every live study has, and the fingerprints of the comparisons'
        specs."""
        return {**super().facts, "specs": [part.spec.fingerprint for part in self.parts]}

    def begin(self) -> StudyResult:
        """Check that the appliance answers, then create the folder."""
        running_appliance(self.lab)
        return super().begin()

    def make(self, result: StudyResult, estimate: Estimate | None) -> None:
        """Carry out the missing comparisons, then simulate the remaining cases."""
        for part in self.parts:
            if self._known(result, part) is None:
                comparison = compare(part.spec, fresh=self.given["fresh"])
                path = result.path / _COMPARISONS
                known = read_json(path) if path.is_file() else {}
                write_json(path, {**known, part.spec.fingerprint: str(comparison.path)})
        if missing := result.missing(self.simulations):
            console.print(
                f"Running {len(missing)} simulations, which the report shows next to the live runs."
            )
            simulate_missing(result, missing, Options(simulate_case, processes=cpus_here()))

    def study(self, result: StudyResult, results: Results) -> Study:
        """Return the paper's study."""
        return self._study

    def results(self, result: StudyResult) -> Results:
        """Return the metrics of the live runs and of the simulations."""
        live = read_results(self.parts, self._comparisons(result))
        return live.beside(result.results(self.simulations))

    def made(self, result: StudyResult, results: Results) -> Sequence[tuple[str, str]]:
        """Return the comparisons, their capacities, the number of simulations and the time
        scale."""
        comparisons = self._comparisons(result)
        known = [capacity.words() for one in comparisons if (capacity := one.capacity())]
        return [
            ("Runs", "; ".join(str(one.path) for one in comparisons)),
            *([("Capacity", "; ".join(known))] if known else []),
            ("Simulated in addition", f"{len(self.simulations)} simulations"),
            ("Time scale", f"{self.parts[0].spec.time_scale:g} paper seconds per real second"),
        ]

    def _comparisons(self, result: StudyResult) -> list[ComparisonResult]:
        found = [self._known(result, part) for part in self.parts]
        return [one for one in found if one is not None]

    @staticmethod
    def _known(result: StudyResult, part: LivePart) -> ComparisonResult | None:
        path = result.path / _COMPARISONS
        known: dict[str, str] = read_json(path) if path.is_file() else {}
        place = known.get(part.spec.fingerprint)
        return None if place is None else ComparisonResult.open(Path(place))


def simulations_of(
    study: Study, parts: Sequence[LivePart], *, seed: int, repetitions: int
) -> list[Simulation]:
    """Return the simulations of the study's cases without live runs."""
    live = {part.case_of(run).id for part in parts for run in plan(part.spec)}
    cases = [case for case in study.cases() if case.id not in live]
    return plan_simulations(cases, seed=seed, repetitions=repetitions)


def read_results(parts: Sequence[LivePart], comparisons: Sequence[ComparisonResult]) -> Results:
    """Return the metrics of all complete live runs, by case."""
    found: list[tuple[AnyCase, int, Metrics]] = []
    for part, comparison in zip(parts, comparisons, strict=True):
        capacity_rps = comparison.capacity_rps()
        for planned, run in comparison.whole_runs():
            case = part.case_of(planned)
            found.append((case, planned.seed, part.metrics_of(run, case.run, capacity_rps)))
    return Results.of_runs(found)
