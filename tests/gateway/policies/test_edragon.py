"""ELM and EAC, by hand-computed samples of eq. (2) to (5)."""

import pytest

from gateway.policies.registry import create_connection_admission

EXAMPLE = {"cto_s": 0.1, "ctn_s": 0.25, "k_apl_s": 2.0, "ewma_alpha": 0.7}


def eac(**parameters):
    made = create_connection_admission("eac", {**EXAMPLE, **parameters})
    made.timer_due(0.0)
    return made


def feed(policy, time_s, *, new=0, resumed=0):
    """Return how many of the new connections are accepted; assert that all resumed ones are."""
    assert all(policy.connection(time_s, resumed=True) for _ in range(resumed))
    return sum(policy.connection(time_s, resumed=False) for _ in range(new))


def test_predictions_follow_the_equations():
    policy = eac()
    monitor = policy.monitor
    assert monitor.predicted_new is None
    feed(policy, 1, new=10, resumed=20)
    policy.timer_due(2.0)  # k = 2: the first count is the prediction
    assert (monitor.predicted_new, monitor.predicted_resumed) == (10, 20)
    feed(policy, 3, new=20, resumed=0)
    policy.timer_due(4.0)  # k = 3: 0.7 × previous prediction + 0.3 × last count
    assert monitor.predicted_new == pytest.approx(13)
    assert monitor.predicted_resumed == pytest.approx(14)
    # (14 × 0.1 + 13 × 0.25) / 2 = 2.325
    assert monitor.demand_processors == pytest.approx(2.325)
    assert policy.requested == 3


def test_what_is_refused_counts_for_the_request():
    policy = eac(processors=0.5)
    feed(policy, 1, new=40)
    policy.timer_due(2.0)
    assert feed(policy, 3, new=40) == 4  # 2 × 0.5 / 0.25
    policy.timer_due(4.0)
    assert policy.monitor.predicted_new == pytest.approx(40)
    assert policy.requested == 5


def test_new_connections_get_what_resumed_ones_leave():
    policy = eac(processors=2)
    feed(policy, 1, new=1, resumed=30)
    policy.timer_due(2.0)
    # (2 × 2 − 30 × 0.1) / 0.25 = 4
    assert feed(policy, 2.5, new=10, resumed=5) == 4
    assert policy.snapshot()["refused"] == 6
    assert policy.snapshot()["acceptable_new"] == pytest.approx(4)


def test_resumed_connections_are_accepted_when_nothing_is_left():
    policy = eac(processors=1)
    feed(policy, 1, new=3, resumed=500)
    policy.timer_due(2.0)
    assert policy.snapshot()["acceptable_new"] == 0
    assert feed(policy, 3, new=3, resumed=500) == 0


def test_nobody_is_refused_before_prediction_and_assignment():
    policy = eac()
    assert feed(policy, 1, new=1000) == 1000
    policy.timer_due(2.0)
    assert feed(policy, 3, new=1000) == 1000
    policy.assigned(3.5, 1.0)
    policy.timer_due(4.0)
    assert feed(policy, 5, new=1000) == 8


def test_the_assignment_counts_from_the_next_interval():
    policy = eac()
    policy.assigned(0.5, 1.0)
    feed(policy, 1, new=8)
    policy.timer_due(2.0)
    policy.assigned(2.5, 0.0)
    assert feed(policy, 3, new=20) == 8
    policy.timer_due(4.0)
    assert feed(policy, 5, new=20) == 0


def test_a_fixed_number_of_processors_is_not_changed_by_the_manager():
    policy = eac(processors=1.5)
    policy.assigned(0.5, 4.0)
    policy.timer_due(2.0)
    assert feed(policy, 3, new=100) == 12


def test_fractions_are_carried():
    policy = eac(processors=0.2, ctn_s=0.25)  # AN = 1.6
    policy.timer_due(2.0)
    accepted = [0] * 10
    for k in range(10):
        accepted[k] = feed(policy, 2 * k + 2.5, new=5)
        policy.timer_due(2 * k + 4.0)
    assert sum(accepted) == 16
    assert set(accepted) == {1, 2}


def test_an_idle_application_asks_for_one():
    policy = eac()
    policy.timer_due(2.0)
    assert policy.requested == 1


def test_a_late_interval_is_brought_to_its_length():
    policy = eac()
    feed(policy, 1, new=30, resumed=6)
    policy.timer_due(6.0)
    assert policy.monitor.predicted_new == pytest.approx(10)
    assert policy.monitor.predicted_resumed == pytest.approx(2)
    assert policy.next_timer_s() == pytest.approx(8.0)


def test_the_first_timer_is_due_at_once():
    policy = create_connection_admission("eac", EXAMPLE)
    assert policy.next_timer_s() <= 0
    policy.timer_due(123.0)
    assert policy.next_timer_s() == 125.0
    assert policy.monitor.predicted_new is None


def test_none_accepts_all_and_asks_for_nothing():
    policy = create_connection_admission("none")
    policy.assigned(0, 0)
    assert policy.connection(0, resumed=False)
    assert policy.connection(0, resumed=True)
    assert policy.requested is None
    assert policy.next_timer_s() is None
