"""The simulator against queueing theory, within confidence intervals of independent seeds."""

from statistics import mean, pvariance

import numpy as np
import pytest

from gateway.policies import registry
from loadgen.records.attempt_log import AttemptLog
from loadgen.workload.clients import ClientModel, Clients
from loadgen.workload.sessions import PAGES, Chain
from simulator.scenario import FifoServer, Scenario, SharedCpus
from simulator.simulation import simulate
from tests.simulator.queueing_theory import (
    erlang_a_abandonment_ratio,
    machine_repair,
    mm1_number,
    mm1_response_s,
    mmck_loss_ratio,
    total_impatience_ratio,
)
from tests.simulator.scenes import (
    ENDLESS,
    SEEDS,
    agrees,
    per_seed,
    response_s,
    single_requests,
    times_in_system_s,
)

MM1 = FifoServer(capacity_rps=1.0, service_times="exponential")
SECOND = dict.fromkeys(PAGES, 1.0)
IMPATIENT = {"timeout_s": 0.0, "think_timeout_mean_s": 4.0}


def cpus(n: int, *, workers: int = ENDLESS, **more: object) -> SharedCpus:
    """Return `n` CPUs, with CPU time of mean 1 s and no waits."""
    return SharedCpus(
        **{
            "workers": workers,
            "cpus": n,
            "mean_execution_s": SECOND,
            "busy_ratio": 1.0,
            "execution_times": "exponential",
            **more,
        }
    )


@pytest.mark.parametrize("server", [MM1, cpus(1, workers=1)], ids=["fifo", "shared-cpus"])
def test_mm1_response_time_and_number_in_system(server):
    results = [simulate(single_requests(seed, 0.6, server)) for seed in SEEDS]
    assert agrees([response_s(result) for result in results], mm1_response_s(0.6, 1.0))
    in_system = [np.add(r.samples["waiting"], r.samples["in_service"]) for r in results]
    numbers = [float(number[50:-50].mean()) for number in in_system]
    assert agrees(numbers, mm1_number(0.6, 1.0))
    assert agrees([result.busy_s / result.end_s for result in results], 0.6)


@pytest.mark.parametrize(("servers", "places"), [(1, 5), (3, 6), (4, 5)])
def test_mmck_loses_what_finds_every_place_taken(servers, places):
    def loss_ratio(seed: int) -> float:
        policy = registry.create("sq", {"capacity": places - servers})
        server = cpus(servers, workers=servers)
        result = simulate(single_requests(seed, 0.9 * servers, server, policy=policy))
        return result.attempts["dropped"] / result.requests

    theory = mmck_loss_ratio(0.9 * servers, 1.0, servers, places)
    assert agrees(per_seed(loss_ratio), theory)


@pytest.mark.parametrize(
    "server",
    [
        cpus(1),
        cpus(1, execution_times="uniform", spread_ratio=0.0),
        cpus(1, execution_times="uniform", spread_ratio=1.0),
    ],
    ids=["exponential", "fixed", "uniform"],
)
def test_ps_response_time_depends_on_the_mean_alone(server):
    values = per_seed(lambda seed: response_s(simulate(single_requests(seed, 0.6, server))))
    assert agrees(values, 1.0 / (1 - 0.6))


def test_ps_with_waits_is_the_cpu_shared_and_the_waits_on_top():
    """Slices of CPU and waits alternate: a closed form by the BCMP theorem, E[B]/(1 − ρ) + E[W]."""
    server = cpus(1, busy_ratio=0.5, slices=3, execution_times="uniform")
    values = per_seed(lambda seed: response_s(simulate(single_requests(seed, 1.2, server))))
    assert agrees(values, 0.5 / (1 - 0.6) + 0.5)


def test_ps_is_fair_to_long_pages():
    """Each page type's mean response is E[S] / (1 − ρ) of its service time."""
    chain = Chain({"Br-1": {"Br-2": 0.5}})
    execution_s = {**SECOND, "Br-1": 0.5, "Br-2": 2.0}
    server = cpus(1, mean_execution_s=execution_s)

    def ratio(seed: int) -> float:
        # ρ = 0.4 × (0.5 + 0.5 × 2); the session's response is that of both pages together.
        return response_s(simulate(single_requests(seed, 0.4, server, model={"chain": chain})))

    assert agrees(per_seed(ratio), (0.5 + 0.5 * 2.0) / (1 - 0.6))


