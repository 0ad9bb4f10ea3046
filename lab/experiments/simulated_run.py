"""One run in the simulator: one policy, one ρ, one seed.

Owns: the scenario that a spec describes, and filling the same folder as a live run.
Must not know: which other runs there are, where they are made.
"""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from gateway.policies.interface import PAGES
from lab.experiments.errors import ExperimentError
from lab.experiments.grid import tell
from lab.experiments.reconciliation import summarise
from lab.experiments.results import PlannedRun, RunFolder, write_json
from lab.experiments.sampling import SCHEMA, of_admission, write_samples
from lab.experiments.spec import Spec
from lab.experiments.spec_sections import FifoServerSection, SharedCpusServer
from loadgen.attempts import AttemptLog
from loadgen.sessions import CONFIRM_PAGE, Customers
from simulator.scenario import FifoServer, Scenario, SharedCpus
from simulator.simulation import Simulated, simulate

CPU_PAGE_S = 0.30
"""LIFO-Pri, section 3.1: the CPU-intensive page."""

OnProgress = Callable[[int], None]
"""Is told how many sessions have ended."""


def make_simulated_run(
    spec: Spec,
    planned: PlannedRun,
    capacity_rps: float,
    folder: RunFolder,
    on_progress: OnProgress,
) -> Mapping[str, Any]:
    """Make the run and fill its folder as `live_run.make_run` does; returns what run.json says.

    Raises ExperimentError when nobody arrives.
    """
    folder.clear()
    policy = spec.choice(planned.policy)
    folder.log("run started", policy=policy.model_dump(mode="json"), rho=planned.rho)
    log = AttemptLog()
    scenario = scenario_of(spec, planned, capacity_rps)
    simulated = simulate(scenario, log=log, on_progress=lambda time_s, ended: on_progress(ended))
    if not len(simulated.sessions):
        raise ExperimentError("load: no session arrives in so short a time; give more")
    customers = scenario.customers
    load_generator = {
        "engine": "simulated",
        "complete": True,
        "seed": planned.seed,
        "session_rate": customers.session_rate,
        "rho": planned.rho,
        "capacity_rps": capacity_rps,
        "model": customers.model.parameters(),
    }
    log.write(folder.attempts_file, load_generator)
    write_samples(_samples(simulated), folder.samples_file)
    folder.log("run ended")
    summary = summarise(spec, planned, folder, *_counts(simulated))
    summary["load_generator"] = load_generator
    write_json(folder.summary_file, summary)
    return summary


def make_packed_run(task: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a grid's worker makes it: the spec and the plan in JSON in, its files out.

    `task`: `spec` (`Spec.plain`), `run` (the fields of PlannedRun), `capacity_rps`.
    """
    with tempfile.TemporaryDirectory(prefix="doorbuster-run-") as place:
        folder = RunFolder(Path(place) / "run")
        planned = PlannedRun(**task["run"])
        spec = Spec.model_validate(task["spec"])
        make_simulated_run(spec, planned, task["capacity_rps"], folder, tell)
        return {"files": folder.pack()}


def scenario_of(spec: Spec, planned: PlannedRun, capacity_rps: float) -> Scenario:
    """What `spec` says of this run, for the simulator; ρ = 1 is `capacity_rps`."""
    model = spec.customers.as_model()
    section = server_section(spec)
    return Scenario(
        customers=Customers(
            model,
            planned.seed,
            model.session_rate(planned.rho, capacity_rps),
            spec.load.as_schedule(),
        ),
        policy=spec.choice(planned.policy).create(),
        server=server_of(spec),
        seed=planned.seed,
        sessions=spec.load.sessions,
        arrivals_until_s=spec.load.duration_s,
        utilisation_interval_s=spec.utilisation_interval_s,
        abandonment=spec.abandonment,
        session_known_from=section.session_known_from,
    )


def server_of(spec: Spec) -> SharedCpus | FifoServer:
    """The simulated server; without a `[server]` LIFO-Pri's."""
    section = server_section(spec)
    if isinstance(section, FifoServerSection):
        return FifoServer(
            capacity_rps=section.capacity_rps,
            rejection=section.rejection,
            rejection_cost=section.rejection_cost,
        )
    if spec.page_profile == "cpu":
        return SharedCpus(
            workers=section.workers,
            cpus=section.cpus,
            mean_execution_s=dict.fromkeys(PAGES, CPU_PAGE_S),
            busy_ratio=1.0,
            slices=1,
        )
    return SharedCpus(workers=section.workers, cpus=section.cpus)


def server_section(spec: Spec) -> SharedCpusServer | FifoServerSection:
    """The spec's `[server]`, or the default one."""
    return spec.server or SharedCpusServer()


def _samples(simulated: Simulated) -> pa.Table:
    columns = dict(simulated.samples)
    rows = len(columns["time_s"])
    snapshots = columns.pop("admission", [None] * rows)
    columns |= {
        column: [known[column] for known in map(of_admission, snapshots)]
        for column in of_admission(None)
    }
    return pa.table(columns, schema=SCHEMA)


def _counts(simulated: Simulated) -> tuple[dict[str, Any], dict[str, Any]]:
    """Driver and server before and after the run, in the form of `Appliance.counts()`."""
    after = {
        "gateway": {page: dict(fates) for page, fates in simulated.counts.items()},
        "shop": {
            "pages": {page: {"served": n} for page, n in simulated.served.items()},
            "orders": simulated.served[CONFIRM_PAGE],
        },
    }
    before = {
        "gateway": {page: dict.fromkeys(fates, 0) for page, fates in simulated.counts.items()},
        "shop": {"pages": {page: {"served": 0} for page in simulated.served}, "orders": 0},
    }
    return before, after
