"""eDragon on this machine: hosting platforms one after another, their runs drawn as a reproduction.

Owns: the order of things, resuming, what is said meanwhile, bringing loads to this machine.
Must not know: how a platform is run, what is drawn.
"""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from hosting.options import PlatformOptions
from lab.experiments import connection_costs
from lab.experiments.connection_costs import ConnectionCosts
from lab.experiments.errors import ExperimentError
from lab.experiments.hosting_run import Hosted, HostingRun, make_hosting_run
from lab.experiments.intervals import estimate
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
from lab.experiments.reproduction.edragon_metrics import BIN_S, application_metrics
from lab.experiments.reproduction.edragon_study import study_of
from lab.experiments.reproduction.report import made_by, write_report
from lab.experiments.reproduction.store import Metrics, Simulation, Store, plan
from lab.experiments.results import read_json, write_json
from lab.experiments.terminal import RunProgress, console, duration
from runtime import cpus, settings
from runtime.settings import Settings

_BESIDE = "beside.json"
_RUNS = "runs"
_START_REAL_S = 25.0
"""To start a platform and to end it, about."""
_OTHERS_AT_MOST_RATIO = 0.1
"""CPU manager, Redis and system among them."""
_TRIAL_S = 300.0
_TRIAL_LOAD_RATIO = 0.3
"""Of what the processors could serve if nothing ran beside the applications."""


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


def profile_words() -> str:
    """The command that measures what is needed."""
    return (
        f"`{connection_costs.COMMAND} --key {LIVE['key']} --page-profile {LIVE['profile']} "
        f"--time-scale {LIVE['time_scale']:g} --interactions-mean {LIVE['interactions_mean']:g} "
        "--no-key-sizes`"
    )


def saturation_ps(costs: ConnectionCosts, beside_ratio: float, processors: int) -> float:
    """New sessions per paper second that the platform can serve.

    `beside_ratio`: CPU of load generator and database, which run on the same processors, per CPU
    of the applications.
    """
    return processors / (costs.session_s * (1 + beside_ratio))


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
        f"{len(todo)} runs at time scale {LIVE['time_scale']:g}, {duration(sum(expected))}. "
        f"Interrupted, the same command resumes.\nResults: {store.path}"
    )
    if not todo:
        return
    beside_ratio = _beside_ratio(lab, store, costs, processors)
    serves_ps = saturation_ps(costs, beside_ratio, processors)
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
            metrics = _run(lab, store, run, costs, beside_ratio, processors)
            store.keep(run, metrics)
            progress.say(f"{title}: {verdict(metrics)} ({time.monotonic() - began_s:.0f} s)")


def case_words(case: PlatformCase) -> str:
    """For people: what is run."""
    how = case.provisioning if case.admission == "eac" else "original"
    if len(case.loads) == 1:
        return f"one application, {how}, {case.loads[0][0][1]:g} new sessions/s"
    priorities = ":".join(f"{priority:g}" for priority in case.priorities)
    return f"two applications, {how}, priorities {priorities}, sharing {case.sharing}"


def verdict(metrics: Metrics) -> str:
    """A run in a line."""
    names = ("sessions", "completed", "refused", "timed_out", "replies")
    count = {name: sum(one[name] for one in metrics["applications"]) for name in names}
    return (
        f"{count['sessions']} sessions, {count['completed']} completed, {count['refused']} "
        f"refused, {count['timed_out']} timed out; "
        f"{count['replies'] / metrics['duration_s']:.1f} replies/s"
    )


def _run(
    lab: Settings,
    store: Store,
    run: Simulation,
    costs: ConnectionCosts,
    beside_ratio: float,
    processors: int,
) -> dict[str, Any]:
    case = cast(PlatformCase, run.case)
    factor = saturation_ps(costs, beside_ratio, processors) / zones.SATURATION_SESSIONS_PS
    asked = hosting_run(case, run.seed, factor, costs, beside_ratio)
    folder = store.path / _RUNS / run.name
    shutil.rmtree(folder, ignore_errors=True)  # what an interrupted attempt left
    hosted = make_hosting_run(lab, asked, folder, lambda words: None)
    return live_metrics(hosted, case, factor)


