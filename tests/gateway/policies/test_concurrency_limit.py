"""Exact samples of the limits of Netflix' concurrency-limits, calculated by hand."""

import pytest

from gateway.policies import PolicyError
from gateway.policies.concurrency_limit import AimdLimit, Gradient2Limit
from gateway.policies.interface import Dispatch, Drop, Outcome, Request
from gateway.policies.registry import create


def arrive(policy, id, time_s=0.0):
    return tuple(policy.arrival(time_s, Request(id, "Br-1", time_s)))


def test_who_comes_when_the_system_is_full_is_turned_away_at_once():
    policy = create("fixed-limit", {"limit": 2})
    assert arrive(policy, 1) == arrive(policy, 2) == ()
    assert arrive(policy, 3) == (Drop(3, "more than 2 requests would be in the system"),)
    assert policy.workers_free(0.0, 1) == [Dispatch(1)]
    # Request 1 is in service.
    assert arrive(policy, 4) == (Drop(4, "more than 2 requests would be in the system"),)
    policy.completion(1.0, 1, Outcome.ANSWERED)
    assert arrive(policy, 5) == ()
    policy.withdraw(1.0, 2)
    assert policy.snapshot()["in_flight"] == 1
    assert [request.id for request in policy.waiting()] == [5]


def test_pass_through_turns_nobody_away():
    policy = create("pass-through", {})
    assert not any(arrive(policy, id) for id in range(1, 5001))


def test_what_has_no_limit_says_none():
    assert "limit" not in create("pass-through", {}).snapshot()
    assert create("fixed-limit", {"limit": 2}).snapshot()["limit"] == 2


def test_a_sample_says_how_many_were_in_the_system_when_it_came():
    policy = create("aimd", {"initial_limit": 10, "min_limit": 1})
    for id in range(1, 6):
        arrive(policy, id)
    policy.workers_free(0.0, 5)
    for id, limit in ((5, 11), (4, 11), (1, 11), (3, 11)):  # 5 × 2 ≥ 10, 4 × 2 < 11
        policy.completion(1.0, id, Outcome.ANSWERED)
        assert policy.snapshot()["limit"] == limit


def aimd(**changed):
    values = {"initial_limit": 10, "min_limit": 4, "max_limit": 12, "backoff_ratio": 0.5,
              "timeout_s": 5.0}  # fmt: skip
    return AimdLimit(**{**values, **changed})


def test_aimd_adds_one_while_half_of_it_is_used():
    limit = aimd()
    limit.ended(0.0, 1.0, in_flight=4, is_lost=False)
    assert limit.value == 10
    for expected in (11, 12, 12):
        limit.ended(0.0, 1.0, in_flight=6, is_lost=False)
        assert limit.value == expected


def test_aimd_shrinks_with_a_loss_and_with_a_timeout_down_to_its_least():
    limit = aimd()
    limit.ended(0.0, 1.0, in_flight=10, is_lost=True)
    assert limit.value == 5
    limit.ended(0.0, 5.1, in_flight=10, is_lost=False)
    assert limit.value == 4


def gradient2(**changed):
    values = {"initial_limit": 20, "min_limit": 10, "max_limit": 200, "smoothing": 0.2,
              "queue_size": 4, "long_window": 600, "rtt_tolerance": 1.5}  # fmt: skip
    return Gradient2Limit(**{**values, **changed})


def test_gradient2_grows_by_a_share_of_its_queue_while_responses_are_as_ever():
    limit = gradient2()
    limit.ended(0.0, 1.0, in_flight=20, is_lost=False)  # 0.8 × 20 + 0.2 × (20 + 4)
    limit.ended(0.0, 1.0, in_flight=20, is_lost=False)
    assert limit.value == int(20 + 0.8 + 0.8)
    limit.ended(0.0, 1.0, in_flight=5, is_lost=False)  # not even half of it is used
    assert limit.value == 21


def test_gradient2_shrinks_when_responses_are_slower_and_halves_at_most():
    limit = gradient2(smoothing=1.0, queue_size=0)
    for _ in range(10):
        limit.ended(0.0, 1.0, in_flight=20, is_lost=False)
    limit.ended(0.0, 2.0, in_flight=20, is_lost=False)
    mean_s = 1.0 + 2 / 601
    assert limit.long_rtt_s == pytest.approx(mean_s)
    assert limit.value == int(20 * 1.5 * mean_s / 2.0)
    limit.ended(0.0, 100.0, in_flight=20, is_lost=False)
    assert limit.value == 10  # half of 15 is below the least


def test_gradient2_forgets_a_long_overload_faster():
    limit = gradient2()
    limit.ended(0.0, 10.0, in_flight=1, is_lost=False)
    limit.ended(0.0, 1.0, in_flight=1, is_lost=False)
    assert limit.long_rtt_s == pytest.approx(5.5 * 0.95)


@pytest.mark.parametrize("name", ["aimd", "gradient2"])
def test_the_least_is_not_above_the_most(name):
    with pytest.raises(PolicyError, match="min_limit"):
        create(name, {"min_limit": 30, "max_limit": 20})


def test_an_orphan_is_a_loss_and_a_stranger_is_not_counted():
    policy = create("aimd", {"initial_limit": 100, "min_limit": 1})
    for id in range(60):
        arrive(policy, id)
    policy.completion(1.0, 999, Outcome.ORPHANED)  # dispatched by the policy before
    assert policy.snapshot()["limit"] == 100
    policy.workers_free(1.0, 60)
    policy.completion(1.0, 0, Outcome.ORPHANED)
    assert policy.snapshot()["limit"] == 90
    policy.completion(1.0, 59, Outcome.ANSWERED)
    assert policy.snapshot()["limit"] == 91
