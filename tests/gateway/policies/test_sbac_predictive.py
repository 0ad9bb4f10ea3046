"""Quotas by hand: eq. 7, mispredicted load, unused quota, and the measurements."""

from random import Random

import pytest

from gateway.policies import PolicyError
from gateway.policies.interface import LoadSample, Outcome, Page, Request
from gateway.policies.quota import sessions_rps
from gateway.policies.registry import create
from gateway.policies.sbac import AcInterval
from gateway.policies.sbac_predictive import CapacityMeter, PredictiveAdmission

NO_LEFTOVERS_S = 0.5


def predictive(**changes):
    """Return a policy with S_r = 100, L = 10: 10 sessions a second without rejections."""
    values = {
        "capacity_rps": 100.0,
        "planned_utilisation": 1.0,
        "measuring_utilisation": 0.5,
        "session_length": 10.0,
        "rejection_cost": 1.0,
        "leftover_s": NO_LEFTOVERS_S,
        "ac_threshold": 0.95,
        "ac_interval_s": 1.0,
        "retry_after_s": 300.0,
    }
    return PredictiveAdmission(**{**values, **changes})


def run(policy, arrivals, covered_s=1.0):
    """Let `arrivals` new sessions come in each interval; return the admitted numbers and the
    quotas."""
    admitted, quotas = [], []
    for number, count in enumerate(arrivals):
        verdicts = [
            policy.arrival(number, Request(1000 * number + i, Page.HOME, number))
            for i in range(count)
        ]
        admitted.append(verdicts.count(None))
        policy.load_sample(number + covered_s, LoadSample(1.0, 1, covered_s))
        quotas.append(policy.snapshot()["quota"])
    return admitted, quotas


def test_the_load_of_one_interval_makes_the_quota_of_the_next():
    # Load 2: y = 100 (10 − 2) / (10 × 9) = 8.889. The first interval had allowed 10, 1.111 too
    # many, so the second has 7.778; from then on 8.889 each, with fractions carried.
    admitted, quotas = run(predictive(), [20] * 5)
    assert quotas == pytest.approx([7.7778, 8.8889, 8.8889, 8.8889, 8.8889], abs=1e-4)
    assert admitted == [10, 7, 9, 9, 9]  # left: 7.778; 0.778 + 8.889; 0.667 + 8.889; 9.444


def test_a_load_that_was_overrated_is_made_good_again():
    # The fourth interval was given 8.889, as Load 2 would have it, but Load was 1.5: 9.444.
    _, quotas = run(predictive(), [20, 20, 20, 15])
    assert quotas[-1] == pytest.approx(9.4444 + (9.4444 - 8.8889), abs=1e-4)


def test_a_plan_with_headroom_is_eq_7_for_a_smaller_server():
    _, quotas = run(predictive(planned_utilisation=0.8), [16, 16])
    # S_r = 80: 8 sessions a second, Load 2: y = 80 (10 − 2) / (10 × 9) = 7.111.
    assert quotas == pytest.approx([7.1111 - (8 - 7.1111), 7.1111], abs=1e-4)
    assert predictive(planned_utilisation=0.8).snapshot()["capacity_rps"] == 100.0


def test_below_capacity_the_quota_is_the_capacity():
    admitted, quotas = run(predictive(), [3, 0, 9])
    assert quotas == [10.0, 10.0, 10.0]
    assert admitted == [3, 0, 9]


def test_unused_quota_is_used_in_the_near_future():
    # Two intervals' worth may be left over, and the server begins empty: 20 + 10 at first.
    policy = predictive(leftover_s=2.0)
    assert policy.snapshot()["quota_left"] == 30.0
    admitted, _ = run(policy, [4, 10, 10, 30])
    # Left over: 10 and 10 from before the start and 6 of the first interval; the first two are
    # lost by the time of the burst, and so are the 6, three intervals old. Load 1 until then.
    assert admitted == [4, 10, 10, 10]
    admitted, _ = run(predictive(leftover_s=2.0), [4, 10, 30])
    assert admitted == [4, 10, 16]


def test_a_silent_shop_leaves_no_more_behind_than_may_be_left_over():
    policy = predictive(leftover_s=2.0)
    run(policy, [30])
    policy.load_sample(60.0, LoadSample(1.0, 1, 59.0))
    # y = 10 for one interval and two that may be left over, less the 7.778 that were allowed.
    assert policy.snapshot()["quota"] == pytest.approx(10.0 + 3 * 10.0 - 7.7778, abs=1e-4)


def test_the_rejection_names_the_quota():
    policy = predictive()
    for id in range(11):
        verdict = policy.arrival(0.0, Request(id, Page.HOME, 0.0))
    assert verdict is not None
    assert verdict.reason == "no new sessions for now (quota of 10.00 in 1 s used up)"
    assert policy.arrival(0.0, Request(99, Page.BROWSE, 0.0, "a", session_is_new=False)) is None
    assert policy.snapshot()["admits"] is False