def test_who_leaves_the_queue_is_erlang_a():
    def abandonment_ratio(seed: int) -> float:
        scenario = single_requests(seed, 1.2, MM1, model=IMPATIENT, abandonment="drop-queued")
        result = simulate(scenario)
        return result.counts["Br-1"]["abandoned_waiting"] / result.requests

    assert agrees(per_seed(abandonment_ratio), erlang_a_abandonment_ratio(1.2, 1.0, 1 / 4.0))


@pytest.mark.parametrize("server", [MM1, cpus(1, workers=1), cpus(1)])
def test_who_leaves_and_stops_the_service_too(server):
    """Alike for FIFO and PS: the number in system is the same birth-death process."""

    def timed_out_ratio(seed: int) -> float:
        scenario = single_requests(seed, 1.2, server, model=IMPATIENT, abandonment="cancel")
        result = simulate(scenario)
        return result.attempts["timed_out"] / result.requests

    assert agrees(per_seed(timed_out_ratio), total_impatience_ratio(1.2, 1.0, 1 / 4.0))


def test_fifo_and_lifo_wait_equally_long_on_average_but_not_equally():
    means, variances = {}, {}
    for name in ("always-fifo", "always-lifo"):
        waits = []
        for seed in SEEDS:
            policy = registry.create(name, {"capacity": ENDLESS})
            waits.append(
                times_in_system_s(simulate(single_requests(seed, 0.6, MM1, policy=policy)))
            )
        means[name] = [mean(wait) for wait in waits]
        variances[name] = mean(pvariance(wait) for wait in waits)
    assert agrees(means["always-fifo"], mm1_response_s(0.6, 1.0))
    assert agrees(means["always-lifo"], mm1_response_s(0.6, 1.0))
    assert variances["always-lifo"] > 2 * variances["always-fifo"]


def closed_loop(
    seed: int, server: FifoServer | SharedCpus, clients: int, think_time_s: float, **mix: float
) -> tuple[float, dict[str, float]]:
    """Return (throughput, page → mean response time) of patient clients, without warm-up."""
    model = ClientModel(
        per_set=clients // 2, patience_max_s=1e9, think_time_mean_s=think_time_s, mix=mix
    )
    log = AttemptLog()
    scenario = Scenario(
        Clients(model, seed),
        registry.create("sq", {"capacity": ENDLESS}),
        server,
        seed,
        stop_s=4000.0,
        utilisation_interval_s=1000.0,
    )
    simulate(scenario, log=log)
    columns = dict(zip(log.table().column_names, log.table().columns, strict=True))
    ended_s = columns["finished_s"].to_numpy()
    responses_s = ended_s - columns["started_s"].to_numpy()
    page = np.array(columns["page"].to_pylist())
    is_watched = ended_s >= 400.0
    return is_watched.sum() / 3600.0, {
        str(each): float(responses_s[is_watched & (page == each)].mean())
        for each in np.unique(page)
    }


@pytest.mark.parametrize(
    ("server", "servers"),
    [(MM1, 1), (cpus(1), 1), (cpus(1, execution_times="uniform"), 1), (cpus(2), 2)],
    ids=["fifo", "ps", "ps, uniform", "two cpus"],
)
def test_clients_who_think_are_the_machine_repair_model(server, servers):
    found = [closed_loop(seed, server, 6, 4.0, home=1) for seed in SEEDS]
    throughput, response_s = machine_repair(6, 4.0, 1.0, servers)
    assert agrees([rate for rate, _ in found], throughput)
    assert agrees([responses["Br-1"] for _, responses in found], response_s)


def test_files_beside_the_policy_share_the_cpu_fairly():
    """Four clients never let a file wait, so all of it is one PS server (BCMP).

    Its responses are in proportion to the service times, and its throughput follows from the mean.
    """
    execution_s = {**SECOND, "Br-1": 1.5, "file": 0.5}
    server = cpus(1, mean_execution_s=execution_s)
    found = [closed_loop(seed, server, 4, 3.0, home=1, file=1) for seed in SEEDS]
    throughput, response_s = machine_repair(4, 3.0, 1.0)
    assert agrees([rate for rate, _ in found], throughput)
    assert agrees([responses["Br-1"] for _, responses in found], 1.5 * response_s)
    assert agrees([responses["file"] for _, responses in found], 0.5 * response_s)
