"""DOOR: exact samples of its three rules."""

import pytest

from gateway.policies.hands import AutomaticHands
from gateway.policies.interface import Cancel, Drop, LoadSample, Outcome, Reject, Request
from gateway.policies.patience_estimate import LONGEST_S, STEP_S, PatienceEstimate
from gateway.policies.registry import create

PLENTY = 30


def arrive(policy, id, page, time_s=None, *, is_new):
    """Let a request arrive, `id` seconds after the start unless a time is given."""
    at_s = float(id) if time_s is None else time_s
    return tuple(policy.arrival(at_s, Request(id, page, at_s, f"s{id}", is_new)))


def load(policy, utilisation_ratio, time_s=0.0):
    policy.load_sample(time_s, LoadSample(utilisation_ratio, 8, 1.0))


def served(policy, free=PLENTY):
    return [verdict.id for verdict in policy.workers_free(1000.0, free)]


@pytest.mark.parametrize("name", ["door-lifo", "door-fifo", "static-stages"])
def test_few_hands(name):
    policy = create(name, {"hands": 2})
    for id in range(1, 6):
        arrive(policy, id, "Tr-1", is_new=False)
    assert served(policy) == [1, 2]
    assert served(policy) == []
    policy.completion(9.0, 2, Outcome.ANSWERED)
    policy.completion(9.0, 77, Outcome.ANSWERED)  # dispatched by the policy before
    assert served(policy) == [3]
    assert served(policy, free=0) == []


@pytest.mark.parametrize("name", ["door-lifo", "door-fifo"])
def test_the_house_goes_first_later_pages_before_earlier(name):
    policy = create(name, {})
    arrive(policy, 1, "Br-1", is_new=True)
    arrive(policy, 2, "Br-2", is_new=False)
    arrive(policy, 3, "Tr-4", is_new=False)
    arrive(policy, 4, "Tr-4", is_new=True)  # the page of a stranger makes no difference
    arrive(policy, 5, "Br-2", is_new=False)
    door = [4, 1] if name == "door-lifo" else [1, 4]
    assert served(policy) == [3, 2, 5, *door]


@pytest.mark.parametrize("name", ["door-lifo", "door-fifo"])
def test_nobody_of_the_house_is_turned_away(name):
    policy = create(name, {"places": 1})
    for id in range(1, 2001):
        assert arrive(policy, id, "Br-2", is_new=False) == ()
    assert not policy.timer_due(1e6)
    assert len(policy.waiting()) == 2000


def test_a_full_lifo_door_turns_the_oldest_away():
    policy = create("door-lifo", {"places": 2})
    assert arrive(policy, 1, "Br-1", is_new=True) == ()
    assert arrive(policy, 2, "Br-1", is_new=True) == ()
    assert arrive(policy, 3, "Br-1", is_new=True) == (
        Drop(1, "admission queue full (2), and the other requests are newer"),
    )
    assert served(policy) == [3, 2]


def test_a_fifo_door_turns_away_who_has_waited_long_enough():
    policy = create("door-fifo", {"wait_s": 6.0})
    assert policy.next_timer_s() is None
    arrive(policy, 1, "Br-1", 10.0, is_new=True)
    arrive(policy, 2, "Br-1", 11.0, is_new=True)
    arrive(policy, 3, "Br-2", 9.0, is_new=False)
    assert policy.next_timer_s() == 16.0
    assert policy.timer_due(15.9) == []
    assert policy.timer_due(16.0) == [Reject(1, "waited 6 s in the admission queue", 60.0)]
    assert policy.next_timer_s() == 17.0
    assert served(policy) == [3, 2]
    assert policy.next_timer_s() is None


@pytest.mark.parametrize("name", ["door-lifo", "door-fifo"])
def test_who_has_left_the_door_is_removed_and_the_house_is_served_all_the_same(name):
    policy = create(name, {})
    arrive(policy, 1, "Br-1", is_new=True)
    arrive(policy, 2, "Br-1", is_new=True)
    arrive(policy, 3, "Br-2", is_new=False)
    assert policy.abandonment(9.0, 1) == (Cancel(1),)
    assert policy.abandonment(9.0, 3) == ()
    assert served(policy) == [3, 2]
    assert policy.abandonment(9.0, 2) == ()  # in service: not this policy's choice

    kept = create(name, {"removes_gone": 0})
    arrive(kept, 1, "Br-1", is_new=True)
    assert kept.abandonment(9.0, 1) == ()
    assert served(kept) == [1]


