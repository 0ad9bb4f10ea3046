"""Formulas of queueing theory that the simulator must agree with.

λ is the arrival rate, μ the service rate of one server, θ the rate at which patience ends. In a
closed loop N is the number of clients and Z their mean think time.
"""

from collections.abc import Callable
from itertools import accumulate


def stationary(
    birth: Callable[[int], float], death: Callable[[int], float], states: int
) -> list[float]:
    """Return P(n) of a birth-death process: P(n) ∝ Π birth(i − 1) / death(i)."""
    ratios = [1.0, *(birth(n - 1) / death(n) for n in range(1, states))]
    weights = list(accumulate(ratios, lambda a, b: a * b))
    total = sum(weights)
    return [weight / total for weight in weights]


def mm1_response_s(arrival_rate: float, service_rate: float) -> float:
    """Return the mean time in system of M/M/1: 1 / (μ − λ)."""
    return 1 / (service_rate - arrival_rate)


def mm1_number(arrival_rate: float, service_rate: float) -> float:
    """Return the mean number in system of M/M/1: ρ / (1 − ρ)."""
    rho = arrival_rate / service_rate
    return rho / (1 - rho)


def mmck_loss_ratio(arrival_rate: float, service_rate: float, servers: int, places: int) -> float:
    """Return P(all K places taken) of M/M/c/K, the share of lost arrivals (PASTA)."""
    return stationary(lambda n: arrival_rate, lambda n: min(n, servers) * service_rate, places + 1)[
        -1
    ]


def erlang_a_abandonment_ratio(
    arrival_rate: float, service_rate: float, patience_rate: float, states: int = 400
) -> float:
    """Return the share that leaves while waiting in M/M/1+M, without patience in service
    (Erlang-A)."""
    probability = stationary(
        lambda n: arrival_rate, lambda n: service_rate + (n - 1) * patience_rate, states
    )
    queue = sum((n - 1) * p for n, p in enumerate(probability) if n)
    return patience_rate * queue / arrival_rate


def total_impatience_ratio(
    arrival_rate: float, service_rate: float, patience_rate: float, states: int = 400
) -> float:
    """Return the share that leaves unserved when patience also ends in service and stops it."""
    probability = stationary(
        lambda n: arrival_rate, lambda n: service_rate + n * patience_rate, states
    )
    number = sum(n * p for n, p in enumerate(probability))
    return patience_rate * number / arrival_rate


def machine_repair(
    clients: int, think_time_s: float, service_rate: float, servers: int = 1
) -> tuple[float, float]:
    """Return (throughput, mean response time) of M/M/c//N: N clients who think for Z between
    requests.

    X = Σ P(n) min(n, c) μ, and R = N / X − Z (the response time law). At one PS server they depend
    on the mean service time alone.
    """
    probability = stationary(
        lambda n: (clients - n) / think_time_s,
        lambda n: min(n, servers) * service_rate,
        clients + 1,
    )
    throughput = sum(min(n, servers) * service_rate * p for n, p in enumerate(probability))
    return throughput, clients / throughput - think_time_s
