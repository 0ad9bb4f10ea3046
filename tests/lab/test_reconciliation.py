import copy

import pytest

from lab.experiments.outcomes import outcomes_of
from lab.experiments.reconciliation import reconcile
from loadgen.sessions import PAGES
from tests.lab.attempt_tables import RUSH, SHOPPERS

FATES = ("arrived", "dispatched", "dropped", "rejected", "abandoned_waiting", "answered",
         "orphaned", "failed", "cancelled")  # fmt: skip


def counts(start, arrived, orphaned):
    """Gateway and shop after `RUSH` when they began at `start`; `arrived` by page type."""
    gateway = {page: dict.fromkeys(FATES, start) for page in PAGES}
    shop = {"pages": {page: {"served": start} for page in PAGES}, "orders": start}
    for page, n in arrived.items():
        dropped = 1 if page == "Br-1" else 0
        fates = gateway[page]
        fates["arrived"] += n
        fates["dropped"] += dropped
        fates["dispatched"] += n - dropped
        fates["orphaned"] += orphaned.get(page, 0)
        fates["answered"] += n - dropped - orphaned.get(page, 0)
        shop["pages"][page]["served"] += n - dropped
    shop["orders"] += arrived.get("Tr-4", 0)
    return {"gateway": gateway, "shop": shop}


ARRIVED = {"Br-1": 4, "Br-2": 1, "Br-3": 1, "Br-4": 1, "Tr-1": 1, "Tr-2": 1, "Tr-3": 1, "Tr-4": 1}
BEFORE = counts(100, {}, {})
AFTER = counts(100, ARRIVED, {"Br-1": 1, "Br-3": 1})


def test_counts_that_agree():
    checks = reconcile(outcomes_of(RUSH, 2.0), BEFORE, AFTER)
    assert [check.statement for check in checks if not check.holds] == []


def test_an_answer_in_the_moment_of_leaving_is_no_fault():
    checks = reconcile(outcomes_of(RUSH, 2.0), BEFORE, counts(100, ARRIVED, {"Br-3": 1}))
    assert all(check.holds for check in checks)


@pytest.mark.parametrize(
    ("part", "page", "fate", "by", "word"),
    [
        ("gateway", "Br-2", "arrived", 1, "client's attempts"),
        ("gateway", "Br-1", "dropped", -1, "drops"),
        ("gateway", "Br-4", "answered", -1, "completed"),
        ("shop", "Tr-1", "served", 1, "shop's served"),
    ],
)
def test_a_count_that_is_off_is_named(part, page, fate, by, word):
    after = copy.deepcopy(AFTER)
    (after["gateway"][page] if part == "gateway" else after["shop"]["pages"][page])[fate] += by
    broken = [c for c in reconcile(outcomes_of(RUSH, 2.0), BEFORE, after) if not c.holds]
    assert any(word in check.statement and page in check.statement for check in broken)


def test_rejections_are_counted_on_both_sides_and_never_reach_the_shop():
    client = outcomes_of(SHOPPERS, 2.0)
    after = counts(100, {"Br-1": 7, "Br-2": 2}, {"Br-1": 2})
    fates = after["gateway"]["Br-1"]
    fates["rejected"] += 2
    fates["dispatched"] -= 1  # one of `counts` is dropped at Br-1: here it is one of the rejected
    fates["dropped"] -= 1
    fates["answered"] -= 1
    after["shop"]["pages"]["Br-1"]["served"] -= 1
    later = after["gateway"]["Br-2"]
    later["dropped"] += 1
    later["dispatched"] -= 1
    later["answered"] -= 1
    after["shop"]["pages"]["Br-2"]["served"] -= 1
    assert [c for c in reconcile(client, BEFORE, after) if not c.holds] == []
    fates["rejected"] -= 1
    broken = [c.statement for c in reconcile(client, BEFORE, after) if not c.holds]
    assert "Br-1: gateway's rejections ≈ client's" in broken
    fates["rejected"] += 1
    after["shop"]["pages"]["Br-1"]["served"] += 1  # a rejected one was served all the same
    broken = [c.statement for c in reconcile(client, BEFORE, after) if not c.holds]
    assert broken == ["Br-1: shop's served = gateway's dispatched"]


def test_who_is_taken_out_of_a_queue_is_accounted_for():
    client = outcomes_of(RUSH, 2.0)
    after = counts(100, ARRIVED, {"Br-1": 1})
    fates = after["gateway"]["Br-3"]
    fates["dispatched"] -= 1
    fates["answered"] -= 1
    fates["abandoned_waiting"] += 1
    after["shop"]["pages"]["Br-3"]["served"] -= 1
    assert all(c.holds for c in reconcile(client, BEFORE, after, leavers_are_taken_out=True))
    assert not all(c.holds for c in reconcile(client, BEFORE, after))


@pytest.mark.parametrize("orders", [100, 102])
def test_lost_and_doubled_orders_are_found(orders):
    after = copy.deepcopy(AFTER)
    after["shop"]["orders"] = orders
    broken = [c for c in reconcile(outcomes_of(RUSH, 2.0), BEFORE, after) if not c.holds]
    assert [check.statement for check in broken] == ["shop's orders ≈ client's confirms"]
