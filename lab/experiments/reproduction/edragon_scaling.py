"""eDragon's cases brought to this machine: what it can serve, loads and costs, metrics of a run.

Owns: what load generator and database take beside the platform, and so how loads are scaled.
Must not know: which runs are made, what is drawn of them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hosting.options import PlatformOptions
from lab.experiments.connection_costs import ConnectionCosts
from lab.experiments.errors import ExperimentError
from lab.experiments.hosting_run import Hosted, HostingRun, make_hosting_run
from lab.experiments.reproduction.edragon_cases import LIVE, PlatformCase
from lab.experiments.reproduction.edragon_metrics import BIN_S, application_metrics
from runtime.settings import Settings

TRIAL_S = 300.0
_TRIAL_LOAD_RATIO = 0.3
"""Of what the processors could serve if nothing ran beside the applications."""


def saturation_ps(costs: ConnectionCosts, beside_ratio: float, processors: int) -> float:
    """New sessions per paper second that the platform can serve.

    `beside_ratio`: CPU of load generator and database, which run on the same processors, per CPU
    of the applications.
    """
    return processors / (costs.session_s * (1 + beside_ratio))


def measure_beside(
    lab: Settings, folder: Path, costs: ConnectionCosts, processors: int
) -> dict[str, float | None]:
    """Processors of application, load generator and database under a light load.

    A run of `TRIAL_S`; its files go to `folder`.
    """
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
        TRIAL_S,
        LIVE["interactions_mean"],
        LIVE["interactions_most"],
        0,
    )
    found = make_hosting_run(lab, asked, folder, lambda words: None)
    return {
        "applications": found.applications_cpus,
        "load_generator": found.load_generator_cpus,
        "database": found.database_cpus,
    }


def beside_ratio(found: Mapping[str, float | None]) -> float:
    """Of the processors that load generator and database had to those of the application."""
    applications = found["applications"] or 0.0
    if applications <= 0:
        raise ExperimentError(
            "The trial run's application used no CPU; nothing can be scaled by it."
        )
    return ((found["load_generator"] or 0.0) + (found["database"] or 0.0)) / applications


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
