"""The hybrid strategy's ups and downs, interval by interval."""

import pytest

from gateway.policies import PolicyError
from gateway.policies.interface import LoadSample, Outcome, Page, Request
from gateway.policies.registry import create
from gateway.policies.sbac_hybrid import HybridAdmission


def hybrid(**changes):
    values = {
        "ac_weight": 1.0,
        "ac_cycle_s": 3.0,
        "ac_threshold": 0.95,
        "ac_interval_s": 1.0,
        "retry_after_s": 300.0,
    }
    return HybridAdmission(**{**values, **changes})


def weights(policy, aborted, utilisation=0.9):
    """Return the weight after each interval; `aborted` is the number of requests in each."""
    found = []
    for number, count in enumerate(aborted):
        for id in range(count):
            policy.abandonment(number + 0.5, id)
        policy.load_sample(number + 1.0, LoadSample(utilisation, 1, 1.0))
        found.append(policy.snapshot()["weight"])
    return found


def test_a_cycle_without_aborts_lowers_the_weight_by_a_tenth():
    assert weights(hybrid(), [0] * 7) == [1.0, 1.0, 0.9, 0.9, 0.9, 0.8, 0.8]


def test_it_ends_at_ac_stable_exactly():
    assert weights(hybrid(ac_cycle_s=1.0), [0] * 12) == [
        0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1,
    ]  # fmt: skip


def test_an_abort_makes_it_responsive_and_starts_the_cycle_anew():
    assert weights(hybrid(ac_weight=0.5), [0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0]) == [
        0.5, 0.5, 0.4, 0.4, 1.0, 1.0, 1.0, 0.9, 0.9, 1.0, 1.0,
    ]  # fmt: skip


def test_a_refused_connection_counts_as_an_abort():
    policy = hybrid(ac_weight=0.3)
    policy.dropped(0.5, 1)
    assert weights(policy, [0]) == [1.0]
    assert policy.snapshot()["aborted"] == 1


def test_the_new_weight_holds_for_the_very_next_interval():
    policy = hybrid(ac_weight=0.5)
    weights(policy, [1], utilisation=0.99)
    assert policy.snapshot()["predicted_utilisation_ratio"] == 0.99
    assert not policy.snapshot()["admits"]
    calmer = hybrid(ac_cycle_s=1.0)
    weights(calmer, [0], utilisation=0.99)
    assert calmer.snapshot()["predicted_utilisation_ratio"] == pytest.approx(
        0.1 * 0.95 + 0.9 * 0.99
    )


def test_the_cycle_is_measured_as_inter_request_time_times_session_length():
    policy = hybrid(ac_cycle_s=0.0)
    assert policy.snapshot()["ac_cycle_s"] is None
    assert weights(policy, [0] * 5) == [1.0] * 5  # nothing is known yet
    id = 0
    for number in range(40):  # sessions of three requests, 2 s apart
        for step in range(3):
            id += 1
            session = f"session {number}"
            policy.arrival(5.0 + 2 * step, Request(id, Page.HOME, 0.0, session, step == 0))
            policy.completion(5.0 + 2 * step, id, Outcome.ANSWERED)
    policy.load_sample(40.0, LoadSample(0.5, 1, 1.0))
    known = policy.snapshot()
    assert known["inter_request_s"] == pytest.approx(2.0)
    assert known["session_length"] == pytest.approx(3.0, rel=0.02)
    assert known["ac_cycle_s"] == known["inter_request_s"] * known["session_length"]
    assert known["weight"] == 0.9  # more than a cycle has gone by


def test_a_cycle_shorter_than_an_interval_is_refused():
    with pytest.raises(PolicyError) as refusal:
        create("sq", {}, "sbac-hybrid", {"ac_cycle_s": 2, "ac_interval_s": 10})
    assert refusal.value.field == "admission_parameters.ac_cycle_s"
    assert "at least 10" in str(refusal.value)
    with pytest.raises(PolicyError, match=r"admission_parameters\.ac_weight"):
        create("sq", {}, "sbac-hybrid", {"ac_weight": 0.05})
