"""Carry out or resume a study, which simulates or runs its cases and ends with a report."""

import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lab.executors.executor import run_tasks
from lab.executors.tasks import Worker
from lab.machine.description import describe_machine, describe_versions
from lab.machine.progress_file import progress_file
from lab.report.page import made_by, write_report
from lab.report.study_figures import Study
from lab.report.terminal import TasksProgress, console
from lab.results.metrics import Results
from lab.results.study import Simulation, StudyResult, plan
from lab.runner import estimates
from lab.runner.estimates import Estimate
from lab.runner.runner import Experiment, carry_out
from lab.runner.stopwatch import LEAST_REQUESTS, stopwatch
from lab.spec.cases import AnyCase

CALIBRATION_REQUESTS = 4000
"""The number of requests in a simulation that measures this machine's speed. Such a simulation
takes about 0.1 s.
"""


class StudyRun(Experiment[StudyResult]):
    """The execution of a study on one engine, which ends with a report."""

    repetitions: int
    seed: int
    """The seed of the first repetition."""
    policies: Mapping[str, str] = {}
    """The texts of students' policies by file name; the result keeps copies of them."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, Any]:
        """The facts that identify this study; only a result with the same facts can be resumed."""

    @property
    @abstractmethod
    def folder_name(self) -> str:
        """The part of the result's name that follows its date."""

    @abstractmethod
    def study(self, result: StudyResult, results: Results) -> Study:
        """Return the study with its figures and claims, whose texts can depend on the results."""

    @abstractmethod
    def results(self, result: StudyResult) -> Results:
        """Return the metrics of all completed runs, by case."""

    @abstractmethod
    def made(self, result: StudyResult, results: Results) -> Sequence[tuple[str, str]]:
        """Return the lines of the report that explain how its results were made."""

    @property
    def name(self) -> str:
        """The folder's name without the date, which identifies the report."""
        return self.folder_name

    def unfinished(self) -> StudyResult | None:
        """Return the newest result that has this study's facts but no report yet, or None."""
        return StudyResult.unfinished(self.lab.results_dir, self.facts)

    def begin(self) -> StudyResult:
        return StudyResult.create(self.lab.results_dir, self.folder_name, self.facts, self.policies)

    @staticmethod
    def announce_rest(missing: int, planned: int, what: str) -> None:
        """If the result is resumed, print how much of it already exists."""
        if missing < planned:
            console.print(f"Resuming: {planned - missing} of {planned} {what} are done.")

    def ended(self) -> None:
        """Store the duration of the whole command."""


def reproduce(run: StudyRun, *, fresh: bool) -> StudyResult:
    """Complete a study and write its report; raises ExperimentError if a run fails."""
    result = carry_out(run, fresh=fresh)
    progress_file.tell(now=True, done_ratio=1.0, words="drawing the report")
    with stopwatch.measuring(f"draw {run.name}"):
        results = run.results(result)
        write_report(
            run.study(result, results),
            results,
            result,
            made_by(
                repetitions=run.repetitions,
                seed=run.seed,
                machine=run.facts.get("machine") or describe_machine(run.lab),
                versions=run.facts["versions"],
                more=run.made(result, results),
            ),
        )
    run.ended()
    stopwatch.end(run.lab)
    return result


