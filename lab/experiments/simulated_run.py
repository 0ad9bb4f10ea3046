"""One run in the simulator: one policy, one ρ, one seed.

Owns: the scenario that a spec describes, and filling the same folder as a live run.
Must not know: which other runs there are, where they are made.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from gateway.policies.interface import PAGES
from lab.experiments import own_policies, waste
from lab.experiments.errors import ExperimentError
from lab.experiments.grid import tell
from lab.experiments.reconciliation import summarise
from lab.experiments.results import PlannedRun, RunFolder, write_json
from lab.experiments.sampling import SCHEMA, of_admission, write_samples
from lab.experiments.spec import Spec
from lab.experiments.spec_sections import FifoServerSection, PolicyChoice, SharedCpusServer
from loadgen.attempts import AttemptLog
from loadgen.clients import KIND_PAGE, Clients
from loadgen.sessions import CONFIRM_PAGE, MEAN_EXECUTION_S, Customers
from simulator.scenario import FifoServer, Scenario, SharedCpus
from simulator.simulation import Simulated, simulate

CPU_PAGE_S = 0.30
"""LIFO-Pri, section 3.1: the CPU-intensive page."""

FILE_CPU_S = 0.03
"""CPU of a book's cover: 3 ms of the shop's at time scale 10."""

OnProgress = Callable[[int], None]
"""Is told how many sessions have ended."""


def make_simulated_run(
    spec: Spec,
    planned: PlannedRun,
    capacity_rps: float | None,
    folder: RunFolder,
    on_progress: OnProgress,
) -> Mapping[str, Any]:
    """Make the run and fill its folder as `live_run.make_run` does; returns what run.json says.

    Raises ExperimentError when nobody arrives.
    """
    folder.clear()
    policy = spec.choice(planned.policy)
    folder.log(
        "run started",
        policy=policy.model_dump(mode="json"),
        abandonment=spec.abandonment_of(policy),
        rho=planned.rho,
    )
    log = AttemptLog()
    scenario = scenario_of(spec, planned, capacity_rps)
    simulated = simulate(scenario, log=log, on_progress=lambda time_s, ended: on_progress(ended))
    if not len(simulated.sessions):
        raise ExperimentError("load: no session arrives in so short a time; give more")
    load_generator = {
        "engine": "simulated",
        "complete": True,
        "seed": planned.seed,
        **_who_came(scenario.customers),
    }
    if not spec.clients:
        load_generator |= {"rho": planned.rho, "capacity_rps": capacity_rps}
    log.write(folder.attempts_file, load_generator)
    write_samples(_samples(simulated), folder.samples_file)
    folder.log("run ended")
    summary = summarise(spec, planned, folder, *_counts(simulated))
    summary |= {"waste": waste.of_simulation(simulated), "load_generator": load_generator}
    summary |= fallen_back(policy, scenario)
    write_json(folder.summary_file, summary)
    return summary


def fallen_back(policy: PolicyChoice, scenario: Scenario) -> dict[str, Any]:
    """Of a student's policy whether it was given up, when and why; of others nothing."""
    if policy.sha256 is None:
        return {}
    return {"fallen_back": scenario.policy.snapshot().get("fallen_back")}


def make_packed_run(task: Mapping[str, Any]) -> dict[str, Any]:
    """A run as a grid's worker makes it: the spec and the plan in JSON in, its files out.

    `task`: `spec` (`Spec.plain`), `run` (the fields of PlannedRun), `capacity_rps`, `own` (the
    texts of students' policies, which may be nowhere else on this machine).
    """
    own_policies.remember(task["own"])
    with tempfile.TemporaryDirectory(prefix="doorbuster-run-") as place:
        folder = RunFolder(Path(place) / "run")
        planned = PlannedRun(**task["run"])
        spec = Spec.model_validate(task["spec"])
        make_simulated_run(spec, planned, task["capacity_rps"], folder, tell)
        return {"files": folder.pack()}


def scenario_of(spec: Spec, planned: PlannedRun, capacity_rps: float | None) -> Scenario:
    """What `spec` says of this run, for the simulator; ρ = 1 is `capacity_rps` (in a closed loop
    None).
    """
    choice = spec.choice(planned.policy)
    section = server_section(spec)
    return Scenario(
        customers=_customers(spec, planned, capacity_rps),
        policy=choice.create(),
        server=_at_work(spec),
        seed=planned.seed,
        sessions=spec.load.sessions,
        arrivals_until_s=spec.load.duration_s,
        utilisation_interval_s=spec.utilisation_interval_s,
        abandonment=spec.abandonment_of(choice),
        session_known_from=section.session_known_from,
    )


def _customers(spec: Spec, planned: PlannedRun, capacity_rps: float | None) -> Customers | Clients:
    if spec.clients:
        return Clients(spec.clients.as_model(), planned.seed)
    assert planned.rho is not None
    assert capacity_rps is not None
    model = spec.customers.as_model()
    rate = model.session_rate(planned.rho, capacity_rps)
    return Customers(model, planned.seed, rate, spec.load.as_schedule())


def _who_came(customers: Customers | Clients) -> dict[str, Any]:
    """As the metadata of a live run's attempts has it."""
    model = customers.model
    if isinstance(customers, Clients):
        return {"clients": model.parameters(), "control_clients": customers.model.per_set}
    return {"session_rate": customers.session_rate, "model": model.parameters()}


def _at_work(spec: Spec) -> SharedCpus | FifoServer:
    """The server as it turns out to be: so much slower than everybody believes."""
    believed, section = server_of(spec), server_section(spec)
    if isinstance(believed, FifoServer) or isinstance(section, FifoServerSection):
        return believed
    times_s = believed.mean_execution_s
    slower = {page: time_s * section.execution_factor for page, time_s in times_s.items()}
    return replace(believed, mean_execution_s=slower)


def server_of(spec: Spec) -> SharedCpus | FifoServer:
    """The simulated server as it is believed to be, which its capacity rests on; without a
    `[server]` LIFO-Pri's."""
    section = server_section(spec)
    if isinstance(section, FifoServerSection):
        return FifoServer(
            capacity_rps=section.capacity_rps,
            rejection=section.rejection,
            rejection_cost=section.rejection_cost,
        )
    busy_ratio = 1.0 if spec.page_profile == "cpu" else SharedCpus().busy_ratio
    files = {KIND_PAGE["file"]: FILE_CPU_S / busy_ratio} if spec.clients else {}
    if spec.page_profile == "cpu":
        return SharedCpus(
            workers=section.workers,
            cpus=section.cpus,
            mean_execution_s={**dict.fromkeys(PAGES, CPU_PAGE_S), **files},
            busy_ratio=busy_ratio,
            slices=1,
        )
    return SharedCpus(
        workers=section.workers,
        cpus=section.cpus,
        mean_execution_s={**MEAN_EXECUTION_S, **files},
    )


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
