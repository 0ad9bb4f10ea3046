"""One run on the appliance: one policy, one ρ, one seed.

Owns: the order of things in a run and what its folder holds afterwards.
Must not know: which other runs there are.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Self

from lab.experiments import live_runs, waste
from lab.experiments.appliance import Appliance, patiently
from lab.experiments.customers import (
    LoadGenerator,
    Progress,
    client_options,
    distributed_options,
    load_options,
    model_options,
    run_loads,
)
from lab.experiments.errors import ExperimentError
from lab.experiments.peers.behind import BehindPeer, peer_in_front
from lab.experiments.peers.samples import completed
from lab.experiments.peers.shown import Shown
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
    on_event: Callable[[], None] = lambda: None,
) -> Mapping[str, Any]:
    """Make the run and fill its folder; returns what run.json says.

    ρ = 1 is `capacity_rps`; None in a closed loop. What an interrupted attempt at the same run left
    is removed first. `on_event` is called once the folder says that the run has begun, or that
    somebody changed something in it. Raises ExperimentError.
    """
    with LiveRun(appliance, spec, planned, capacity_rps, folder, on_event) as run:
        load = run.load_generator(on_progress)
        run_loads([load], appliance.lab.other_cpus, on_end=lambda _: run.customers_gone())
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
        on_event: Callable[[], None] = lambda: None,
    ) -> None:
        self.appliance = appliance
        self.spec = spec
        self.planned = planned
        self.folder = folder
        self.before: Mapping[str, Any] = {}
        """The counts that the run begins with."""
        self._capacity_rps = capacity_rps
        self._on_event = on_event
        self._switched = self._loaded = self._away = 0  # changes that are logged
        self._after: Mapping[str, Any] = {}
        self._shadows: Sequence[Mapping[str, Any]] = ()
        self._told: live_runs.ToldRun | None = None
        self._open = ExitStack()  # what goes on with the run: peer, sampler, what others are told
        self._shown = Shown(folder)
        self._sampler: Sampler

    def __enter__(self) -> Self:
        policy = self.spec.choice(self.planned.policy)
        self.folder.clear()
        with ExitStack() as stack:
            if policy.gateway is not None:
                self.appliance = stack.enter_context(self._in_front(policy.gateway, policy))
            self._begin(policy, stack)
            self._open = stack.pop_all()
        return self

    def _in_front(self, peer: str, policy: PolicyChoice) -> AbstractContextManager[BehindPeer]:
        return peer_in_front(
            self.appliance,
            peer,
            policy.parameters,
            abandonment=self.spec.abandonment_of(policy),
            time_scale=self.spec.time_scale,
            capacity_rps=self._capacity_rps,
            files=self.folder.path,
        )

    def _begin(self, policy: PolicyChoice, stack: ExitStack) -> None:
        prepare(self.appliance, self.spec, policy, self.planned.seed)
        self.before = self.appliance.counts()
        self.folder.log(
            "run started",
            policy=policy.model_dump(mode="json"),
            abandonment=self.spec.abandonment_of(policy),
            rho=self.planned.rho,
        )
        self._on_event()
        self._told = live_runs.ToldRun(
            self.appliance.lab.state_dir,
            {
                "experiment": self.folder.path.parents[1].name,
                "run": self.folder.path.name,
                "policy": policy.policy_name,
                "admission": policy.admission,
                "abandonment": self.spec.abandonment_of(policy),
                "rho": "" if self.planned.rho is None else f"{self.planned.rho:g}",
                "started_at": time.time(),
            },
        )
        stack.callback(self._told.close)
        self._sampler = Sampler(
            self.appliance,
            time_scale=self.spec.time_scale,
            interval_s=self.spec.utilisation_interval_s,
            on_look=self._shown.look if policy.gateway is not None else lambda snapshot: None,
        )
        stack.callback(self._keep_samples)
        self._sampler.start()

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self.folder.load_factor_file.unlink(missing_ok=True)

    def _keep_samples(self) -> None:
        """Written; what a peer does not tell at once its log tells afterwards."""
        self._sampler.stop()
        self._shown.close()
        if isinstance(self.appliance, BehindPeer):
            ended = self.appliance.read_log()
            completed(self._sampler.rows, ended, self._sampler.began_at, self.spec.time_scale)
        self._sampler.write(self.folder.samples_file)

    def load_generator(self, on_progress: Progress) -> LoadGenerator:
        """Who comes; `on_progress` gets its progress lines, too."""
        distributed = distributed_options(self.appliance.lab)
        load_factor_file = self.folder.load_factor_file
        options = {
            **_who_comes(self.spec, self.planned, self._capacity_rps),
            "seed": self.planned.seed,
            "time-scale": self.spec.time_scale,
            "attempts-file": self.folder.attempts_file,
            # Whoever writes there changes the load from then on (docs/loadgen.md); customers who
            # come from elsewhere do not see it.
            "load-factor-file": None if self.spec.clients or distributed else load_factor_file,
            **distributed,
        }

        def progress(line: Mapping[str, Any]) -> None:
            self.log_changes(line.get("load_changes", ()))
            if self._told is not None:
                self._told.tell(line)
            on_progress(line)

        return LoadGenerator(
            self.appliance.url, options, self.folder.path / "loadgen.log", progress
        )

    def log_changes(self, load_changes: Sequence[Mapping[str, Any]]) -> None:
        """What somebody has changed since the last call; `load_changes` are all of them, as the
        load generator's progress lines have them. Raises ExperimentError when a part has died."""
        self._check_lived()
        switched = self._sampler.changes[self._switched :]
        loaded = load_changes[self._loaded :]
        away = self._sampler.outages.found[self._away :]
        for outage in away:
            self.folder.log("away", back_end=outage.back_end, time_s=outage.from_s)
        for change in switched:
            self.folder.log("switched", **change)
        for change in loaded:
            self.folder.log("load changed", time_s=change["at_s"], factor=change["factor"])
        self._switched += len(switched)
        self._loaded += len(loaded)
        self._away += len(away)
        if switched or loaded or away:
            self._on_event()

    def customers_gone(self) -> None:
        """The load generator has ended; what it leaves in the shop still belongs to this run."""
        self.folder.log("customers gone")
        patiently(self.appliance.wait_idle)  # orphan requests are executed in full
        self._sampler.stop()
        self._check_lived()
        self._after = patiently(self.appliance.counts)
        if self.spec.shadows:
            self._shadows = patiently(self.appliance.shadows)

    def _check_lived(self) -> None:
        """What was started anew in mid-run is another shop: nothing holds across it."""
        self.appliance.check_lives()
        part = self._sampler.started_anew
        if part:
            self.folder.log(f"{part} started anew")
            raise ExperimentError(
                f"The {part} died in mid-run and was started anew (`make logs ARGS={part}`): this "
                "run counts for nothing. What it measured until then stays in its folder, the "
                "runs before it are whole."
            )

    def summarise(self, **more: object) -> Mapping[str, Any]:
        """Write run.json, with `more` in it, and return it."""
        folder, sampler = self.folder, self._sampler
        load_generator = read_metadata(folder.attempts_file)
        self.log_changes(load_generator["load_changes"])
        folder.log("run ended")
        if not load_generator["complete"]:
            raise ExperimentError(
                "The load generator was stopped before its last session ended; "
                "the same command makes this run again."
            )
        summary = summarise(self.spec, self.planned, folder, self.before, self._after)
        if self.appliance.tells_who_left:
            metered = waste.of_appliance(self.before, self._after, self.spec.time_scale)
            summary |= {"waste": metered}
        if self._shadows:
            summary |= {"shadows": list(self._shadows)}
        if isinstance(self.appliance, BehindPeer):
            peer = {"name": self.appliance.name, "version": self.appliance.version()}
            summary |= {"peer": peer}
        summary |= {
            "load_generator": load_generator,
            "samples_missed": sampler.missed,
            "switched": sampler.changes,
            "outages": sampler.outages.as_dicts(),
            "fallen_back": sampler.fallen_back,
            **more,
        }
        write_json(folder.summary_file, summary)
        return summary


def prepare(appliance: Appliance, spec: Spec, policy: PolicyChoice, seed: int) -> None:
    """Set gateway and shop to what the spec says."""
    appliance.prepare(
        policy=None if policy.gateway is not None else policy_call(policy),
        profile=spec.page_profile,
        time_scale=spec.time_scale,
        utilisation_interval_s=spec.utilisation_interval_s,
        seed=seed,
        abandonment=spec.abandonment_of(policy),
        shadows=spec.shadows,
    )


def _who_comes(spec: Spec, planned: PlannedRun, capacity_rps: float | None) -> dict[str, object]:
    """Clients or sessions as the load generator's options."""
    load = load_options(spec.load, planned.rho)
    if spec.clients:
        return {**client_options(spec.clients), **load}
    return {"capacity-rps": capacity_rps, **load, **model_options(spec.customers)}


def policy_call(policy: PolicyChoice) -> dict[str, Any]:
    """A choice as the gateway's `PUT /policy` takes it."""
    file = policy.file
    return {
        "name": policy.name,
        **({"source": file.text} if file is not None else {}),
        "parameters": policy.parameters,
        "admission": {"name": policy.admission, "parameters": policy.admission_parameters},
    }
