"""An admission policy in front of a queueing policy, and the events that it receives."""

import pytest

from gateway.policies.interface import LoadSample, Outcome, Request
from gateway.policies.registry import create


def arrive(policy, id, time_s):
    return policy.arrival(time_s, Request(id, "Br-1", time_s, f"s{id}"))


def aborted(policy):
    return policy.snapshot()["admission"]["aborted"]


def test_admission_is_told_of_everybody_whom_the_queue_turns_away():
    policy = create("door-fifo", {"places": 2, "wait_s": 6.0}, "sbac-hybrid")
    arrive(policy, 1, 0.0)
    arrive(policy, 2, 1.0)
    assert aborted(policy) == 0
    arrive(policy, 3, 2.0)  # the door is full
    assert aborted(policy) == 1
    assert [verdict.id for verdict in policy.timer_due(6.0)] == [1]  # has waited long enough
    assert aborted(policy) == 2


def test_also_of_others_than_the_one_that_came():
    policy = create("door-lifo", {"places": 1}, "sbac-hybrid")
    arrive(policy, 1, 0.0)
    assert [verdict.id for verdict in arrive(policy, 2, 1.0)] == [1]
    assert aborted(policy) == 1


def test_what_admission_turns_away_is_none_of_these():
    policy = create("sq", {}, "sbac-responsive", {"ac_threshold": 0.5})
    policy.load_sample(1.0, LoadSample(1.0, 30, 1.0))
    assert len(arrive(policy, 1, 1.0)) == 1
    assert aborted(policy) == 0


@pytest.mark.parametrize("admission", ["sbac-responsive", "sbac-hybrid", "sbac-predictive"])
def test_who_leaves_and_is_then_turned_away_is_aborted_once(admission):
    policy = create("door-lifo", {"places": 1, "removes_gone": 0}, admission)
    arrive(policy, 1, 0.0)
    policy.abandonment(0.5, 1)
    assert aborted(policy) == 1
    assert [verdict.id for verdict in arrive(policy, 2, 1.0)] == [1]
    assert aborted(policy) == 1
    assert [verdict.id for verdict in arrive(policy, 3, 2.0)] == [2]
    assert aborted(policy) == 2


@pytest.mark.parametrize("removes_gone", [0, 1])
def test_nobody_who_has_gone_is_remembered(removes_gone):
    """A request may be taken out by the policy or the driver, or served after its customer left."""
    policy = create("door-lifo", {"hands": 1, "removes_gone": removes_gone}, "sbac-hybrid")
    for id in (1, 2, 3):
        arrive(policy, id, 0.0)
    assert [verdict.id for verdict in policy.workers_free(0.0, 1)] == [3]
    for id in (1, 3):
        cancelled = policy.abandonment(1.0, id)
        if id == 1 and not cancelled:
            policy.withdraw(1.0, id)
    policy.completion(2.0, 3, Outcome.ORPHANED)
    assert aborted(policy) == 2
    assert not policy.admission.left
    assert policy.admission.census.in_system == (2,)
