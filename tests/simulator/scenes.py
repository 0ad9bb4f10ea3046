"""Scenarios that several tests simulate, and the comparison of a mean with theory."""

import math
from collections.abc import Callable, Sequence
from statistics import mean, stdev

from gateway.policies import registry
from gateway.policies.base import IgnoringPolicy
from gateway.policies.interface import NOTHING, Dispatch, Outcome, Request, Verdicts
from loadgen.workload.sessions import Chain, Customers, SessionLengths, SessionModel
from simulator.result import Simulated
from simulator.scenario import FifoServer, Scenario, SharedCpus

ENDLESS = 1_000_000
"""The places of a queue that is never full."""

SINGLE_REQUESTS = Chain({})
"""Sessions of one request: customers of classical queueing theory."""

PATIENT = {"timeout_s": math.inf, "think_timeout_mean_s": 0.0, "max_retries": 0}

SEEDS = range(16)
_T = 4.073  # Student's t of 15 degrees of freedom, two-sided 99.9 %


class Diary(IgnoringPolicy):
    """A FIFO queue without limit that records its events; a base for odd policies."""

    name = "diary"

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []
        self.requests: list[Request] = []
        self.queue: list[int] = []

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        self.told.append((time_s, "arrival", request.id))
        self.requests.append(request)
        self.queue.append(request.id)
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        self.told.append((time_s, "workers_free", free))
        return [Dispatch(self.queue.pop(0)) for _ in range(min(free, len(self.queue)))]

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self.told.append((time_s, outcome.value, id))
        return NOTHING

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        self.told.append((time_s, "abandonment", id))
        return NOTHING

    def withdraw(self, time_s: float, id: int) -> None:
        self.told.append((time_s, "withdraw", id))
        self.queue.remove(id)

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        raise AssertionError("nobody switches policies in a simulation")

    def waiting(self) -> Sequence[Request]:
        return ()

    def snapshot(self) -> dict[str, object]:
        return {"discipline": "FIFO"}


def agrees(values: list[float], theory: float) -> bool:
    """Return whether the 99.9 % confidence interval of the runs' mean has `theory` in it.

    The seeds are fixed, so a test that passes always does. An interval wider than ± 7 % of the
    theory would agree with too much, and counts as a failure.
    """
    half = _T * stdev(values) / math.sqrt(len(values))
    return abs(mean(values) - theory) <= half <= 0.07 * theory


def per_seed(simulated: Callable[[int], float]) -> list[float]:
    return [simulated(seed) for seed in SEEDS]


def single_requests(
    seed: int, rate: float, server: FifoServer | SharedCpus, **scenario: object
) -> Scenario:
    """Return Poisson arrivals of single requests, patient unless `model` changes it, policy SQ."""
    model = {"chain": SINGLE_REQUESTS, **PATIENT, **scenario.pop("model", {})}
    policy = scenario.pop("policy", None) or registry.create("sq", {"capacity": ENDLESS})
    return Scenario(
        customers=Customers(SessionModel(**model), seed, rate),
        policy=policy,
        server=server,
        seed=seed,
        **{"sessions": 8000, "utilisation_interval_s": 10.0, **scenario},
    )


def response_s(result: Simulated) -> float:
    """Return the mean response time of single requests; the first tenth is warm-up."""
    begin = len(result.sessions) // 10
    return mean(times_in_system_s(result)[begin:])


def times_in_system_s(result: Simulated) -> list[float]:
    """Return how long each session lasted."""
    sessions = result.sessions
    both = zip(sessions.arrived_s, sessions.ended_s, strict=True)
    return [ended_s - arrived_s for arrived_s, ended_s in both]


def lifo_pri(seed: int = 1, *, policy: str = "8q-lifo-pri", **scenario: object) -> Scenario:
    """Return LIFO-Pri at ρ = 1.4."""
    model = SessionModel()
    return Scenario(
        customers=Customers(model, seed, model.session_rate(1.4, 5.6)),
        policy=registry.create(policy, {}),
        server=SharedCpus(),
        seed=seed,
        **{"sessions": 400, **scenario},
    )


def sbac(
    seed: int = 1,
    *,
    load: float = 2.0,
    length: float = 5.0,
    capacity_rps: float = 100.0,
    admission: str = "sbac-responsive",
    **scenario: object,
) -> Scenario:
    """Return SBAC's overloaded server, a tenth as fast, with a listen queue in proportion."""
    model = SessionModel(
        timeout_s=1.0,
        think_timeout_mean_s=0.0,
        retry_probability=1.0,
        max_retries=1,
        think_time_mean_s=5.0,
        lengths=SessionLengths("geometric", length),
    )
    return Scenario(
        customers=Customers(model, seed, model.session_rate(load, capacity_rps)),
        policy=registry.create("sq", {"capacity": int(capacity_rps * 1.024)}, admission),
        server=FifoServer(capacity_rps=capacity_rps),
        seed=seed,
        **{"arrivals_until_s": 60.0, "session_known_from": "admission", **scenario},
    )


def same(one: Simulated, other: Simulated) -> bool:
    """Return whether both results are equal to the last digit."""
    arrays = ("arrived_s", "ended_s", "length", "completed", "kind", "fate")
    rest = ("attempts", "counts", "served", "busy_s", "useful_busy_s", "rejection_busy_s")
    numbers = ("end_s", "requests", "events", "samples")
    return all(
        getattr(one.sessions, name).tobytes() == getattr(other.sessions, name).tobytes()
        for name in arrays
    ) and all(getattr(one, name) == getattr(other, name) for name in rest + numbers)
