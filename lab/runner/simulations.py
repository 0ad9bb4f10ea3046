"""Carrying out a reproduction: what is missing is simulated, then the report is written.

Owns: resuming, the time a plan takes, the order of things. Must not know: any paper, any figure.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lab.executors.executor import run_grid
from lab.executors.tasks import Worker
from lab.machine.description import describe_machine, describe_versions
from lab.machine.progress_file import progress_file
from lab.report.exhibits import Study
from lab.report.page import made_by, write_report
from lab.results.study import Simulation, StudyResult, plan
from lab.runner import estimates
from lab.runner.estimates import Estimate
from lab.runner.stopwatch import LEAST_REQUESTS, stopwatch
from lab.spec.cases import AnyCase
from runtime.settings import Settings

CALIBRATION_REQUESTS = 4000
"""Simulated to find out how long the plan takes: about a tenth of a second a kind of server."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a reproduction is carried out; none of it changes a figure but seed and repetitions."""

    simulate: Worker
    """Makes one simulation: a task of `StudyResult.task` in, its metrics out."""
    quick: bool = False
    seed: int = 1
    repetitions: int = 1
    processes: int = 1
    celery_broker: str | None = None
    fresh: bool = False
    logs: bool = False

    @property
    def suffix(self) -> str:
        """Part of the folder's name."""
        return "-quick" if self.quick else ""

    @property
    def where(self) -> str:
        """Where simulations are made, for people."""
        return "Celery workers" if self.celery_broker else f"{self.processes} processes"


@dataclass(frozen=True, slots=True)
class Planned:
    """A reproduction that is about to be carried out."""

    study: Study
    store: StudyResult
    simulations: Sequence[Simulation]
    missing: Sequence[Simulation]
    options: Options
    resumed: bool

    @property
    def report_name(self) -> str:
        """The name of its report among the costs of this machine."""
        return f"{self.study.name}{self.options.suffix}"


def prepare(
    study: Study, results_dir: Path, options: Options, own: Mapping[str, str] | None = None
) -> Planned:
    """Find the folder to resume, or make a new one. Raises ExperimentError.

    `own` are the texts of students' policies by file name, of which a new folder keeps copies.
    """
    simulations = plan(study.cases(), seed=options.seed, repetitions=options.repetitions)
    facts = {
        "paper": study.paper,
        "engine": "simulated",
        "quick": options.quick,
        "logs": options.logs,
        "seed": options.seed,
        "repetitions": options.repetitions,
        "versions": describe_versions(),
        "simulations": [simulation.name for simulation in simulations],
    }
    store = None if options.fresh else StudyResult.unfinished(results_dir, facts)
    resumed = store is not None
    if store is None:
        store = StudyResult.create(results_dir, f"{study.name}{options.suffix}", facts, own)
    missing = [simulation for simulation in simulations if not store.has(simulation)]
    return Planned(study, store, simulations, missing, options, resumed)


def work_of(simulations: Iterable[Simulation]) -> dict[str, float]:
    """Return the expected requests of these simulations by kind of case."""
    found: dict[str, float] = {}
    for simulation in simulations:
        kind = simulation.case.kind
        found[kind] = found.get(kind, 0.0) + simulation.case.expected_requests()
    return found


def expected(planned: Planned, lab: Settings) -> Estimate:
    """About how long the missing simulations and the report take on this machine.

    A kind of case that nobody has measured is simulated for a moment now.
    """
    known = estimates.calibrated(lab)
    examples = {simulation.case.kind: simulation.case for simulation in planned.missing}
    measured = dict(known.measured)
    for kind, case in examples.items():
        if known.cost(estimates.case_kind(kind)) is None:
            measured[estimates.case_kind(kind)] = (_request_cpu_s(case, planned.options.simulate),)
    known = replace(known, measured=measured)
    cpus = min(planned.options.processes, estimates.cpus_here(), max(1, len(planned.missing)))
    found = estimates.of_work(work_of(planned.missing), planned.report_name, known, processes=cpus)
    assert found is not None  # every kind is known now
    return found


def begin(planned: Planned, estimate: Estimate | None) -> None:
    """Note what was predicted, before the first simulation."""
    stopwatch.expect(planned.report_name, estimate, "start study")
    stopwatch.begin(planned.store.path, is_new=not planned.resumed)
    if estimate is not None:
        progress_file.stage(*estimate.stages)


def carry_out(planned: Planned, on_done: Callable[[int], None]) -> None:
    """Simulate what is missing; each result is kept as it comes in.

    `on_done` is told the position in `missing`. Raises GridError.
    """
    store, missing = planned.store, planned.missing

    def keep(position: int, metrics: Mapping[str, Any]) -> None:
        store.keep(missing[position], metrics)
        on_done(position)

    def cost(position: int, cpu_s: float) -> None:
        case = missing[position].case
        requests = case.expected_requests()
        if requests >= LEAST_REQUESTS:
            stopwatch.spent(estimates.case_kind(case.kind), requests, cpu_s)

    run_grid(
        [store.task(simulation, logs=planned.options.logs) for simulation in missing],
        planned.options.simulate,
        processes=planned.options.processes,
        celery_broker=planned.options.celery_broker,
        on_done=keep,
        on_cost=cost,
    )


def finish(planned: Planned, lab: Settings, took_real_s: float) -> Path:
    """Write the report; returns its page."""
    progress_file.tell(now=True, done_ratio=1.0, words="drawing the report")
    with stopwatch.measuring(f"draw {planned.report_name}"):
        results = planned.store.results(planned.simulations)
        made = _made(planned, lab, took_real_s)
        return write_report(planned.study, results, planned.store, made)


def _made(planned: Planned, lab: Settings, took_real_s: float) -> list[tuple[str, str]]:
    options = planned.options
    return made_by(
        repetitions=options.repetitions,
        seed=options.seed,
        machine=describe_machine(lab),
        versions=planned.store.facts()["versions"],
        more=[
            ("Simulations", f"{len(planned.simulations)}, {len(planned.missing)} of them now, in "
                            f"{took_real_s / 60:.1f} minutes on {options.where}"),
            ("Every case", "simulations/*.json holds the whole description of each simulation, "
                           "its seed and its metrics; reproduction.json the plan"),
        ],
    )  # fmt: skip


def _request_cpu_s(case: AnyCase, simulate: Worker) -> float:
    factor = min(1.0, CALIBRATION_REQUESTS / case.expected_requests())
    short = case.shortened(factor)
    began_s = time.process_time()
    simulate({"case": short.as_json(), "seed": 1})
    return (time.process_time() - began_s) / short.expected_requests()
