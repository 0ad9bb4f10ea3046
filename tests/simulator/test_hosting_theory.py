"""The hosting platform against queueing theory, within confidence intervals of 16 seeds."""

import pytest

from simulator.hosting import simulate_platform
from simulator.hosting_result import AppResult
from simulator.hosting_scenario import Costs
from tests.simulator.hosting_scenes import ONE_PAGE, app, queue
from tests.simulator.scenes import SEEDS, agrees


def simulated(*args: object, **platform: object) -> AppResult:
    return simulate_platform(queue(*args, **platform))[0]


def response_s(found: AppResult) -> float:
    """Return the mean response time; the first tenth is warm-up."""
    return float(found.response_s[len(found.response_s) // 10 :].mean())


@pytest.mark.parametrize("spread_ratio", [0.0, 1.0])
def test_processor_sharing_whatever_the_distribution(spread_ratio):
    """M/G/1-PS: E[S] / (1 − ρ), busy ρ of the time; a handshake and its page are one service."""
    costs = Costs(handshake_full_s=0.25, session_s=1.0, page_spread_ratio=spread_ratio)
    found = [simulated(seed, 0.6, costs=costs) for seed in SEEDS]
    assert agrees([response_s(each) for each in found], 1 / (1 - 0.6))
    assert agrees([each.busy_s / (3000 / 0.6) for each in found], 0.6)


def test_one_thread_is_a_first_come_first_served_queue():
    """M/D/1: 1 + ρ / (2 (1 − ρ)), if any number of connections may wait."""
    costs = Costs(handshake_full_s=0.25, session_s=1.0, page_spread_ratio=0.0)
    queued = {"costs": costs, "threads": 1, "backlog": None, "customers": 2000}
    found = [response_s(simulated(seed, 0.6, **queued)) for seed in SEEDS]
    assert agrees(found, 1 + 0.6 / (2 * (1 - 0.6)))


def test_two_applications_without_a_manager_are_one_queue():
    """M/G/1-PS with the load of both, and the same response time for each."""

    def of_each(seed: int) -> tuple[float, float]:
        apps = (app(0.4, 4500.0, ONE_PAGE), app(0.2, 4500.0, ONE_PAGE))
        scenario = queue(seed, 0.4, provisioning="linux", duration_s=4500.0, apps=apps)
        one, other = simulate_platform(scenario)
        return response_s(one), response_s(other)

    found = [of_each(seed) for seed in SEEDS]
    for responses_s in zip(*found, strict=True):
        assert agrees(list(responses_s), 1 / (1 - 0.6))
