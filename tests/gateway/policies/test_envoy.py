"""Exact samples of Envoy's two filters, calculated by hand from its documentation's formulas."""

import math
from random import Random

import pytest

from gateway.policies import PolicyError
from gateway.policies.envoy import GradientController, SuccessRate
from gateway.policies.interface import Outcome, Request
from gateway.policies.registry import create


def controller(**changed):
    values = {
        "min_concurrency": 3, "max_concurrency": 1000, "request_count": 5, "buffer_ratio": 0.25,
        "update_interval_s": 1.0, "min_rtt_interval_s": 60.0, "jitter_ratio": 0.0,
        "random": Random(1),
    }  # fmt: skip
    return GradientController(**{**values, **changed})


def measured(at_s=10.0, **changed):
    """Return a controller whose minimal response time is 1 s, as the median of 5."""
    limit = controller(**changed)
    for response_s in (1.0, 9.0, 0.5, 1.0, 7.0):
        assert limit.value == 3
        limit.ended(at_s, response_s, 3, False)
    assert limit.min_rtt_s == 1.0
    return limit


def test_the_limit_follows_the_gradient_with_headroom():
    limit = measured()
    limit.ended(10.5, 1.25, 3, False)
    assert limit.value == 3  # the window goes on
    limit.ended(11.0, 1.25, 3, False)  # gradient 1.25 / 1.25
    assert limit.value == int(3 + math.sqrt(3))
    limit.ended(12.0, 0.1, 3, False)  # clamped to 2
    assert limit.value == int(8 + math.sqrt(8))
    limit.ended(13.0, 100.0, 3, False)  # clamped to 0.5
    assert limit.value == int(5 + math.sqrt(5))


def test_the_minimum_is_measured_anew_after_its_interval_and_the_limit_comes_back():
    limit = measured()
    limit.ended(12.0, 0.1, 3, False)
    before = limit.value
    assert before > 3
    limit.ended(70.0, 0.1, 3, False)
    assert limit.value == 3
    for _ in range(5):
        limit.ended(73.0, 2.0, 3, False)
    assert limit.min_rtt_s == 2.0
    assert limit.value == before


def test_the_minimum_is_not_of_requests_that_came_before_it_was_measured():
    limit = measured()
    limit.ended(70.0, 0.1, 3, False)
    for _ in range(50):
        limit.ended(80.0, 10.1, 3, False)  # the queue of the time before
    assert limit.value == 3
    for _ in range(5):
        limit.ended(80.0, 2.0, 3, False)
    assert limit.min_rtt_s == 2.0


def test_five_windows_that_leave_the_limit_at_the_lowest_measure_the_minimum_anew():
    limit = measured()
    limit.ended(11.0, 0.1, 3, False)
    for second in range(6):  # from 8 to 6, 4, 3, and then it stays
        limit.ended(12.0 + second, 1000.0, 3, False)
        assert limit.figures()["is_measuring"] is False
    limit.ended(18.0, 1000.0, 3, False)
    limit.ended(19.0, 1000.0, 3, False)
    assert limit.figures()["is_measuring"] is True


def test_the_least_is_not_above_the_most():
    with pytest.raises(PolicyError) as refused:
        create("envoy-adaptive-concurrency", {"min_concurrency": 30, "max_concurrency": 20})
    assert refused.value.field == "parameters.min_concurrency"


def test_a_success_rate_forgets():
    rate = SuccessRate(window_s=30.0)
    for second in range(10):
        rate.add(float(second), second % 2 == 0)
    assert (rate.requests, rate.successes) == (10, 5)
    rate.forget(34.5)
    assert (rate.requests, rate.successes) == (5, 2)
    rate.forget(1000.0)
    assert (rate.requests, rate.successes) == (0, 0)


@pytest.mark.parametrize(
    ("answered", "failed", "probability"),
    [
        (0, 0, 0.0),
        (95, 5, 0.0),  # 100 − 95 / 0.95 = 0
        (19, 81, 80 / 101),  # (100 − 19 / 0.95) / 101
        (0, 100, 0.8),  # 100 / 101 is above the most
    ],
)
def test_the_probability_of_a_rejection(answered, failed, probability):
    policy = create("envoy-admission-control", {})
    for id in range(answered + failed):
        outcome = Outcome.ANSWERED if id < answered else Outcome.FAILED
        policy.completion(1.0, id, outcome)
    assert policy.probability() == pytest.approx(probability)


def test_aggression_rejects_earlier_and_a_quiet_server_rejects_nobody():
    def probability(**parameters):
        policy = create("envoy-admission-control", parameters)
        for id in range(100):
            policy.completion(1.0, id, Outcome.ANSWERED if id < 57 else Outcome.FAILED)
        return policy.probability()

    assert probability() == pytest.approx(40 / 101)
    assert probability(aggression=2.0) == pytest.approx(math.sqrt(40 / 101))
    assert probability(rps_threshold=4.0) == 0.0  # 100 in 30 s are fewer


def test_a_rate_is_over_the_whole_window_also_at_the_start_and_without_what_is_as_old():
    """Envoy 1.31: thread_local_controller.cc, averageRps and maybeUpdateHistoricalData."""
    policy = create("envoy-admission-control", {"rps_threshold": 2.0, "window_s": 30.0})

    def is_throttled(time_s):
        policy.arrival(time_s, Request(int(1000 * time_s), "Br-1", time_s))
        return policy.probability() > 0.0

    for id in range(60):
        policy.completion(10.0, id, Outcome.FAILED)
        assert is_throttled(10.0) == (id == 59)  # 60 in 30 s, though all of them in this second
    assert is_throttled(39.999)
    assert not is_throttled(40.0)  # they are 30 s old


def test_about_so_many_are_rejected():
    policy = create("envoy-admission-control", {})
    for id in range(100):
        policy.completion(0.0, id, Outcome.FAILED)
    rejected = sum(bool(policy.arrival(0.0, Request(1000 + id, "Br-1", 0.0))) for id in range(2000))
    assert 1500 < rejected < 1700  # 1600 ± 5 standard deviations of 18
