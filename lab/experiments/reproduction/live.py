"""Reproductions on the running appliance: the lab's own comparisons, drawn as reproductions.

Owns: which comparisons a reproduction is made of, resuming them, reading their runs as cases.
Must not know: how a run is made, how an exhibit is drawn.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.experiments import capacity as capacities
from lab.experiments import comparison
from lab.experiments.live_comparison import compare_live, running_appliance
from lab.experiments.machine import describe_machine, describe_versions
from lab.experiments.outcomes import completed_by, outcomes_of
from lab.experiments.reproduction import (
    connection_sentry_cases,
    connection_sentry_live,
    connection_sentry_study,
    lifo_pri_cases,
    lifo_pri_study,
    making,
    sbac_live,
)
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.exhibits import Study
from lab.experiments.reproduction.lifo_pri_cases import EFFECTIVE_RHO, LONG_INTERVAL_S, SINGLE_QUEUE
from lab.experiments.reproduction.metrics import page_metrics
from lab.experiments.reproduction.report import made_by, write_report
from lab.experiments.reproduction.store import Metrics, Results, Simulation, Store, plan
from lab.experiments.reproduction.studies import PAPERS
from lab.experiments.results import PlannedRun, ResultFolder, RunFolder, read_json, write_json
from lab.experiments.spec import Spec
from lab.experiments.terminal import console
from runtime import settings

_COMPARISONS = "comparisons.json"


@dataclass(frozen=True, slots=True)
class LivePart:
    """One comparison on the appliance, and which case each of its runs is."""

    spec: Spec
    case_of: Callable[[PlannedRun], Case]
    metrics_of: Callable[[RunFolder, Case, float | None], Metrics]
    """Of a run, its case and the measured capacity in requests per paper second (None: a closed
    loop, for which none is measured)."""


def reproduce_live(paper: str, given: Mapping[str, Any]) -> Path:
    """Make the comparisons that are missing and write the report; returns its page.

    What the report shows beside them is simulated. Raises ExperimentError.
    """
    lab = settings.load()
    quick = given["quick"]
    repetitions = given["repetitions"] or PAPERS[paper].repetitions_of("live", quick=quick)
    study, parts = _PAPERS[paper](quick, given["seed"], repetitions)
    facts = {
        "paper": paper,
        "engine": "live",
        "quick": quick,
        "versions": describe_versions(),
        "machine": describe_machine(lab),
        "specs": [part.spec.fingerprint for part in parts],
    }
    store = None if given["fresh"] else Store.unfinished(lab.results_dir, facts)
    if store is None:
        running_appliance(lab)  # without one nothing shall be left behind
        name = f"reproduce-{paper}-live{'-quick' if quick else ''}"
        store = Store.create(lab.results_dir, name, facts)
    folders = [_folder(part.spec, store, fresh=given["fresh"]) for part in parts]
    simulated = _simulated(
        study, parts, store, given["seed"], PAPERS[paper].repetitions_of("simulated", quick=quick)
    )
    results = read_results(parts, folders).beside(store.results(simulated))
    page = write_report(study, results, store, made_by(
        repetitions=repetitions,
        seed=given["seed"],
        machine=facts["machine"],
        versions=facts["versions"],
        more=[("Runs", "; ".join(str(folder.path) for folder in folders)),
              *_capacity_words(folders),
              ("Simulated beside them", f"{len(simulated)} simulations"),
              ("Time scale", f"{parts[0].spec.time_scale:g} paper seconds per second")],
    ))  # fmt: skip
    console.print(f"Report: {page}")
    return page


def read_results(parts: Sequence[LivePart], folders: Sequence[ResultFolder]) -> Results:
    """The metrics of all whole runs, by case."""
    found: list[tuple[Case, int, Metrics]] = []
    for part, folder in zip(parts, folders, strict=True):
        capacity = capacities.of_result(folder)
        capacity_rps = capacity and capacity.median_rps
        for planned, run in folder.whole_runs():
            case = part.case_of(planned)
            found.append((case, planned.seed, part.metrics_of(run, case, capacity_rps)))
    return Results.of_runs(found)


def _capacity_words(folders: Sequence[ResultFolder]) -> list[tuple[str, str]]:
    known = [capacity.words() for folder in folders if (capacity := capacities.of_result(folder))]
    return [("Capacity", "; ".join(known))] if known else []


def _simulated(
    study: Study, parts: Sequence[LivePart], store: Store, seed: int, repetitions: int
) -> list[Simulation]:
    """Simulate, as far as it is missing, what the study draws and no comparison makes."""
    live = {part.case_of(run).id for part in parts for run in comparison.plan(part.spec)}
    cases = [case for case in study.cases() if case.id not in live]
    simulations = plan(cases, seed=seed, repetitions=repetitions)
    missing = [simulation for simulation in simulations if not store.has(simulation)]
    options = making.Options(processes=len(os.sched_getaffinity(0)))
    planned = making.Planned(study, store, simulations, missing, options, resumed=False)
    if missing:
        console.print(f"{len(missing)} simulations of what is shown beside the live runs.")
        making.carry_out(planned, on_done=lambda position: None)
    return simulations


def _folder(spec: Spec, store: Store, *, fresh: bool) -> ResultFolder:
    """The comparison of `spec`: the one that this reproduction has already, or made now."""
    path = store.path / _COMPARISONS
    known: dict[str, str] = read_json(path) if path.is_file() else {}
    if spec.fingerprint in known:
        return ResultFolder.open(Path(known[spec.fingerprint]))
    folder = compare_live(spec, fresh=fresh)
    write_json(path, {**known, spec.fingerprint: str(folder.path)})
    return folder


def _lifo_pri(quick: bool, seed: int, repetitions: int) -> tuple[Study, list[LivePart]]:
    scale = lifo_pri_cases.Scale(
        requests=2500 if quick else 6000, sessions=1, rhos=(), repetitions=repetitions
    )
    cases = lifo_pri_cases.Cases(scale)

    def part(timeout_s: int, rhos: Sequence[float]) -> LivePart:
        def case_of(planned: PlannedRun) -> Case:
            return cases.single(planned.policy, planned.rho, timeout_s)

        spec = Spec.model_validate(
            {
                "title": f"LIFO-Pri, single queue, timeout {timeout_s} s",
                "policy": [{"name": name} for name in SINGLE_QUEUE],
                "load": {"rho": list(rhos), "sessions": scale.requests},
                "customers": {
                    **case_of(PlannedRun(1, SINGLE_QUEUE[0], rhos[0], seed)).customers,
                    "lengths": {"kind": "geometric", "mean": 1},
                },
                "page_profile": "cpu",
                "utilisation_interval_s": LONG_INTERVAL_S,
                "seed": seed,
                "repetitions": repetitions,
            }
        )
        return LivePart(
            spec, case_of, lambda run, case, capacity_rps: page_metrics(run.attempts(), case)
        )

    parts = [part(20, (lifo_pri_study.FIG3_RHO, EFFECTIVE_RHO)), part(40, (EFFECTIVE_RHO,))]
    return lifo_pri_study.live_study(cases), parts


def _sbac(quick: bool, seed: int, repetitions: int) -> tuple[Study, list[LivePart]]:
    loads = sbac_live.QUICK_LOADS if quick else sbac_live.LOADS
    parts = [
        LivePart(
            sbac_live.spec(mean, loads, seed=seed, repetitions=repetitions),
            lambda planned, mean=mean: sbac_live.case(planned.policy, mean, planned.rho),
            _session_metrics,
        )
        for mean in sbac_live.MEANS
    ]
    return sbac_live.study(loads), parts


def _session_metrics(run: RunFolder, case: Case, capacity_rps: float | None) -> Metrics:
    """Sessions by fate, under the names of the simulated metrics."""
    attempts = run.attempts()
    fates = outcomes_of(attempts, case.rho).fates
    assert case.duration_s is not None
    return {
        "arrivals_s": case.duration_s,
        "completed_by_end": completed_by(attempts, case.duration_s),
        "capacity_rps": capacity_rps,
        "sessions": fates.arrived,
        "rejected": fates.rejected,
        "completed": fates.completed,
        "aborted": fates.aborted,
        "completed_length": fates.mean_completed_length,
    }


def _connection_sentry(quick: bool, seed: int, repetitions: int) -> tuple[Study, list[LivePart]]:
    cases = connection_sentry_cases.Cases(connection_sentry_cases.SCALES["live"][quick], "live")
    parts = [
        LivePart(
            connection_sentry_live.spec(cases, cell, seed=seed, repetitions=repetitions),
            lambda planned, cell=cell: cases.run(cell, planned.policy),
            lambda run, case, capacity_rps: connection_sentry_live.metrics(run, case),
        )
        for cell in reversed(cases.cells())  # a fresh appliance's catalogue has to grow only once
    ]
    return connection_sentry_study.study_of(cases), parts


_PAPERS = {"lifo-pri": _lifo_pri, "sbac": _sbac, "connection-sentry": _connection_sentry}
"""By paper: the study and its comparisons for a scale, the first seed and repetitions."""
