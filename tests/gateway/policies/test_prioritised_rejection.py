"""Prioritised rejection: the curve of its source, and the order in which it turns pages away."""

import pytest

from gateway.policies import PolicyError
from gateway.policies.interface import PAGES, Drop, Outcome, Request
from gateway.policies.registry import create


def filled(requests, **parameters):
    """Return the policy with `requests` requests of the most important page in the system."""
    policy = create("prioritised-rejection", parameters)
    for id in range(requests):
        policy.arrival(0.0, Request(id, "Tr-4", 0.0))
    return policy


@pytest.mark.parametrize(
    ("overload_percent", "low", "high"), [(0, 100, 100), (35, 94, 97), (80, 47, 53), (95, 8, 15)]
)
def test_the_level_goes_through_the_published_points(overload_percent, low, high):
    policy = filled(100 + overload_percent, throttle_from=100, overloaded_at=200)
    assert low <= policy.snapshot()["level"] <= high


def test_the_least_important_page_is_turned_away_first_and_the_last_page_last():
    """Br-1 is turned away from 31 requests in the system, Tr-4 from 100, the others in order."""
    turned_away_from = {}
    for inside in range(25, 101):
        for page in PAGES:
            verdicts = filled(inside).arrival(1.0, Request(999, page, 1.0))
            if verdicts:
                assert type(verdicts[0]) is Drop
                turned_away_from.setdefault(page, inside)
    assert turned_away_from["Br-1"] == 31
    assert turned_away_from["Tr-4"] == 100
    assert list(turned_away_from.values()) == sorted(turned_away_from.values())
    assert list(turned_away_from) == list(PAGES)


def test_who_is_done_makes_room():
    policy = filled(31)
    assert policy.arrival(1.0, Request(100, "Br-1", 1.0))
    policy.workers_free(1.0, 1)
    policy.completion(2.0, 0, Outcome.ANSWERED)
    assert not policy.arrival(2.0, Request(101, "Br-1", 2.0))


def test_a_threshold_that_is_not_below_the_capacity_is_refused():
    with pytest.raises(PolicyError, match=r"parameters.throttle_from: 100 .* allowed: at most 99"):
        create("prioritised-rejection", {"throttle_from": 100})
