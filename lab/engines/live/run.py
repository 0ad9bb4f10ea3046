"""One live run on the appliance, with one policy, one ρ and one seed."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Self, TypeVar

from lab.baselines.requests import complete
from lab.engines import waste
from lab.engines.live import announcement as live_runs
from lab.engines.live.appliance import Appliance, patiently
from lab.engines.live.baseline_proxy import BehindProxy, ProxyStatusFile, proxy_in_front
from lab.engines.live.sampling import Sampler
from lab.engines.load_generators import (
    LoadGenerator,
    Progress,
    distributed_options,
    load_plan,
    run_loads,
)
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import RunRecord
from lab.spec.runs import ApplianceServer, ShopRun
from lab.spec.sections import PolicyChoice
from loadgen.records.attempt_log import read_metadata

T = TypeVar("T")


class LiveRun:
    """The steps of a run on the appliance; several runs can take each step at the same time.

    The customers arrive within the `with` block. Call `customers_gone` within the block and
    `record` after the block; each can raise ExperimentError.
    """

    def __init__(
        self,
        appliance: Appliance,
        run: ShopRun,
        seed: int,
        folder: RunFolder,
        on_event: Callable[[], None] = lambda: None,
    ) -> None:
        self.appliance = appliance
        self.run = run
        self.seed = seed
        self.folder = folder
        self.before: Mapping[str, Any] = {}
        """The counts of gateway and shop at the beginning of the run."""
        self._on_event = on_event
        self._logged: Counter[str] = Counter()
        """For each event's name, the number of its entries in the log."""
        self._after: Mapping[str, Any] = {}
        self._shadows: Sequence[Mapping[str, Any]] = ()
        self._announcement: live_runs.RunAnnouncement | None = None
        self._open = ExitStack()
        """The context managers of the run: the baseline proxy, the sampler, the announcement."""
        self._proxy_status = ProxyStatusFile(folder)
        self.sampler: Sampler

    @property
    def server(self) -> ApplianceServer:
        """The settings of the shop during this run."""
        assert isinstance(self.run.server, ApplianceServer)
        return self.run.server

    def __enter__(self) -> Self:
        policy = self.run.policy
        self.folder.clear()
        with ExitStack() as stack:
            if policy.gateway is not None:
                self.appliance = stack.enter_context(self._in_front(policy.gateway, policy))
            self._begin(policy, stack)
            self._open = stack.pop_all()
        return self

    def _in_front(self, proxy: str, policy: PolicyChoice) -> AbstractContextManager[BehindProxy]:
        return proxy_in_front(
            self.appliance,
            proxy,
            policy.parameters,
            abandonment=self.run.abandonment,
            time_scale=self.server.time_scale,
            capacity_rps=self.run.capacity_rps,
            files=self.folder.path,
        )

    def _begin(self, policy: PolicyChoice, stack: ExitStack) -> None:
        self.appliance.prepare(
            policy=None if policy.gateway is not None else policy_call(policy),
            profile=self.server.page_profile,
            time_scale=self.server.time_scale,
            utilisation_interval_s=self.run.utilisation_interval_s,
            seed=self.seed,
            abandonment=self.run.abandonment,
            shadows=self.server.shadows,
        )
        self.before = self.appliance.counts()
        self.folder.log(
            "run started",
            policy=policy.model_dump(mode="json"),
            abandonment=self.run.abandonment,
            rho=self.run.rho,
        )
        self._on_event()
        self._announcement = live_runs.RunAnnouncement(
            self.appliance.lab.state_dir,
            {
                "experiment": self.folder.experiment,
                "run": self.folder.path.name,
                "policy": policy.policy_name,
                "admission": policy.admission,
                "abandonment": self.run.abandonment,
                "rho": "" if self.run.rho is None else f"{self.run.rho:g}",
                "started_at": time.time(),
            },
        )
        stack.callback(self._announcement.close)
        self.sampler = Sampler(
            self.appliance,
            time_scale=self.server.time_scale,
            interval_s=self.run.utilisation_interval_s,
            on_look=self._proxy_status.look
            if policy.gateway is not None
            else lambda snapshot: None,
        )
        stack.callback(self._keep_samples)
        self.sampler.start()

    def __exit__(self, *_: object) -> None:
        self._end_faults()
        self._open.close()
        self.folder.load_factor_file.unlink(missing_ok=True)

    def _end_faults(self) -> None:
        """End the faults that users have caused; if the shop does not answer, each fault ends by
        itself."""
        if self.sampler.faults.found:
            with contextlib.suppress(ExperimentError):
                self.appliance.end_faults()

    def _keep_samples(self) -> None:
        """Write the samples; a baseline proxy's log supplies the values that its samples lack."""
        self.sampler.stop()
        self._proxy_status.close()
        if isinstance(self.appliance, BehindProxy):
            ended = self.appliance.read_log()
            complete(self.sampler.rows, ended, self.sampler.began_at, self.server.time_scale)
        self.sampler.write(self.folder.samples_file)

    def load_generator(self, on_progress: Progress) -> LoadGenerator:
        """Return the load generator of the run; its progress lines also go to `on_progress`."""
        distributed = distributed_options(self.appliance.lab)
        no_factor = self.run.is_closed_loop or bool(distributed)
        plan = load_plan(self.run).with_(
            seed=self.seed,
            time_scale=self.server.time_scale,
            attempts_file=self.folder.attempts_file,
            # A number that is written to this file changes the load (docs/loadgen.md).
            # Load generators on other machines do not read the file.
            load_factor_file=None if no_factor else self.folder.load_factor_file,
        )

        def progress(line: Mapping[str, Any]) -> None:
            self.log_changes(line.get("load_changes", ()))
            if self._announcement is not None:
                self._announcement.tell(line.get("counts", line))  # the last line is the summary
            on_progress(line)

        return LoadGenerator(
            self.appliance.url, plan, self.folder.path / "loadgen.log", progress, distributed
        )

    def log_changes(self, load_changes: Sequence[Mapping[str, Any]]) -> None:
        """Log the changes, outages and faults since the last call.

        `load_changes` has all changes of the load, in the form of the load generator's progress
        lines. Raises ExperimentError if a part has died.
        """
        self._check_lived()
        sampler = self.sampler
        before = self._logged.total()
        for outage in self._new("away", sampler.outages.found):
            self.folder.log("away", back_end=outage.back_end, time_s=outage.from_s)
        for change in self._new("switched", sampler.changes):
            self.folder.log("switched", **change)
        for load in self._new("load changed", load_changes):
            self.folder.log("load changed", time_s=load["at_s"], factor=load["factor"])
        for fault in self._new("fault", sampler.faults.found):
            self.folder.log("fault", name=fault.name, time_s=fault.from_s)
        for fault in self._new("fault over", sampler.faults.ends):
            self.folder.log("fault over", name=fault.name, time_s=fault.until_s)
        if self._logged.total() > before:
            self._on_event()

    def _new(self, event: str, changes: Sequence[T]) -> Sequence[T]:
        new = changes[self._logged[event] :]
        self._logged[event] += len(new)
        return new

    def customers_gone(self) -> None:
        """Finish the run after the load generator has ended: wait until the shop has finished all
        requests, and read the counts.
        """
        self.folder.log("customers gone")
        self._end_faults()
        patiently(self.appliance.wait_idle)  # orphan requests run to their end
        self.sampler.stop()
        self._check_lived()
        self._after = patiently(self.appliance.counts)
        if self.server.shadows:
            self._shadows = patiently(self.appliance.shadows)

    def _check_lived(self) -> None:
        self.appliance.check_lives()
        part = self.sampler.started_anew
        if part:
            self.folder.log(f"{part} started anew")
            raise ExperimentError(
                f"The {part} died in mid-run and was started again (see `make logs "
                f"ARGS={part}`), so this run does not count. The run's folder keeps the "
                "measurements up to that time, and the earlier runs are complete."
            )

    def record(self) -> RunRecord:
        """Return the record of the finished run."""
        folder, sampler = self.folder, self.sampler
        load_generator = read_metadata(folder.attempts_file)
        self.log_changes(load_generator["load_changes"])
        folder.log("run ended")
        if not load_generator["complete"]:
            raise ExperimentError(
                "The load generator was stopped before its last session ended. Run the same "
                "command again to repeat this run."
            )
        facts: dict[str, Any] = {}
        # A proxy that serves orphan requests does not notify the shop when customers leave.
        if self.run.policy.gateway is None or self.run.abandonment == "cancel":
            facts["waste"] = waste.of_appliance(self.before, self._after, self.server.time_scale)
        if self._shadows:
            facts["shadows"] = list(self._shadows)
        if isinstance(self.appliance, BehindProxy):
            facts["peer"] = {"name": self.appliance.name, "version": self.appliance.version()}
        facts |= {
            "load_generator": load_generator,
            "samples_missed": sampler.missed,
            "switched": sampler.changes,
            "outages": sampler.outages.as_dicts(),
            "fallen_back": sampler.fallen_back,
            "faults": sampler.faults.as_dicts(),
            "traced_ratio": sampler.traced_ratio,
        }
        return RunRecord(self.before, self._after, facts)


def record_runs(
    live: Sequence[LiveRun],
    on_progress: Sequence[Progress],
    on_cpus: tuple[int, ...],
    *,
    on_begin: Callable[[], None] = lambda: None,
) -> list[RunRecord]:
    """Carry out live runs at the same time, and return their records.

    `on_progress` has one function for each run. The load generators use `on_cpus`. If there are
    several runs, `on_begin` is called when their customers start. Raises ExperimentError if a run
    fails.
    """
    with ExitStack() as stack:
        for run in live:
            stack.enter_context(run)
        run_loads(
            [run.load_generator(step) for run, step in zip(live, on_progress, strict=True)],
            on_cpus,
            on_begin=on_begin,
            on_end=lambda index: live[index].customers_gone(),
        )
    return [run.record() for run in live]


def policy_call(policy: PolicyChoice) -> dict[str, Any]:
    """Return the body of `PUT /policy` for a policy choice."""
    file = policy.file
    return {
        "name": policy.name,
        **({"source": file.text} if file is not None else {}),
        "parameters": policy.parameters,
        "admission": {"name": policy.admission, "parameters": policy.admission_parameters},
    }
