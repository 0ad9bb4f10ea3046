"""Carrying out a reproduction: what is missing is simulated, then the report is written.

Owns: resuming, the time a plan takes, the order of things. Must not know: any paper, any figure.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.experiments.grid import run_grid
from lab.experiments.machine import describe_machine, describe_versions
from lab.experiments.reproduction.cases import AnyCase
from lab.experiments.reproduction.exhibits import Study
from lab.experiments.reproduction.metrics import simulate_case
from lab.experiments.reproduction.report import made_by, write_report
from lab.experiments.reproduction.store import Simulation, Store, plan
from runtime.settings import Settings

CALIBRATION_REQUESTS = 4000
"""Simulated to find out how long the plan takes: about a tenth of a second a kind of server."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a reproduction is carried out; none of it changes a figure but seed and repetitions."""

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
    store: Store
    simulations: Sequence[Simulation]
    missing: Sequence[Simulation]
    options: Options
    resumed: bool


def prepare(study: Study, results_dir: Path, options: Options) -> Planned:
    """Find the folder to resume, or make a new one. Raises ExperimentError."""
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
    store = None if options.fresh else Store.unfinished(results_dir, facts)
    resumed = store is not None
    if store is None:
        store = Store.create(results_dir, f"{study.name}{options.suffix}", facts)
    missing = [simulation for simulation in simulations if not store.has(simulation)]
    return Planned(study, store, simulations, missing, options, resumed)


def expected_real_s(planned: Planned) -> float:
    """About how long the missing simulations take on this machine, from a short calibration."""
    speeds: dict[str, float] = {}
    total_s = 0.0
    for simulation in planned.missing:
        case = simulation.case
        if case.kind not in speeds:
            speeds[case.kind] = _requests_per_s(case)
        total_s += case.expected_requests() / speeds[case.kind]
    return total_s / planned.options.processes


def carry_out(planned: Planned, on_done: Callable[[int], None]) -> None:
    """Simulate what is missing; each result is kept as it comes in.

    `on_done` is told the position in `missing`. Raises GridError.
    """
    store, missing = planned.store, planned.missing

    def keep(position: int, metrics: Mapping[str, Any]) -> None:
        store.keep(missing[position], metrics)
        on_done(position)

    run_grid(
        [store.task(simulation, logs=planned.options.logs) for simulation in missing],
        simulate_case,
        processes=planned.options.processes,
        celery_broker=planned.options.celery_broker,
        on_done=keep,
    )


def finish(planned: Planned, lab: Settings, took_real_s: float) -> Path:
    """Write the report; returns its page."""
    results = planned.store.results(planned.simulations)
    return write_report(planned.study, results, planned.store, _made(planned, lab, took_real_s))


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


def _requests_per_s(case: AnyCase) -> float:
    factor = min(1.0, CALIBRATION_REQUESTS / case.expected_requests())
    short = case.shortened(factor)
    began_s = time.perf_counter()
    simulate_case({"case": short.as_json(), "seed": 1})
    return short.expected_requests() / (time.perf_counter() - began_s)
