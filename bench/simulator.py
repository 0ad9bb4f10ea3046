"""The simulator's speed: an M/M/1 queue compared with SimPy and Ciw, and the models of two papers.

`make bench-simulator` measures CPU time in one process on one core. Each round runs all simulations
in random order, and a ratio compares two simulations of the same round. All M/M/1 simulations have
ρ = 0.8 and start empty.

Two rows of the table are for SimPy. *Textbook* is the shortest M/M/1 in SimPy: a Resource, and two
draws of `random` per customer. It records only response times. *Same model* uses the customers and
the random numbers of `loadgen`, and the policy object in front of the server. Its customers never
think, leave or retry. It counts no outcomes and takes no samples.
"""

import math
import os
import random
import time
from collections.abc import Callable, Generator, Mapping
from statistics import median
from typing import Any, NamedTuple

import ciw
import click
import simpy
from rich.table import Table

from bench import harness
from common.one_line import OneLineCommand
from common.page_types import CAPACITY_RPS
from gateway.policies import registry
from gateway.policies.interface import Outcome, Page, Request
from loadgen.workload.draws import address, exponential, stream_key, uniform
from loadgen.workload.sessions import Chain, Customers, SessionLengths, SessionModel
from simulator.scenario import FifoServer, Scenario, SharedCpus
from simulator.simulation import simulate

RHO = 0.8
YARDSTICK = "M/M/1, SimPy, textbook"
ENDLESS = 1_000_000
SIZE = 1.0
"""The factor for the length of the simulations. With 1, each takes about half a second."""
SINGLE_REQUESTS = SessionModel(
    chain=Chain({}), timeout_s=math.inf, think_timeout_mean_s=0.0, max_retries=0
)


class Work(NamedTuple):
    """The simulated requests and events of a simulation, or of a second of CPU time."""

    requests: float
    events: float


def mm1(seed: int) -> Work:
    return simulated(
        Scenario(
            customers=Customers(SINGLE_REQUESTS, seed, RHO),
            policy=registry.create("sq", {"capacity": ENDLESS}),
            server=FifoServer(capacity_rps=1.0, service_times="exponential"),
            seed=seed,
            sessions=round(50_000 * SIZE),
            utilisation_interval_s=1000.0,
        )
    )


def lifo_pri(seed: int) -> Work:
    model = SessionModel()
    return simulated(
        Scenario(
            customers=Customers(model, seed, model.session_rate(1.4, CAPACITY_RPS)),
            policy=registry.create("8q-lifo-pri", {}),
            server=SharedCpus(),
            seed=seed,
            sessions=round(8_000 * SIZE),
        )
    )


def sbac(seed: int) -> Work:
    model = SessionModel(
        timeout_s=1.0,
        think_timeout_mean_s=0.0,
        retry_probability=1.0,
        max_retries=1,
        think_time_mean_s=5.0,
        lengths=SessionLengths("geometric", 15.0),
    )
    return simulated(
        Scenario(
            customers=Customers(model, seed, model.session_rate(1.5, 1000.0)),
            policy=registry.create("sq", {"capacity": 1024}, "sbac-responsive"),
            server=FifoServer(capacity_rps=1000.0),
            seed=seed,
            stop_s=150.0 * SIZE,
            session_known_from="admission",
        )
    )


def simulated(scenario: Scenario) -> Work:
    result = simulate(scenario)
    return Work(result.requests, result.events)


def textbook_simpy(seed: int) -> Work:
    customers = round(40_000 * SIZE)
    env = simpy.Environment()
    server = simpy.Resource(env, capacity=1)
    rng = random.Random(seed)
    responses_s = []

    def customer(service_s: float) -> Generator[simpy.Event, Any, None]:
        arrived_s = env.now
        with server.request() as mine:
            yield mine
            yield env.timeout(service_s)
        responses_s.append(env.now - arrived_s)

    def source() -> Generator[simpy.Event, Any, None]:
        for _ in range(customers):
            yield env.timeout(rng.expovariate(RHO))
            env.process(customer(rng.expovariate(1.0)))

    env.process(source())
    env.run()
    return Work(customers, simpy_events(env))


