"""One run on the appliance: one policy, one ρ, one seed.

Owns: the order of things in a run and what its folder holds afterwards.
Must not know: which other runs there are.
"""

from collections.abc import Mapping
from typing import Any

from lab.experiments import waste
from lab.experiments.appliance import Appliance
from lab.experiments.customers import (
    Progress,
    client_options,
    load_options,
    model_options,
    run_customers,
)
from lab.experiments.errors import ExperimentError
from lab.experiments.reconciliation import summarise
from lab.experiments.results import PlannedRun, RunFolder, write_json
from lab.experiments.sampling import Sampler
from lab.experiments.spec import Spec
from lab.experiments.spec_sections import PolicyChoice
from loadgen.attempts import read_metadata


def make_run(
    appliance: Appliance,
    spec: Spec,
    planned: PlannedRun,
    capacity_rps: float | None,
    folder: RunFolder,
    on_progress: Progress,
) -> Mapping[str, Any]:
    """Make the run and fill its folder; returns what run.json says.

    ρ = 1 is `capacity_rps`; None in a closed loop. What an interrupted attempt at the same run left
    is removed first. Raises ExperimentError.
    """
    folder.clear()
    policy = spec.choice(planned.policy)
    prepare(appliance, spec, policy, planned.seed)
    before = appliance.counts()
    sampler = Sampler(appliance, time_scale=spec.time_scale, interval_s=spec.utilisation_interval_s)
    folder.log(
        "run started",
        policy=policy.model_dump(mode="json"),
        abandonment=spec.abandonment_of(policy),
        rho=planned.rho,
    )
    sampler.start()
    try:
        run_customers(
            appliance,
            {
                **_who_comes(spec, planned, capacity_rps),
                "seed": planned.seed,
                "time-scale": spec.time_scale,
                "attempts-file": folder.attempts_file,
                # Whoever writes there changes the load from then on (docs/loadgen.md).
                "load-factor-file": None if spec.clients else folder.load_factor_file,
            },
            folder.path / "loadgen.log",
            on_progress,
        )
        folder.log("customers gone")
        appliance.wait_idle()  # orphan requests are executed in full; they belong to this run
    finally:
        sampler.stop()
        sampler.write(folder.samples_file)
        folder.load_factor_file.unlink(missing_ok=True)
    after = appliance.counts()
    load_generator = read_metadata(folder.attempts_file)
    for change in sampler.changes:
        folder.log("switched", **change)
    for change in load_generator["load_changes"]:
        folder.log("load changed", time_s=change["at_s"], factor=change["factor"])
    folder.log("run ended")
    if not load_generator["complete"]:
        raise ExperimentError(
            "The load generator was stopped before its last session ended; "
            "the same command makes this run again."
        )
    summary = summarise(spec, planned, folder, before, after)
    summary |= {
        "waste": waste.of_appliance(before, after, spec.time_scale),
        "load_generator": load_generator,
        "samples_missed": sampler.missed,
        "switched": sampler.changes,
    }
    write_json(folder.summary_file, summary)
    return summary


def prepare(appliance: Appliance, spec: Spec, policy: PolicyChoice, seed: int) -> None:
    """Set gateway and shop to what the spec says."""
    appliance.prepare(
        policy=policy_call(policy),
        profile=spec.page_profile,
        time_scale=spec.time_scale,
        utilisation_interval_s=spec.utilisation_interval_s,
        seed=seed,
        abandonment=spec.abandonment_of(policy),
    )


def _who_comes(spec: Spec, planned: PlannedRun, capacity_rps: float | None) -> dict[str, object]:
    """Clients or sessions as the load generator's options."""
    load = load_options(spec.load, planned.rho)
    if spec.clients:
        return {**client_options(spec.clients), **load}
    return {"capacity-rps": capacity_rps, **load, **model_options(spec.customers)}


def policy_call(policy: PolicyChoice) -> dict[str, Any]:
    """A choice as the gateway's `PUT /policy` takes it."""
    return {
        "name": policy.name,
        "parameters": policy.parameters,
        "admission": {"name": policy.admission, "parameters": policy.admission_parameters},
    }
