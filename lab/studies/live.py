"""Reproductions on the running appliance: the lab's own comparisons, drawn as a paper's figures.

Each paper's `live.py` names its comparisons; this module makes those that are missing, simulates
what the report shows besides, and writes the report.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.files.documents import read_json, write_json
from lab.files.run_folder import PlannedRun, RunFolder
from lab.machine.description import describe_machine, describe_versions
from lab.report.exhibits import Study
from lab.report.page import made_by, write_report
from lab.report.terminal import console
from lab.results.comparison import ComparisonResult
from lab.results.metrics import Metrics, Results
from lab.results.study import Simulation, StudyResult, plan
from lab.runner import comparison
from lab.runner import simulations as making
from lab.runner.live import compare_live, running_appliance
from lab.runner.stopwatch import stopwatch
from lab.spec.cases import AnyCase
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.studies.measures import simulate_case
from lab.studies.study import PaperStudy
from runtime import settings

_COMPARISONS = "comparisons.json"


@dataclass(frozen=True, slots=True)
class LivePart:
    """One comparison on the appliance, and the case that each of its runs is of."""

    spec: Spec
    case_of: Callable[[PlannedRun], AnyCase]
    metrics_of: Callable[[RunFolder, ShopRun, float | None], Metrics]
    """Reads a run's files, given the run and the measured capacity in requests per paper second.

    The capacity is None in a closed loop, for which none is measured.
    """


PartsOf = Callable[[Any, int, int], Sequence[LivePart]]
"""The comparisons of a paper's cases, with the first seed and the number of repetitions."""


def reproduce_on_appliance(
    paper: PaperStudy[Any], parts_of: PartsOf, given: Mapping[str, Any]
) -> Path:
    """Make the comparisons that are missing and write the report; return its page.

    What the report shows next to them is simulated. `given` are the command's options. Raises
    ExperimentError.
    """
    lab = settings.load()
    quick = given["quick"]
    repetitions = given["repetitions"] or paper.repetitions("live", quick=quick)
    cases = paper.cases_of("live", quick=quick)
    study = paper.report(cases, quick=quick)
    parts = parts_of(cases, given["seed"], repetitions)
    facts = {
        "paper": paper.name,
        "engine": "live",
        "quick": quick,
        "versions": describe_versions(),
        "machine": describe_machine(lab),
        "specs": [part.spec.fingerprint for part in parts],
    }
    store = None if given["fresh"] else StudyResult.unfinished(lab.results_dir, facts)
    is_new = store is None
    if store is None:
        running_appliance(lab)  # without one nothing shall be left behind
        name = f"reproduce-{paper.name}-live{'-quick' if quick else ''}"
        store = StudyResult.create(lab.results_dir, name, facts)
    stopwatch.begin(store.path, is_new=is_new)
    folders = [_folder(part.spec, store, fresh=given["fresh"]) for part in parts]
    simulated = _simulated(
        study, parts, store, given["seed"], paper.repetitions("simulated", quick=quick)
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


def read_results(parts: Sequence[LivePart], folders: Sequence[ComparisonResult]) -> Results:
    """Return the metrics of all whole runs, by case."""
    found: list[tuple[AnyCase, int, Metrics]] = []
    for part, folder in zip(parts, folders, strict=True):
        capacity = folder.capacity()
        capacity_rps = capacity and capacity.median_rps
        for planned, run in folder.whole_runs():
            case = part.case_of(planned)
            found.append((case, planned.seed, part.metrics_of(run, case.run, capacity_rps)))
    return Results.of_runs(found)


def _capacity_words(folders: Sequence[ComparisonResult]) -> list[tuple[str, str]]:
    known = [capacity.words() for folder in folders if (capacity := folder.capacity())]
    return [("Capacity", "; ".join(known))] if known else []


def _simulated(
    study: Study, parts: Sequence[LivePart], store: StudyResult, seed: int, repetitions: int
) -> list[Simulation]:
    """Simulate, as far as it is missing, what the study draws and no comparison makes."""
    live = {part.case_of(run).id for part in parts for run in comparison.plan(part.spec)}
    cases = [case for case in study.cases() if case.id not in live]
    simulations = plan(cases, seed=seed, repetitions=repetitions)
    missing = [simulation for simulation in simulations if not store.has(simulation)]
    options = making.Options(simulate=simulate_case, processes=len(os.sched_getaffinity(0)))
    planned = making.Planned(study, store, simulations, missing, options, resumed=False)
    if missing:
        console.print(f"{len(missing)} simulations of what is shown beside the live runs.")
        making.carry_out(planned, on_done=lambda position: None)
    return simulations


def _folder(spec: Spec, store: StudyResult, *, fresh: bool) -> ComparisonResult:
    """The comparison of `spec`: the one that this reproduction has already, or made now."""
    path = store.path / _COMPARISONS
    known: dict[str, str] = read_json(path) if path.is_file() else {}
    if spec.fingerprint in known:
        return ComparisonResult.open(Path(known[spec.fingerprint]))
    folder = compare_live(spec, fresh=fresh)
    write_json(path, {**known, spec.fingerprint: str(folder.path)})
    return folder