def same_model_simpy(seed: int, responses_s: list[float] | None = None) -> Work:
    sessions = round(20_000 * SIZE)
    env = simpy.Environment()
    customers = Customers(SINGLE_REQUESTS, seed, RHO)
    policy = registry.create("sq", {"capacity": ENDLESS})
    key = stream_key(seed, "work")
    waiting: dict[int, tuple[simpy.Event, int, int]] = {}
    spent_s = [math.nan] * sessions
    ids = 0
    is_busy = False

    def offer_worker() -> None:
        nonlocal is_busy
        if waiting and not is_busy:
            for verdict in policy.workers_free(env.now, 1):
                is_busy = True
                env.process(serve(verdict.id))

    def serve(id: int) -> Generator[simpy.Event, Any, None]:
        nonlocal is_busy
        answered, session, step = waiting.pop(id)
        yield env.timeout(exponential(uniform(key, address(session, step, 1)), 1.0))
        is_busy = False
        policy.completion(env.now, id, Outcome.ANSWERED)
        answered.succeed()
        offer_worker()

    def customer(session: int) -> Generator[simpy.Event, Any, None]:
        nonlocal ids
        arrived_s = env.now
        for step, page in enumerate(customers.walk(session)):
            ids += 1
            answered = env.event()
            waiting[ids] = (answered, session, step)
            policy.arrival(env.now, Request(ids, Page(page), env.now))
            offer_worker()
            yield answered
        spent_s[session] = env.now - arrived_s

    def source() -> Generator[simpy.Event, Any, None]:
        for session, time_s in zip(range(sessions), customers.arrivals(), strict=False):
            yield env.timeout(time_s - env.now)
            env.process(customer(session))

    env.process(source())
    env.run()
    if responses_s is not None:
        responses_s += spent_s
    return Work(ids, simpy_events(env))


def simpy_events(env: simpy.Environment) -> int:
    """Return the number of events scheduled so far, which is SimPy's next event number."""
    return next(env._eid)


def textbook_ciw(seed: int) -> Work:
    customers = round(8_000 * SIZE)
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(rate=RHO)],
        service_distributions=[ciw.dists.Exponential(rate=1.0)],
        number_of_servers=[1],
    )
    ciw.seed(seed)
    ciw.Simulation(network).simulate_until_max_customers(customers)
    return Work(customers, 2 * customers)  # arrivals and ends of service


OURS, SAME_MODEL = "M/M/1, Doorbuster", "M/M/1, SimPy, same model"
SUBJECTS: Mapping[str, Callable[[int], Work]] = {
    OURS: mm1,
    YARDSTICK: textbook_simpy,
    SAME_MODEL: same_model_simpy,
    "M/M/1, Ciw": textbook_ciw,
    "LIFO-Pri, ρ 1.4, 8q-lifo-pri": lifo_pri,
    "SBAC, 150 %, sq+sbac-responsive": sbac,
}
"""The simulations to measure, each as a function of the seed."""


def measure(run: Callable[[int], Work], seed: int) -> Work:
    """Return a simulation's work per second of CPU time, from the creation of its customers to its
    result.
    """
    began_s = time.process_time()
    work = run(seed)
    cpu_s = time.process_time() - began_s
    return Work(work.requests / cpu_s, work.events / cpu_s)


def table(scores: dict[str, list[Work]]) -> Table:
    """Return a table with one row for each simulation.

    The rows have medians over the rounds. For M/M/1, they also have the ratio to YARDSTICK.
    """
    shown = harness.table(
        f"simulated per second of CPU time; M/M/1 at ρ = {RHO}",
        *("", "requests/s", "events/s", "÷ SimPy, textbook", "least–most"),
    )
    for name, rounds in scores.items():
        compared = ratios(rounds, scores[YARDSTICK])
        is_same_model = name.startswith("M/M/1")
        shown.add_row(
            name,
            f"{median(one.requests for one in rounds):,.0f}",
            f"{median(one.events for one in rounds):,.0f}",
            f"{median(compared):.2f}" if is_same_model else "",
            f"{min(compared):.2f}–{max(compared):.2f}" if is_same_model else "",
        )
    return shown


def ratios(one: list[Work], other: list[Work]) -> list[float]:
    """Return the ratio of two simulations' requests/s in each round."""
    return [mine.requests / theirs.requests for mine, theirs in zip(one, other, strict=True)]


@click.command(cls=OneLineCommand)
@click.option("--rounds", default=9, type=click.IntRange(1, 1000), show_default=True)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    help="The seed of the order in each round and of the simulations.",
)
def main(rounds: int, seed: int) -> None:
    """Measure all simulations in interleaved rounds, and print one table."""
    console = harness.console_of(100)
    load = os.getloadavg()[0]
    scores: dict[str, list[Work]] = {name: [] for name in SUBJECTS}
    with console.status("measuring") as status:
        order = harness.interleaved(list(SUBJECTS), rounds, random.Random(seed), warm_up=1)
        for number, name in order:
            status.update(f"round {number} of {rounds}: {name}")
            score = measure(SUBJECTS[name], seed + number)
            if number:  # round 0 warms up
                scores[name].append(score)
    console.print(table(scores))
    same = median(ratios(scores[OURS], scores[SAME_MODEL]))
    console.print(
        f"Speed relative to SimPy with the same customers, draws and policy: {same:.2f} ×."
    )
    harness.report_busy(console, load)
    console.print(f"Medians of {rounds} interleaved rounds, one core, no log.")