# ---- simulated -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a simulated study. The executor, `processes` and `logs` do not change the
    study's numbers.
    """

    simulate: Worker
    """A function that runs one simulation: it receives a task of `StudyResult.task` and returns its
    metrics."""
    quick: bool = False
    seed: int = 1
    repetitions: int = 1
    processes: int = 1
    celery_broker: str | None = None
    logs: bool = False

    @property
    def suffix(self) -> str:
        return "-quick" if self.quick else ""

    @property
    def where(self) -> str:
        """The place where the simulations run, as text."""
        return "Celery workers" if self.celery_broker else f"{self.processes} processes"


class SimulatedStudy(StudyRun):
    """A study whose cases are simulated, spread over cores or Celery workers."""

    start_kind = "start study"

    def __init__(
        self, study: Study, options: Options, policies: Mapping[str, str] | None = None
    ) -> None:
        super().__init__()
        self._study, self.options, self.policies = study, options, policies or {}
        self.seed, self.repetitions = options.seed, options.repetitions
        self.simulations = plan(study.cases(), seed=self.seed, repetitions=self.repetitions)
        self._made_now, self._took_real_s = 0, 0.0

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return the options that change the result, the versions, and the names of all
        simulations.
        """
        options = self.options
        return {
            "paper": self._study.paper,
            "engine": "simulated",
            "quick": options.quick,
            "logs": options.logs,
            "seed": options.seed,
            "repetitions": options.repetitions,
            "versions": describe_versions(),
            "simulations": [simulation.name for simulation in self.simulations],
        }

    @property
    def folder_name(self) -> str:
        """Return the part of the result's name that follows its date: the study's name, and
        `-quick` for a quick study.
        """
        return f"{self._study.name}{self.options.suffix}"

    def estimate(self, result: StudyResult) -> Estimate | None:
        """Return the approximate duration of the missing simulations and the report on this
        machine.

        A short simulation first measures each kind of case that was never measured. With a broker,
        the result is None, because the speed of the workers' machines is unknown.
        """
        if self.options.celery_broker:
            return None
        missing = result.missing(self.simulations)
        known = estimates.calibrated(self.lab)
        examples = {simulation.case.kind: simulation.case for simulation in missing}
        measured = dict(known.measured)
        for kind, case in examples.items():
            if known.cost(estimates.case_kind(kind)) is None:
                cost = _request_cpu_s(case, self.options.simulate)
                measured[estimates.case_kind(kind)] = (cost,)
        known = replace(known, measured=measured)
        cpus = min(self.options.processes, estimates.cpus_here(), max(1, len(missing)))
        found = estimates.of_work(work_of(missing), self.name, known, processes=cpus)
        assert found is not None  # now the cost of every kind is known
        return found

    def make(self, result: StudyResult, estimate: Estimate | None) -> None:
        """Simulate the missing cases."""
        missing = result.missing(self.simulations)
        self.announce_rest(len(missing), len(self.simulations), "simulations")
        expected = f", {estimate.words} with the report, {estimates.IDLE}" if estimate else ""
        console.print(
            f"{self._study.title}: {len(missing)} simulations on {self.options.where}{expected}. "
            f"To resume after an interruption, repeat the command.\nResults: {result.path}"
        )
        if estimate is not None:
            progress_file.stage(*estimate.stages)
        began_s = time.monotonic()
        with TasksProgress([one.case.expected_requests() for one in missing]) as progress:
            simulate_missing(result, missing, self.options, progress.done)
        self._made_now, self._took_real_s = len(missing), time.monotonic() - began_s
        console.print(f"Simulated in {self._took_real_s / 60:.1f} minutes.")

    def study(self, result: StudyResult, results: Results) -> Study:
        return self._study

    def results(self, result: StudyResult) -> Results:
        return result.results(self.simulations)

    def made(self, result: StudyResult, results: Results) -> Sequence[tuple[str, str]]:
        """Return lines about the number of simulations and the files that describe them."""
        return [
            ("Simulations", f"{len(self.simulations)}, {self._made_now} of them now, in "
                            f"{self._took_real_s / 60:.1f} minutes on {self.options.where}"),
            ("Every case", "simulations/*.json has each simulation's full description, its seed "
                           "and its metrics; reproduction.json has the plan"),
        ]  # fmt: skip


def simulate_missing(
    result: StudyResult,
    missing: Sequence[Simulation],
    options: Options,
    on_done: Callable[[int], None] = lambda position: None,
) -> None:
    """Run these simulations, and store each result as soon as it is ready.

    `on_done` then receives the simulation's index in `missing`. Raises TasksError if a simulation
    fails.
    """

    def keep(position: int, metrics: Mapping[str, Any]) -> None:
        result.keep(missing[position], metrics)
        on_done(position)

    def cost(position: int, cpu_s: float) -> None:
        case = missing[position].case
        requests = case.expected_requests()
        if requests >= LEAST_REQUESTS:
            stopwatch.spent(estimates.case_kind(case.kind), requests, cpu_s)

    run_tasks(
        [result.task(simulation, logs=options.logs) for simulation in missing],
        options.simulate,
        processes=options.processes,
        celery_broker=options.celery_broker,
        on_done=keep,
        on_cost=cost,
    )


def work_of(simulations: Iterable[Simulation]) -> dict[str, float]:
    """Return the expected number of requests in these simulations, by kind of case."""
    found: dict[str, float] = {}
    for simulation in simulations:
        kind = simulation.case.kind
        found[kind] = found.get(kind, 0.0) + simulation.case.expected_requests()
    return found


def _request_cpu_s(case: AnyCase, simulate: Worker) -> float:
    factor = min(1.0, CALIBRATION_REQUESTS / case.expected_requests())
    short = case.shortened(factor)
    began_s = time.process_time()
    simulate({"case": short.as_json(), "seed": 1})
    return (time.process_time() - began_s) / short.expected_requests()