def test_a_limit_on_waiting_follows_the_patience_that_is_seen():
    policy = create("door-fifo", {"wait_automatic": 1})
    for id in range(1, 101):
        arrive(policy, id, "Br-2", 0.0, is_new=False)
        policy.abandonment(8.1 + 0.01 * id, id)
    load(policy, 1.0, 10.0)
    # the sixth hundredth of them leaves in the step from 8 to 8.25 s
    assert policy.snapshot()["wait_s"] == pytest.approx(0.75 * 8.0)


def test_what_patience_is_not_known_changes_nothing():
    policy = create("door-fifo", {"wait_automatic": 1, "wait_s": 3.0})
    load(policy, 1.0)
    assert policy.snapshot()["wait_s"] == 3.0


class TestPatienceEstimate:
    def test_unknown_at_first(self):
        estimate = PatienceEstimate()
        for _ in range(19):
            estimate.left(5.0)
        assert estimate.quantile_s(0.05) is None
        estimate.left(5.0)
        assert estimate.quantile_s(0.05) == 5.0

    def test_those_who_were_answered_early_say_nothing_about_late_patience(self):
        # Half are answered after 1 s; of the others every tenth leaves at 10 s, all at 20 s.
        estimate = PatienceEstimate()
        for number in range(1000):
            estimate.stayed(1.0)
            estimate.left(10.0 if number % 10 == 0 else 20.0)
        assert estimate.quantile_s(0.05) == 10.0  # of 1000 at risk, not of 2000
        assert estimate.quantile_s(0.10) == 10.0
        assert estimate.quantile_s(0.11) == 20.0

    def test_who_is_turned_away_before_anybody_leaves_does_not_shorten_it(self):
        estimate = PatienceEstimate()
        for _ in range(10_000):
            estimate.stayed(3.0)
        for _ in range(50):
            estimate.left(8.0)
        assert estimate.quantile_s(0.05) == 8.0

    def test_old_ones_fade(self):
        estimate = PatienceEstimate()
        for _ in range(100):
            estimate.left(2.0)
        for _ in range(3000):
            estimate.fade(1.0)
        assert estimate.quantile_s(0.05) is None

    def test_what_has_faded_to_next_to_nothing_does_no_harm(self):
        estimate = PatienceEstimate()
        estimate.left(100.0)
        for _ in range(25_000):
            estimate.fade(1.0)
        for number in range(10_000):
            estimate.stayed(number % 30 / 10)
        for _ in range(50):
            estimate.left(0.1)
        assert estimate.quantile_s(0.05) == 100.0

    def test_very_long_ones(self):
        estimate = PatienceEstimate()
        for _ in range(100):
            estimate.left(1e6)
        assert estimate.quantile_s(0.05) == LONGEST_S - STEP_S


class TestAutomaticHands:
    def sample(self, hands, ratio, waits=True, seconds=1):
        for _ in range(seconds):
            hands.sample(LoadSample(ratio, 8, 1.0), waits)

    def busy(self, limit):
        hands = AutomaticHands(limit)
        for id in range(limit):
            hands.take(id)
        return hands

    def test_one_more_while_the_cpu_idles_and_somebody_waits(self):
        hands = self.busy(8)
        self.sample(hands, 0.9)
        assert hands.limit == 9
        self.sample(hands, 0.9)  # one hand is free: more would do nothing
        assert hands.limit == 9

    @pytest.mark.parametrize(("ratio", "waits"), [(0.98, True), (0.9, False)])
    def test_no_more_when_it_does_not_idle_or_nobody_waits(self, ratio, waits):
        hands = self.busy(8)
        self.sample(hands, ratio, waits, seconds=30)
        assert hands.limit == 8

    def test_one_less_after_ten_full_seconds_down_to_four(self):
        hands = self.busy(6)
        self.sample(hands, 0.99, seconds=9)
        self.sample(hands, 0.985)
        self.sample(hands, 1.0, seconds=9)
        assert hands.limit == 6
        self.sample(hands, 1.0)
        assert hands.limit == 5
        self.sample(hands, 1.0, seconds=100)
        assert hands.limit == 4


def test_who_waited_under_another_policy_goes_where_they_belong():
    policy = create("door-lifo", {"places": 1})
    waiting = [Request(1, "Br-1", 1.0, "a"), Request(2, "Br-2", 2.0, "b", False)]
    policy.adopt(3.0, [*waiting, Request(3, "Br-1", 3.0, "c")])
    assert served(policy) == [2, 3, 1]