def test_a_gateway_that_answers_for_the_server_can_admit_more():
    _, quotas = run(predictive(rejection_cost=0.0), [20, 20])
    assert quotas == pytest.approx([10.0, 10.0])


@pytest.mark.parametrize("leftover_s", [NO_LEFTOVERS_S, 5.0])
def test_over_1000_intervals_nothing_is_rounded_away(leftover_s):
    """Σ (quota) telescopes to Σ y(Load as it was), and the newest prediction for the last."""
    policy, rng = predictive(leftover_s=leftover_s), Random(3)
    at_start = policy.snapshot()["quota_left"] - 10.0
    arrivals = [rng.randrange(16, 40) for _ in range(1000)]
    arrivals[0] += 60  # whatever is left over from before the start is used at once
    admitted, _ = run(policy, arrivals)
    y = [sessions_rps(100.0, 10.0, count / 10) for count in arrivals]
    owed = sum(y[:-1]) + y[-2] + at_start
    assert owed - 1 < sum(admitted) <= owed + 1e-6


def test_capacity_is_what_was_processed_over_the_busy_time():
    meter = CapacityMeter(0.5)
    assert meter.capacity_rps is None
    meter.measure(AcInterval(0.49, 1.0), 80.0)  # not busy enough
    assert meter.capacity_rps is None
    meter.measure(AcInterval(1.0, 1.0), 90.0)
    assert meter.capacity_rps == 90.0
    meter.measure(AcInterval(0.5, 2.0), 60.0)  # 60 in 1 s of busy time
    assert meter.capacity_rps == pytest.approx((0.99 * 90 + 60) / (0.99 * 1 + 1))


def test_rejections_are_part_of_what_the_server_processes():
    policy = predictive(capacity_rps=0.0, rejection_cost=0.5)
    policy.load_sample(1.0, LoadSample(1.0, 1, 1.0))  # as sbac-responsive: nobody may come in
    for id in range(4):
        assert policy.arrival(1.5, Request(id, Page.HOME, 1.5)) is not None
    for id in range(10, 13):
        policy.arrival(1.5, Request(id, Page.BROWSE, 1.5, "a", session_is_new=False))
        policy.completion(1.6, id, Outcome.ANSWERED)
    policy.load_sample(2.0, LoadSample(1.0, 1, 1.0))
    # Nothing in the first second, 3 + 0.5 × 4 in the second.
    assert policy.snapshot()["capacity_rps"] == pytest.approx(5 / 1.99)


def test_before_anything_is_known_it_is_responsive():
    policy = predictive(capacity_rps=0.0, session_length=0.0, leftover_s=0.0)
    assert policy.snapshot()["quota"] is None
    assert policy.arrival(0.0, Request(1, Page.HOME, 0.0)) is None
    policy.load_sample(1.0, LoadSample(0.96, 1, 1.0))
    rejection = policy.arrival(1.1, Request(2, Page.HOME, 1.1))
    assert rejection is not None
    assert "predicted utilisation 0.960 > 0.95" in rejection.reason
    policy.load_sample(2.0, LoadSample(0.95, 1, 1.0))
    assert policy.arrival(2.1, Request(3, Page.HOME, 2.1)) is None


def test_quotas_start_as_if_they_had_been_in_force_from_an_empty_server_on():
    policy = predictive(capacity_rps=0.0, leftover_s=3.0)
    for number in range(2):  # 12 sessions in each of two quiet intervals: S_r is not measured
        for i in range(12):
            policy.arrival(number, Request(100 * number + i, Page.HOME, number))
        policy.load_sample(number + 1.0, LoadSample(0.4, 1, 1.0))
    assert policy.snapshot()["quota"] is None
    for id in range(50):
        policy.completion(2.5, id, Outcome.ANSWERED)
    policy.load_sample(3.0, LoadSample(0.5, 1, 1.0))
    known = policy.snapshot()
    assert known["capacity_rps"] == 100.0
    # y = 10. Of the 30 from before the start 4 were used and the others are too old by now; the
    # third interval has left over all of its 10; and there are 10 fresh ones.
    assert known["quota"] == 10.0
    assert known["quota_left"] == pytest.approx(10.0 + 10.0)


@pytest.mark.parametrize(
    ("parameters", "field", "hint"),
    [
        ({"session_length": 1}, "session_length", "more than 1"),
        ({"session_length": 3, "rejection_cost": 4}, "session_length", "more than 4"),
        ({"rejection_cost": -1}, "rejection_cost", "from 0"),
        ({"measuring_utilisation": 0}, "measuring_utilisation", "from 0.1 to 1"),
        ({"capacity_rps": "100"}, "capacity_rps", "number"),
        ({"leftover_s": -1}, "leftover_s", "from 0"),
    ],
)
def test_refusals(parameters, field, hint):
    with pytest.raises(PolicyError) as refusal:
        create("sq", {}, "sbac-predictive", parameters)
    assert refusal.value.field == f"admission_parameters.{field}"
    assert hint in str(refusal.value)
