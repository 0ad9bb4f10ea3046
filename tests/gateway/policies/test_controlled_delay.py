"""Exact samples of controlled delay with adaptive LIFO."""

from gateway.policies.interface import Dispatch, Drop, Request
from gateway.policies.registry import create

LATE = "waited too long in the queue"


def arrive(policy, id, time_s):
    return list(policy.arrival(time_s, Request(id, "Br-1", time_s)))


def test_a_short_queue_is_served_in_turn():
    policy = create("codel", {"interval_s": 1.0, "target_s": 0.1})
    for id in (1, 2, 3):
        assert arrive(policy, id, 10.0) == []
    assert policy.workers_free(10.9, 2) == [Dispatch(1), Dispatch(2)]
    assert policy.snapshot()["discipline"] == "FIFO"


def test_who_has_waited_the_interval_is_dropped():
    policy = create("codel", {"interval_s": 1.0, "target_s": 0.1})
    arrive(policy, 1, 10.0)
    arrive(policy, 2, 10.9)
    # The queue stands since 10.0: the newest first, and the first one is late.
    assert policy.workers_free(11.5, 1) == [Drop(1, LATE), Dispatch(2)]


def test_a_standing_queue_is_kept_short_and_served_newest_first():
    policy = create("codel", {"interval_s": 1.0, "target_s": 0.1})
    arrive(policy, 1, 10.0)
    arrive(policy, 2, 10.9)
    arrive(policy, 3, 10.95)
    assert arrive(policy, 4, 11.2) == [Drop(1, LATE)]  # 4 may wait until 11.3
    arrive(policy, 5, 11.25)
    assert policy.snapshot()["discipline"] == "LIFO"
    assert policy.workers_free(11.32, 1) == [Dispatch(5)]
    assert policy.workers_free(11.32, 2) == [Drop(4, LATE), Dispatch(3), Dispatch(2)]
    assert policy.snapshot()["discipline_switches"] == 2  # to LIFO and, once it is empty, to FIFO


def test_an_empty_queue_begins_anew():
    policy = create("codel", {"interval_s": 1.0, "target_s": 0.1})
    arrive(policy, 1, 10.0)
    assert policy.workers_free(10.5, 5) == [Dispatch(1)]
    arrive(policy, 2, 12.0)
    arrive(policy, 3, 12.1)
    assert policy.workers_free(12.5, 1) == [Dispatch(2)]
