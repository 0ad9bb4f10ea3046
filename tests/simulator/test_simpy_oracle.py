"""The same customers in SimPy: every attempt ends with the same outcome at the same time."""

import math

import pytest

from gateway.policies import registry
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt
from loadgen.workload.clients import ClientModel, Clients, place
from loadgen.workload.draws import address, exponential, stream_key, uniform
from loadgen.workload.sessions import MEAN_EXECUTION_S, Customers, SessionLengths, SessionModel
from simulator.scenario import FifoServer, Scenario, SharedCpus
from simulator.simulation import simulate
from tests.simulator.simpy_models import OneAtATime, Shared, attempts, client_attempts

SEED = 11
PATIENT = {"timeout_s": math.inf, "think_timeout_mean_s": 0.0, "max_retries": 0}
SAME_PATIENCE = {
    "timeout_s": 1.0,
    "think_timeout_mean_s": 0.0,
    "retry_probability": 1.0,
    "max_retries": 1,
    "think_time_mean_s": 5.0,
    "lengths": SessionLengths("geometric", 5.0),
}
DRAWN_PATIENCE = {"timeout_s": 0.8, "think_timeout_mean_s": 1.2}


def simulated(scenario: Scenario) -> list[Attempt]:
    log = AttemptLog()
    simulate(scenario, log=log)
    rows = map(Attempt._make, zip(*log.columns_since(0), strict=True))
    return sorted(rows, key=lambda row: row[:4])


def assert_alike(ours: list[Attempt], theirs: list[Attempt]) -> None:
    def names(rows: list[Attempt]) -> list[tuple[object, ...]]:
        return [(*row[:4], row.outcome, row.status) for row in rows]

    assert names(ours) == names(theirs)
    for column in ("intended_s", "started_s", "finished_s", "patience_s"):
        one = [getattr(row, column) or 0.0 for row in ours]
        other = [getattr(row, column) or 0.0 for row in theirs]
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("abandonment", ["ignore", "drop-queued"])
@pytest.mark.parametrize(
    ("model", "rho"),
    [(PATIENT, 1.1), (SAME_PATIENCE, 1.5), (DRAWN_PATIENCE, 1.3)],
    ids=["patient", "same patience", "drawn patience"],
)
def test_fifo_server_with_sq(model, rho, abandonment):
    session_model = SessionModel(**model)
    customers = Customers(session_model, SEED, session_model.session_rate(rho, 20.0))
    key = stream_key(SEED, "work")

    def service_s(session: int, step: int, attempt: int, page: str) -> float:
        return exponential(uniform(key, address(session, step, attempt)), 1 / 20.0)

    scenario = Scenario(
        customers=customers,
        policy=registry.create("sq", {"capacity": 25}),
        server=FifoServer(capacity_rps=20.0, service_times="exponential"),
        seed=SEED,
        sessions=1500,
        abandonment=abandonment,
    )
    rows = simulated(scenario)
    expected = attempts(
        customers, 1500, lambda env: OneAtATime(env, 25), service_s, abandonment=abandonment
    )
    outcomes = {row.outcome for row in rows}
    assert {"completed", "dropped"} <= outcomes
    assert ("timed_out" in outcomes) == (model is not PATIENT)
    assert_alike(rows, expected)


@pytest.mark.parametrize(("cpus", "busy_ratio"), [(1, 0.714), (2, 0.714), (1, 1.0)])
def test_shared_cpus_with_sq(cpus, busy_ratio):
    model = SessionModel()
    customers = Customers(model, SEED, model.session_rate(1.4, 5.6 * cpus))
    server = SharedCpus(workers=12, cpus=cpus, busy_ratio=busy_ratio)
    key = stream_key(SEED, "work")

    def execution_s(session: int, step: int, attempt: int, page: str) -> float:
        draw = uniform(key, address(session, step, attempt))
        return server.mean_execution_s[page] * (0.5 + draw)

    scenario = Scenario(
        customers=customers,
        policy=registry.create("sq", {"capacity": 40 * cpus}),
        server=server,
        seed=SEED,
        sessions=500,
    )
    rows = simulated(scenario)
    assert {"completed", "dropped", "timed_out"} <= {row.outcome for row in rows}
    assert_alike(
        rows,
        attempts(
            customers,
            500,
            lambda env: Shared(env, 40 * cpus, 12, cpus=cpus, busy_ratio=busy_ratio, slices=4),
            execution_s,
        ),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("abandonment", ["ignore", "drop-queued"])
def test_clients_in_a_closed_loop_with_files(abandonment, seed):
    """The loop is short: the order of service decides the times of later requests.

    The difference between two orders of adding up grows tenfold every fifteen seconds or so.
    """
    until_s, workers = 60.0, 3
    clients = Clients(ClientModel(per_set=9, patience_max_s=7.5), seed)
    execution_s = {**MEAN_EXECUTION_S, "Br-3": 1.0, "Br-4": 0.6, "file": 0.05}
    server = SharedCpus(workers=workers, mean_execution_s=execution_s)
    key = stream_key(seed, "work")

    def seconds(client: int, step: int, attempt: int, page: str) -> float:
        return execution_s[page] * (0.5 + uniform(key, place(client, step, attempt)))

    scenario = Scenario(
        customers=clients,
        policy=registry.create("sq", {"capacity": 4}),
        server=server,
        seed=seed,
        arrivals_until_s=until_s,
        abandonment=abandonment,
    )
    rows = simulated(scenario)
    assert {"completed", "timed_out"} <= {row.outcome for row in rows}
    assert {"Br-1", "Br-3", "file"} <= {row.page for row in rows}
    expected = client_attempts(
        clients,
        until_s,
        lambda env: Shared(env, 4, workers, cpus=1, busy_ratio=0.714, slices=4),
        seconds,
        abandonment=abandonment,
    )
    assert_alike(rows, expected)
