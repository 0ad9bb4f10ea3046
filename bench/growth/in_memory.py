"""The costs of code that runs in memory: policies, the simulator and the ad server's selection."""

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial

import numpy as np

from bench import policies
from bench.ads import World
from bench.growth.axes import Axis, Costs, Measure, repeated
from common.page_types import CAPACITY_RPS
from gateway.policies import registry
from lab.wording import title_of
from loadgen.workload.sessions import Customers, SessionModel
from runtime.native import own_ad_server
from shop.ads import inventory
from shop.ads.delivery.ledger import Ledger
from shop.ads.selection import selector
from shop.ads.selection.fan_out import FanOut
from simulator.scenario import Scenario, SharedCpus
from simulator.simulation import simulate

SHOWN = ("sq", "8q-af", "8q-lifo-pri", "door-lifo")
"""The policies of the figures; `make bench-policies` measures all policies."""
LEAST_CPU_S, QUICK_CPU_S = 0.4, 0.05
"""The minimum CPU time of one measurement in seconds; a measurement repeats its work until it has
used this time.
"""
ROUNDS, QUICK_ROUNDS = 5, 1
SEEDED_BANNERS = 6_000
MANY, FEW = "10 concepts", "1 concept"


# Policies


@contextmanager
def decisions(is_quick: bool) -> Iterator[Measure]:
    """Measure the µs of CPU per event for each policy in SHOWN, with queues of a given length."""

    def measure(length: int) -> Costs:
        found = {}
        for name in SHOWN:
            queue = policies.Queue(name, length)
            queue.round_us()  # warm-up
            found[title_of(name)] = repeated(queue.round_us, QUICK_ROUNDS if is_quick else ROUNDS)
        return found

    yield measure


# The simulator


def cost_us(scenario: Callable[[int], Scenario], is_quick: bool) -> float:
    """Return the µs of CPU per request of simulations with the seeds 1, 2, 3 …"""
    least_s = QUICK_CPU_S if is_quick else LEAST_CPU_S
    requests, seed = 0, 0
    began_s = time.process_time()
    while (taken_s := time.process_time() - began_s) < least_s:
        seed += 1
        requests += simulate(scenario(seed)).requests
    return 1e6 * taken_s / requests


def rush(name: str, rho: float, sessions: int, seed: int) -> Scenario:
    """Return a simulation of LIFO-Pri's customers at the load `rho`."""
    model = SessionModel()
    return Scenario(
        customers=Customers(model, seed, model.session_rate(rho, CAPACITY_RPS)),
        policy=registry.create(name, {}),
        server=SharedCpus(),
        seed=seed,
        sessions=sessions,
    )


def crowd(name: str, size: int, seed: int) -> Scenario:
    """Return a simulation in which `size` patient customers arrive nearly at once, so that nearly
    all of them wait at the same time.
    """
    model = SessionModel(timeout_s=math.inf, think_timeout_mean_s=0.0, max_retries=0)
    return Scenario(
        customers=Customers(model, seed, 1000.0 * size),
        policy=registry.create(name, policies.room(name)),
        server=SharedCpus(),
        seed=seed,
        sessions=size,
    )


def simulated(
    scenario: Callable[[str, int, int], Scenario],
    quick: Callable[[str, int, int], Scenario] | None = None,
) -> Callable[[bool], AbstractContextManager[Measure]]:
    """Return the function that opens a measurement of the simulator, for each policy in SHOWN.
    `scenario` gets the policy's name, the size and the seed. A quick measurement uses `quick`, if
    it is given.
    """

    def measure(size: int, *, is_quick: bool) -> Costs:
        made = quick if is_quick and quick else scenario
        return {title_of(name): cost_us(partial(made, name, size), is_quick) for name in SHOWN}

    return lambda is_quick: nullcontext(partial(measure, is_quick=is_quick))


# The ad server


@contextmanager
def banners(is_quick: bool) -> Iterator[Measure]:
    """Measure the CPU ms per selection, with one thread and a given number of banners.

    The inventory is the appliance's seeded inventory, repeated until it has this number.
    """
    with own_ad_server.seeded_database(SEEDED_BANNERS) as environment:
        world = World(environment, 10)
    fan_out = FanOut({0: 1}, 1)
    requests = {
        MANY: selector.Request(3, world.size, world.concepts),
        FEW: selector.Request(3, world.size, world.concepts[:1]),
    }

    def measure(size: int) -> Costs:
        ledger = Ledger(
            copies(world.inventory, size // SEEDED_BANNERS),
            np.tile(world.delivered, size // SEEDED_BANNERS),
            block=10**9,
        )
        rng = random.Random(1)
        return {
            name: repeated(
                lambda request=request: selection_ms(request, ledger, fan_out, rng, is_quick),  # type: ignore[misc]
                3,
            )
            for name, request in requests.items()
        }

    try:
        yield measure
    finally:
        fan_out.close()


def copies(of: inventory.Inventory, times: int) -> inventory.Inventory:
    return inventory.of_columns(
        id=np.arange(len(of) * times),
        advertiser=np.tile(of.advertiser, times),
        size=np.tile(of.size, times),
        concepts=np.tile(of.concepts, times),
        contracted=np.tile(of.contracted, times),
        starts_s=np.tile(of.starts_s, times),
        ends_s=np.tile(of.ends_s, times),
        not_beside_banners={},
        not_beside_advertisers={},
    )


def selection_ms(
    request: selector.Request,
    ledger: Ledger,
    fan_out: FanOut,
    rng: random.Random,
    is_quick: bool,
) -> float:
    least_s = QUICK_CPU_S if is_quick else LEAST_CPU_S
    times = 0
    began_s = time.process_time()
    while (taken_s := time.process_time() - began_s) < least_s:
        selector.select(request, time.time(), ledger, fan_out, rng)
        times += 1
    return 1e3 * taken_s / times


AXES = (
    Axis(
        "decisions",
        "A policy's decision and the length of its queue",
        "waiting requests",
        "CPU µs per event",
        100,
        decisions,
        (0.0, 0.6, 1.5),
    ),
    Axis(
        "simulator-queue",
        "The simulator and the length of the queue",
        "waiting customers",
        "CPU µs per request",
        100,
        simulated(crowd),
        (0.0, 2.0, 8.0),
    ),
    Axis(
        "simulator-load",
        "The simulator and the load",
        "load ÷ capacity (ρ)",
        "CPU µs per request",
        1,
        simulated(
            lambda name, rho, seed: rush(name, rho, 2_000, seed),
            quick=lambda name, rho, seed: rush(name, rho, 200, seed),
        ),
        (0.0, 2.5, 2.5),
    ),
    Axis(
        "simulator-sessions",
        "The simulator and the number of sessions",
        "sessions in a simulation",
        "CPU µs per request",
        500,
        simulated(lambda name, sessions, seed: rush(name, 1.4, sessions, seed)),
        (0.0, 2.0, 25.0),
    ),
    Axis(
        "banners",
        "The ad server's selection and the number of banners",
        "banners under contract",
        "CPU ms per selection",
        SEEDED_BANNERS,
        banners,
        (8.0, 3.0, 4.0),
    ),
)
