"""One run on the appliance: one policy, one ρ, one seed.

Owns: the order of things in a run and what its folder holds afterwards.
Must not know: which other runs there are.
"""

from collections.abc import Mapping
from typing import Any, Self

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
    with LiveRun(appliance, spec, planned, capacity_rps, folder) as run:
        run_customers(appliance, run.load_options(), run.load_log, on_progress)
        run.customers_gone()
    return run.summarise()


class LiveRun:
    """One run in its steps, so that several can be made in step: `with`, within it the customers
    and `customers_gone`, after it `summarise`. All of them raise ExperimentError."""

    def __init__(
        self,
        appliance: Appliance,
        spec: Spec,
        planned: PlannedRun,
        capacity_rps: float | None,
        folder: RunFolder,
    ) -> None:
        self.appliance = appliance
        self.spec = spec
        self.planned = planned
        self.folder = folder
        self.load_log = folder.path / "loadgen.log"
        self.before: Mapping[str, Any] = {}
        """The counts that the run begins with."""
        self._capacity_rps = capacity_rps
        self._after: Mapping[str, Any] = {}
        self._sampler = Sampler(
            appliance, time_scale=spec.time_scale, interval_s=spec.utilisation_interval_s
        )

    def __enter__(self) -> Self:
        policy = self.spec.choice(self.planned.policy)
        self.folder.clear()
        prepare(self.appliance, self.spec, policy, self.planned.seed)
        self.before = self.appliance.counts()
        self.folder.log(
            "run started",
            policy=policy.model_dump(mode="json"),
            abandonment=self.spec.abandonment_of(policy),
            rho=self.planned.rho,
        )
        self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._sampler.stop()
        self._sampler.write(self.folder.samples_file)
        self.folder.load_factor_file.unlink(missing_ok=True)

    def load_options(self) -> dict[str, object]:
        """Who comes, as the load generator's options."""
        return {
            **_who_comes(self.spec, self.planned, self._capacity_rps),
            "seed": self.planned.seed,
            "time-scale": self.spec.time_scale,
            "attempts-file": self.folder.attempts_file,
            # Whoever writes there changes the load from then on (docs/loadgen.md).
            "load-factor-file": None if self.spec.clients else self.folder.load_factor_file,
        }

    def customers_gone(self) -> None:
        """The load generator has ended; what it leaves in the shop still belongs to this run."""
        self.folder.log("customers gone")
        self.appliance.wait_idle()  # orphan requests are executed in full
        self._sampler.stop()
        self._after = self.appliance.counts()

    def summarise(self, **more: object) -> Mapping[str, Any]:
        """Write run.json, with `more` in it, and return it."""
        folder, sampler = self.folder, self._sampler
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
        summary = summarise(self.spec, self.planned, folder, self.before, self._after)
        summary |= {
            "waste": waste.of_appliance(self.before, self._after, self.spec.time_scale),
            "load_generator": load_generator,
            "samples_missed": sampler.missed,
            "switched": sampler.changes,
            **more,
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
