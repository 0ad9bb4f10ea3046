"""The simulation of one run of a shop."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from lab.baselines import models
from lab.engines import waste
from lab.engines.samples import SCHEMA, of_admission, write_samples
from lab.errors import ExperimentError
from lab.files.run_folder import RunFolder
from lab.files.run_summary import RunRecord
from lab.spec.runs import ApplianceServer, ShopRun
from loadgen.records.attempt_log import AttemptLog
from loadgen.workload.clients import Clients
from loadgen.workload.sessions import CONFIRM_PAGE, Customers
from simulator.scenario import FifoServer, Scenario, SharedCpus
from simulator.simulation import Simulated, simulate

OnProgress = Callable[[int], None]
"""A function that receives the number of sessions that have ended."""


def simulate_run(run: ShopRun, seed: int, folder: RunFolder, on_progress: OnProgress) -> RunRecord:
    """Simulate the run, and write its attempts, samples and events to its folder.

    Raises ExperimentError if no session arrives, and the errors of `scenario_of`.
    """
    folder.clear()
    folder.log(
        "run started",
        policy=run.policy.model_dump(mode="json"),
        abandonment=run.abandonment,
        rho=run.rho,
    )
    log = AttemptLog()
    scenario = scenario_of(run, seed)
    simulated = simulate(scenario, log=log, on_progress=lambda time_s, ended: on_progress(ended))
    if not len(simulated.sessions):
        raise ExperimentError(
            "load: no session arrives within the duration; choose a longer duration or a higher "
            "load"
        )
    load_generator = {
        "engine": "simulated",
        "complete": True,
        "seed": seed,
        **_who_came(scenario.customers),
    }
    if not run.is_closed_loop:
        load_generator |= {"rho": run.rho, "capacity_rps": run.capacity_rps}
    log.write(folder.attempts_file, load_generator)
    write_samples(_samples(simulated), folder.samples_file)
    folder.log("run ended")
    facts = {
        "waste": waste.of_simulation(simulated),
        "load_generator": load_generator,
        **fallen_back(run, scenario),
    }
    return RunRecord(*_counts(simulated), facts)


def scenario_of(run: ShopRun, seed: int) -> Scenario:
    """Return the run as a scenario of the simulator.

    Raises PolicyError, SessionModelError or ScenarioError if its policy, customers or other
    settings are invalid.
    """
    if run.is_closed_loop:
        customers: Customers | Clients = Clients(run.client_model, seed)
    else:
        customers = Customers(run.session_model, seed, run.session_rate, run.schedule)
    policy = run.policy.create() if run.policy.gateway is None else _baseline(run)
    return Scenario(
        customers=customers,
        policy=policy,
        server=_server(run),
        seed=seed,
        sessions=run.sessions,
        arrivals_until_s=run.duration_s,
        stop_s=run.stop_s,
        utilisation_interval_s=run.utilisation_interval_s,
        abandonment=run.abandonment,
        session_known_from=run.session_known_from,
    )


def fallen_back(run: ShopRun, scenario: Scenario) -> dict[str, Any]:
    """Return `fallen_back`: the time at which FIFO replaced a student's policy, and the reason, or
    None if FIFO did not replace it. The result is empty if the policy is not a student's.
    """
    if run.policy.sha256 is None:
        return {}
    return {"fallen_back": scenario.policy.snapshot().get("fallen_back")}


def _baseline(run: ShopRun) -> Any:
    assert run.policy.gateway is not None
    assert run.capacity_rps is not None
    return models.create(run.policy.gateway, run.policy.parameters, run.capacity_rps)


def _server(run: ShopRun) -> SharedCpus | FifoServer:
    server = run.server
    assert not isinstance(server, ApplianceServer)
    if isinstance(server, FifoServer) or run.slower_ratio == 1.0:
        return server
    times_s = server.mean_execution_s
    slower = {page: time_s * run.slower_ratio for page, time_s in times_s.items()}
    return replace(server, mean_execution_s=slower)


def _who_came(customers: Customers | Clients) -> dict[str, Any]:
    model = customers.model
    if isinstance(customers, Clients):
        return {"clients": model.parameters(), "control_clients": customers.model.per_set}
    return {"session_rate": customers.session_rate, "model": model.parameters()}


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
    """Return the counts before and after the run, in the form of `Appliance.counts()`."""
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