def hosting_run(
    case: PlatformCase, seed: int, factor: float, costs: ConnectionCosts, beside_ratio: float
) -> HostingRun:
    """The case on this machine: loads times `factor`.

    CTO and CTN include what load generator and database take of the same processors.
    """
    options = PlatformOptions(
        applications=len(case.loads),
        time_scale=case.live["time_scale"],
        priorities=case.priorities,
        provisioning=case.provisioning,
        sharing=case.sharing,
        admission=case.admission,
        cto_s=costs.cto_s * (1 + beside_ratio),
        ctn_s=costs.ctn_s * (1 + beside_ratio),
        key=case.live["key"],
        profile=case.live["profile"],
        seed=seed,
    )
    return HostingRun(
        options,
        [[(at_s, rate * factor) for at_s, rate in loads] for loads in case.loads],
        case.duration_s,
        case.live["interactions_mean"],
        case.live["interactions_most"],
        seed,
    )


def live_metrics(hosted: Hosted, case: PlatformCase, factor: float) -> dict[str, Any]:
    """In the form of a simulated run's, with what else was on the processors."""
    return {
        "duration_s": case.duration_s,
        "bin_s": BIN_S,
        "load_factor": factor,
        "cpus": {
            "applications": hosted.applications_cpus,
            "load_generator": hosted.load_generator_cpus,
            "database": hosted.database_cpus,
            "others": hosted.others_cpus,
        },
        "applications": [
            application_metrics(
                sessions=one.sessions,
                response_s=one.response_s,
                per_second=one.per_second,
                more={"failed": one.sessions["failed"], "late_ratio": one.behind_ratio},
            )
            for one in hosted.applications
        ],
    }


def _beside_ratio(
    lab: Settings, store: Store, costs: ConnectionCosts, processors: int
) -> float:  # fmt: skip
    """CPU of load generator and database per CPU of the application, under a light load.

    Measured once for a reproduction, before its first run.
    """
    file = store.path / _BESIDE
    if not file.is_file():
        console.print(
            "Measuring what load generator and database take, "
            f"{duration(_TRIAL_S / LIVE['time_scale'] + _START_REAL_S)}"
        )
        load_ps = _TRIAL_LOAD_RATIO * saturation_ps(costs, 0.0, processors)
        options = PlatformOptions(
            applications=1,
            priorities=(1.0,),
            time_scale=LIVE["time_scale"],
            provisioning="static",
            admission="none",
            key=LIVE["key"],
            profile=LIVE["profile"],
        )
        asked = HostingRun(
            options,
            [[(0.0, load_ps)]],
            _TRIAL_S,
            LIVE["interactions_mean"],
            LIVE["interactions_most"],
            0,
        )
        found = make_hosting_run(lab, asked, store.path / _RUNS / "trial", lambda words: None)
        write_json(
            file,
            {
                "applications": found.applications_cpus,
                "load_generator": found.load_generator_cpus,
                "database": found.database_cpus,
            },
        )
    return beside_ratio(read_json(file))


def beside_ratio(found: Mapping[str, float | None]) -> float:
    """Of the processors that load generator and database had to those of the application."""
    applications = found["applications"] or 0.0
    if applications <= 0:
        raise ExperimentError(
            "The trial run's application used no CPU; nothing can be scaled by it."
        )
    return ((found["load_generator"] or 0.0) + (found["database"] or 0.0)) / applications


def costs_words(costs: ConnectionCosts, found: Mapping[str, float | None]) -> str:
    """What the loads rest on."""
    ratio = beside_ratio(found)
    return (
        f"CTO {costs.cto_s:.3f}, CTN {costs.ctn_s:.3f}, session {costs.session_s:.2f} paper s of "
        f"CPU ({costs.key}, full handshake {100 * costs.handshake_ratio:.0f} % of a session, "
        f"measured {costs.measured_at}); load generator and database take {100 * ratio:.0f} % of "
        "that beside it, which is counted in."
    )


def disturbed_words(made: Sequence[Metrics], processors: int) -> list[str]:
    """A warning where others had more than a little of the processors; else nothing."""
    most = max((metrics["cpus"]["others"] for metrics in made), default=0.0)
    if most <= _OTHERS_AT_MOST_RATIO * processors:
        return []
    return [
        f"The machine was busy with something else: up to {most:.2f} of its {processors} "
        "processors in a run. Platform and admission take all of them for theirs; measure on a "
        "quiet machine."
    ]


def shares_words(made: Sequence[Metrics], processors: int) -> list[tuple[str, str]]:
    """What load generator, database and others took of the processors, over the runs."""
    found = []
    for key, name in (
        ("applications", "Applications had"),
        ("load_generator", "The load generator had"),
        ("database", "The database had"),
        ("others", "Everything else had"),
    ):
        shares = [metrics["cpus"][key] for metrics in made if metrics["cpus"][key] is not None]
        if shares:
            found.append(
                (name, f"{estimate(shares).mean:.2f} of {processors} processors on average, "
                       f"{max(shares):.2f} at most in a run")
            )  # fmt: skip
    return found
