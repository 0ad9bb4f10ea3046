"""One run on the appliance: one policy, one ρ, one seed.

Owns: the order of things in a run and what its folder holds afterwards.
Must not know: which other runs there are.
"""

import shutil
from collections.abc import Mapping
from typing import Any

from lab.experiments.appliance import Appliance
from lab.experiments.customers import Progress, model_options, run_customers
from lab.experiments.errors import ExperimentError
from lab.experiments.outcomes import outcomes_of
from lab.experiments.reconciliation import reconcile
from lab.experiments.results import PlannedRun, RunFolder, write_json
from lab.experiments.sampling import Sampler
from lab.experiments.spec import PolicyChoice, Spec
from loadgen.attempts import read_metadata


def make_run(
    appliance: Appliance,
    spec: Spec,
    planned: PlannedRun,
    capacity_rps: float,
    folder: RunFolder,
    on_progress: Progress,
) -> Mapping[str, Any]:
    """Make the run and fill its folder; returns what run.json says.

    What an interrupted attempt at the same run left is removed first. Raises ExperimentError.
    """
    shutil.rmtree(folder.path, ignore_errors=True)
    folder.path.mkdir(parents=True)
    policy = next(choice for choice in spec.policy if choice.name == planned.policy)
    prepare(appliance, spec, policy, planned.seed)
    before = appliance.counts()
    sampler = Sampler(appliance, time_scale=spec.time_scale, interval_s=spec.utilisation_interval_s)
    folder.log("run started", policy=policy.name, parameters=policy.parameters, rho=planned.rho)
    sampler.start()
    try:
        run_customers(
            appliance,
            {
                "rho": planned.rho,
                "capacity-rps": capacity_rps,
                "sessions": spec.load.sessions,
                "seed": planned.seed,
                "time-scale": spec.time_scale,
                "attempts-file": folder.attempts_file,
                **model_options(spec.customers),
            },
            folder.path / "loadgen.log",
            on_progress,
        )
        folder.log("customers gone")
        appliance.wait_idle()  # orphan requests are executed in full; they belong to this run
    finally:
        sampler.stop()
        sampler.write(folder.samples_file)
    after = appliance.counts()
    folder.log("run ended")
    summary = summarise(folder, planned, before, after)
    summary["samples_missed"] = sampler.missed
    write_json(folder.summary_file, summary)
    return summary


def prepare(appliance: Appliance, spec: Spec, policy: PolicyChoice, seed: int) -> None:
    """Set gateway and shop to what the spec says."""
    appliance.prepare(
        policy=policy.name,
        parameters=policy.parameters,
        profile=spec.page_profile,
        time_scale=spec.time_scale,
        utilisation_interval_s=spec.utilisation_interval_s,
        seed=seed,
    )


def summarise(
    folder: RunFolder, planned: PlannedRun, before: Mapping[str, Any], after: Mapping[str, Any]
) -> dict[str, Any]:
    """What run.json says: the counts of all three, whether they agree, how honest the load was."""
    load_generator = read_metadata(folder.attempts_file)
    if not load_generator["complete"]:
        raise ExperimentError(
            "The load generator was stopped before its last session ended; "
            "the same command makes this run again."
        )
    outcomes = outcomes_of(folder.attempts(), planned.rho)
    checks = reconcile(outcomes, before, after)
    return {
        "policy": planned.policy,
        "rho": planned.rho,
        "seed": planned.seed,
        "completed_ratio": outcomes.completed_ratio,
        "confirms": outcomes.confirms,
        "duration_s": outcomes.duration_s,
        "reconciles": all(check.holds for check in checks),
        "checks": [check.as_dict() for check in checks],
        "load_generator": load_generator,
        "counts": {"before": before, "after": after},
    }
