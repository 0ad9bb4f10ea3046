"""The order of service in exact samples, calculated by hand."""

import pytest

from gateway.policies.interface import Drop, LoadSample, Page, Request
from gateway.policies.registry import create


def load(policy, utilisation_ratio, time_s=0.0):
    policy.load_sample(time_s, LoadSample(utilisation_ratio, 30, 1.0))


def fill(policy, *pages):
    """Let one request per page arrive, ids from 1, one second apart; return the verdicts."""
    return [
        tuple(policy.arrival(float(i), Request(i, Page(page), float(i))))
        for i, page in enumerate(pages, start=1)
    ]


def served(policy, free=1000):
    return [verdict.id for verdict in policy.workers_free(1000.0, free)]


def test_sq_serves_the_oldest_and_drops_the_newcomer_when_full():
    policy = create("sq", {"capacity": 3})
    verdicts = fill(policy, "Br-1", "Tr-4", "Br-2", "Tr-4")
    assert verdicts == [(), (), (), (Drop(4, "queue full (3)"),)]
    assert served(policy) == [1, 2, 3]


def test_always_lifo_serves_the_newest():
    policy = create("always-lifo", {})
    fill(policy, *["Br-1"] * 4)
    assert served(policy) == [4, 3, 2, 1]


def test_lifo_at_overload_switches_at_the_thresholds_and_not_between():
    policy = create("lifo-at-overload", {})
    seen = []
    for utilisation_ratio in (0.97, 0.99, 0.991, 0.97, 0.95, 0.949, 0.97):
        load(policy, utilisation_ratio)
        seen.append(str(policy.snapshot()["discipline"]))
    assert seen == ["FIFO", "FIFO", "LIFO", "LIFO", "LIFO", "FIFO", "FIFO"]
    assert policy.snapshot()["discipline_switches"] == 2


def test_lifo_at_overload_serves_in_the_discipline_in_force():
    policy = create("lifo-at-overload", {})
    fill(policy, *["Br-1"] * 4)
    assert served(policy, 1) == [1]
    load(policy, 1.0)
    assert served(policy, 1) == [4]
    load(policy, 0.5)
    assert served(policy) == [2, 3]


def test_dynamic_priority_is_queue_length_times_utility():
    policy = create("8q-af", {})
    # N × U: Br-1 3 × 27 = 81, Br-2 4 × 22 = 88, Br-3 2 × 36 = 72, Br-4 1 × 73 = 73.
    fill(policy, *["Br-1"] * 3, *["Br-2"] * 4, *["Br-3"] * 2, "Br-4")
    # 4 (88 → 66); 1 (81 → 54); 10 (73 → 0); 8 (72 → 36); 5 (66 → 44); 2 (54 → 27); 6; 9; 3; 7
    assert served(policy) == [4, 1, 10, 8, 5, 2, 6, 9, 3, 7]


def test_transactions_go_first_and_the_last_step_first_of_all():
    policy = create("8q-lifo-pri", {})
    fill(policy, *["Br-4"] * 50, "Tr-1", "Tr-2", "Tr-3", "Tr-4")
    assert served(policy, 4) == [54, 53, 52, 51]


def test_a_full_details_queue_does_not_outweigh_one_login():
    # 50 × 73 = 3650 = 1 × 3650: the tie goes to the transaction, as section 2.2 wants.
    policy = create("8q-lifo-pri", {})
    fill(policy, *["Br-4"] * 50, "Tr-1")
    assert served(policy, 1) == [51]


def test_transaction_queues_stay_fifo_when_browsing_is_lifo():
    policy = create("8q-lifo-pri", {})
    fill(policy, "Tr-1", "Tr-1", "Br-1", "Br-1")
    load(policy, 1.0)
    assert served(policy) == [1, 2, 4, 3]


def test_8q_af_stays_fifo_at_any_load():
    policy = create("8q-af", {})
    fill(policy, "Br-1", "Br-1", "Br-1")
    load(policy, 1.0)
    assert served(policy) == [1, 2, 3]


def test_each_queue_has_a_capacity_of_its_own():
    policy = create("8q-af", {"browsing_capacity": 1, "transaction_capacity": 2})
    verdicts = fill(policy, "Br-1", "Br-1", "Br-2", "Tr-1", "Tr-1", "Tr-1")
    assert [i for i, v in enumerate(verdicts, start=1) if v] == [2, 6]
    assert verdicts[1] == (Drop(2, "queue Br-1 full (1)"),)


def test_utilities_of_zero_starve_nobody_for_ever():
    policy = create("8q-af", {"utility": dict.fromkeys(Page, 0.0)})
    fill(policy, "Br-1", "Br-2")
    assert sorted(served(policy)) == [1, 2]


@pytest.mark.parametrize("name", ["sq", "8q-lifo-pri"])
def test_adopting_more_than_the_capacity_loses_nobody(name):
    policy = create(name, {})
    requests = [Request(i, Page.HOME, float(i)) for i in range(1, 301)]
    policy.adopt(0.0, requests)
    assert list(policy.waiting()) == requests
    assert len(policy.arrival(301.0, Request(301, Page.HOME, 301.0))) == 1
    assert served(policy) == list(range(1, 301))
