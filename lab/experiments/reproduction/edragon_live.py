"""eDragon on this machine: hosting platforms one after another, their runs drawn as a reproduction.

Owns: the order of things, resuming, what is said meanwhile. Must not know: how a platform is run,
how loads are brought to this machine, what is drawn.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from lab.experiments import connection_costs
from lab.experiments.connection_costs import ConnectionCosts
from lab.experiments.durations import duration
from lab.experiments.errors import ExperimentError
from lab.experiments.hosting_run import make_hosting_run
from lab.experiments.live_comparison import running_appliance
from lab.experiments.machine import describe_machine, describe_versions, live_run_lock
from lab.experiments.reproduction import edragon_zones as zones
from lab.experiments.reproduction.edragon_cases import (
    LIVE,
    LIVE_REPETITIONS,
    Cases,
    PlatformCase,
    live_scale,
)
from lab.experiments.reproduction.edragon_scaling import (
    TRIAL_S,
    beside_ratio,
    hosting_run,
    live_metrics,
    measure_beside,
    saturation_ps,
)
from lab.experiments.reproduction.edragon_study import study_of
from lab.experiments.reproduction.edragon_words import (
    case_words,
    costs_words,
    disturbed_words,
    profile_words,
    shares_words,
    verdict,
)
from lab.experiments.reproduction.report import made_by, write_report
from lab.experiments.reproduction.store import Simulation, Store, plan
from lab.experiments.results import read_json, write_json
from lab.experiments.terminal import RunProgress, console
from runtime import cpus, settings
from runtime.settings import Settings

_BESIDE = "beside.json"
_RUNS = "runs"
_START_REAL_S = 25.0
"""To start a platform and to end it, about."""


def reproduce_edragon(given: Mapping[str, Any]) -> Path:
    """Make the runs that are missing and write the report; returns its page.

    `given` are the command's options. Raises ExperimentError.
    """
    lab = settings.load()
    quick, seed = given["quick"], given["seed"]
    repetitions = given["repetitions"] or LIVE_REPETITIONS[quick]
    processors = len(cpus.usable())
    cases = Cases(live_scale(processors, quick=quick), "live")
    study = study_of(cases)
    runs = plan(study.cases(), seed=seed, repetitions=repetitions)
    running_appliance(lab)
    costs = connection_costs.kept(
        lab, key=LIVE["key"], profile=LIVE["profile"], time_scale=LIVE["time_scale"]
    )
    check_costs(costs)
    facts = {
        "paper": "edragon",
        "engine": "live",
        "quick": quick,
        "versions": describe_versions(),
        "machine": describe_machine(lab),
        "costs": costs.measured_at,
        "runs": [run.name for run in runs],
    }
    with live_run_lock():
        store = None if given["fresh"] else Store.unfinished(lab.results_dir, facts)
        if store is None:
            name = f"reproduce-edragon-live{'-quick' if quick else ''}"
            store = Store.create(lab.results_dir, name, facts)
        _make(lab, store, runs, costs, processors)
    results = store.results(runs)
    made = [metrics for case in study.cases() for metrics in results.of(case)]
    page = write_report(
        replace(study, summary=(*study.summary, *disturbed_words(made, processors))),
        results,
        store,
        made_by(
            repetitions=repetitions,
            seed=seed,
            machine=facts["machine"],
            versions=facts["versions"],
            more=[
                ("Connections cost", costs_words(costs, read_json(store.path / _BESIDE))),
                *shares_words(made, processors),
                ("Time scale", f"{LIVE['time_scale']:g} paper seconds per second"),
                ("Every run", "runs/* has attempts and connections of each application and the "
                              "load generators' logs"),
            ],
        ),
    )  # fmt: skip
    console.print(f"Report: {page}")
    return page


def check_costs(costs: ConnectionCosts) -> None:
    """Raises ExperimentError unless they were measured with the sessions of these runs."""
    if costs.interactions_mean != LIVE["interactions_mean"]:
        raise ExperimentError(
            f"What a connection costs was measured with sessions of {costs.interactions_mean:g} "
            f"pages; {profile_words()} measures it for those of this reproduction."
        )


def expected_real_s(cases: Sequence[PlatformCase]) -> float:
    """How long these runs take, about."""
    return sum(case.duration_s / LIVE["time_scale"] + _START_REAL_S for case in cases)


def _make(
    lab: Settings,
    store: Store,
    runs: Sequence[Simulation],
    costs: ConnectionCosts,
    processors: int,
) -> None:
    todo = [run for run in runs if not store.has(run)]
    if len(todo) < len(runs):
        console.print(f"Resuming: {len(runs) - len(todo)} of {len(runs)} runs are done.")
    expected = [expected_real_s([cast(PlatformCase, run.case)]) for run in todo]
    console.print(
        f"{len(todo)} runs at time scale {LIVE['time_scale']:g}, about {duration(sum(expected))}. "
        f"Interrupted, the same command resumes.\nResults: {store.path}"
    )
    if not todo:
        return
    beside = _beside_ratio(lab, store, costs, processors)
    serves_ps = saturation_ps(costs, beside, processors)
    console.print(
        f"The platform serves {serves_ps:.3f} new sessions per paper second: "
        f"{zones.SATURATION_SESSIONS_PS:g} on the paper's scale."
    )
    with RunProgress(sum(expected)) as progress:
        for number, (run, real_s) in enumerate(zip(todo, expected, strict=True), start=1):
            words = case_words(cast(PlatformCase, run.case))
            title = f"[{number}/{len(todo)}] {words}, seed {run.seed}"
            progress.run(title, real_s)
            began_s = time.monotonic()
            metrics = _run(lab, store, run, costs, beside, processors)
            store.keep(run, metrics)
            progress.say(f"{title}: {verdict(metrics)} ({time.monotonic() - began_s:.0f} s)")


def _run(
    lab: Settings,
    store: Store,
    run: Simulation,
    costs: ConnectionCosts,
    beside: float,
    processors: int,
) -> dict[str, Any]:
    case = cast(PlatformCase, run.case)
    factor = saturation_ps(costs, beside, processors) / zones.SATURATION_SESSIONS_PS
    asked = hosting_run(case, run.seed, factor, costs, beside)
    folder = store.path / _RUNS / run.name
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted attempt left
    hosted = make_hosting_run(lab, asked, folder, lambda words: None)
    return live_metrics(hosted, case, factor)


def _beside_ratio(
    lab: Settings, store: Store, costs: ConnectionCosts, processors: int
) -> float:  # fmt: skip
    """CPU of load generator and database per CPU of the application.

    Measured once for a reproduction, before its first run.
    """
    file = store.path / _BESIDE
    if not file.is_file():
        console.print(
            "Measuring what load generator and database take, "
            f"about {duration(TRIAL_S / LIVE['time_scale'] + _START_REAL_S)}"
        )
        found = measure_beside(lab, store.path / _RUNS / "trial", costs, processors)
        write_json(file, found)
    return beside_ratio(read_json(file))
