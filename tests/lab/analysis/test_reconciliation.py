import copy

import pytest

from lab.analysis.outcomes import outcomes_of
from lab.analysis.reconciliation import reconcile
from loadgen.workload.sessions import PAGES
from tests.lab.attempt_tables import RUSH, SHOPPERS, table

FATES = ("arrived", "dispatched", "dropped", "rejected", "abandoned_waiting", "withdrawn",
         "answered", "orphaned", "failed", "cancelled")  # fmt: skip


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
    shop["sentry"] = {"interrupted": start}
    return {"gateway": gateway, "abandonment": {"overdue": start}, "shop": shop}


def broken(client, after, **how):
    """The statements that do not hold."""
    checks = reconcile(client, how.pop("before", BEFORE), after, **how)
    return [check.statement for check in checks if not check.holds]


ARRIVED = {"Br-1": 4, "Br-2": 1, "Br-3": 1, "Br-4": 1, "Tr-1": 1, "Tr-2": 1, "Tr-3": 1, "Tr-4": 1}
BEFORE = counts(100, {}, {})
AFTER = counts(100, ARRIVED, {"Br-1": 1, "Br-3": 1})


SERVED = "requests that the shop served = requests that the gateway dispatched and did not stop"


def test_counts_that_agree():
    client = outcomes_of(RUSH, 2.0)
    assert broken(client, AFTER) == []
    # Session 1 left while its first page was sent: the gateway counts an answer.
    assert broken(client, counts(100, ARRIVED, {"Br-3": 1})) == []


@pytest.mark.parametrize(
    ("part", "page", "fate", "by", "word"),
    [
        ("gateway", "Br-2", "arrived", 1, "client's attempts"),
        ("gateway", "Br-1", "dropped", -1, "drops"),
        ("gateway", "Br-4", "answered", -1, "completed"),
        ("shop", "Tr-1", "served", 1, "requests that the shop served"),
    ],
)
def test_a_count_that_is_off_is_named(part, page, fate, by, word):
    after = copy.deepcopy(AFTER)
    (after["gateway"][page] if part == "gateway" else after["shop"]["pages"][page])[fate] += by
    found = broken(outcomes_of(RUSH, 2.0), after)
    assert any(word in statement and page in statement for statement in found)


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
    assert broken(client, after) == []
    fates["rejected"] -= 1
    assert "Br-1: gateway's rejections ≈ client's" in broken(client, after)
    fates["rejected"] += 1
    after["shop"]["pages"]["Br-1"]["served"] += 1  # a rejected one was served all the same
    statement = f"Br-1: {SERVED}"
    assert broken(client, after) == [statement]


def moved(after, page, taken_from, given_to):
    """One request of that page has another fate."""
    for fate in taken_from:
        after["gateway"][page][fate] -= 1
    for fate in given_to:
        after["gateway"][page][fate] += 1


def test_who_is_withdrawn_from_a_queue_is_accounted_for():
    client = outcomes_of(RUSH, 2.0)
    after = counts(100, ARRIVED, {"Br-1": 1})
    moved(after, "Br-3", ("dispatched", "answered"), ("abandoned_waiting", "withdrawn"))
    after["shop"]["pages"]["Br-3"]["served"] -= 1
    assert broken(client, after) == []
    after["gateway"]["Br-3"]["withdrawn"] -= 1  # left its queue, but never taken out
    assert broken(client, after) == [
        "Br-3: gateway's arrivals = dispatched + turned away + withdrawn"
    ]


def test_what_was_stopped_is_not_served():
    client = outcomes_of(RUSH, 2.0)
    after = counts(100, ARRIVED, {"Br-1": 1, "Br-3": 1})
    moved(after, "Br-3", ("orphaned",), ("cancelled",))
    statement = f"Br-3: {SERVED}"
    assert broken(client, after) == [statement]  # the shop served it all the same
    after["abandonment"]["overdue"] += 1  # which it may, when it did not stop in time
    assert broken(client, after) == []
    after["abandonment"]["overdue"] -= 1
    after["shop"]["pages"]["Br-3"]["served"] -= 1
    after["shop"]["sentry"]["interrupted"] += 1
    assert broken(client, after) == []
    after["shop"]["sentry"]["interrupted"] += 1
    assert broken(client, after) == ["shop's interrupted ≤ gateway's cancelled"]


CONFIRMS_LEFT = table(
    (0, 6, "Tr-4", 1, 1.0, 9.0, "timed_out"),
    (1, 6, "Tr-4", 1, 1.0, 9.0, "timed_out"),
)


@pytest.mark.parametrize(("orders", "holds"), [(0, True), (1, True), (2, False)])
def test_a_confirm_that_was_stopped_left_no_order(orders, holds):
    client = outcomes_of(CONFIRMS_LEFT, 2.0)
    after = counts(100, {"Tr-4": 2}, {"Tr-4": 2})
    moved(after, "Tr-4", ("orphaned",), ("cancelled",))  # the other was past its commit point
    after["shop"]["pages"]["Tr-4"]["served"] -= 1
    after["shop"]["sentry"]["interrupted"] += 1
    after["shop"]["orders"] = 100 + orders
    # None at all may be as well: the one that was finished may have said why there is none.
    assert (broken(client, after) == []) is holds


CLIENTS = table(
    (0, 0, "Br-1", 1, 1.0, 0.5, "completed"),
    (0, 1, "file", 1, 2.0, 0.1, "completed"),
    (1, 0, "file", 1, 2.0, 5.0, "timed_out"),
    (1, 0, "file", 2, 7.0, 0.1, "completed"),
)


def test_files_are_what_the_gateway_counts_beside_the_pages():
    client = outcomes_of(CLIENTS, None)
    before, after = copy.deepcopy(BEFORE), counts(100, {"Br-1": 2}, {})
    fates = after["gateway"]["Br-1"]  # `counts` drops one at Br-1: here nobody was
    fates["arrived"] -= 1
    fates["dropped"] -= 1
    before["gateway"]["other"] = dict.fromkeys(FATES, 7)
    served = {"arrived": 10, "dispatched": 10, "answered": 9, "cancelled": 8}
    after["gateway"]["other"] = {**before["gateway"]["other"], **served}
    assert broken(client, after, before=before) == []
    after["gateway"]["other"]["arrived"] -= 1  # given up before the gateway had read it
    after["gateway"]["other"]["dispatched"] -= 1
    after["gateway"]["other"]["cancelled"] -= 1
    found = broken(client, after, before=before)
    assert found == ["file: gateway's arrivals = client's attempts"]
    assert broken(client, after, before=before, hasty={"file": 1}) == []


@pytest.mark.parametrize("orders", [100, 102])
def test_lost_and_doubled_orders_are_found(orders):
    after = copy.deepcopy(AFTER)
    after["shop"]["orders"] = orders
    assert broken(outcomes_of(RUSH, 2.0), after) == ["shop's orders ≈ client's confirms"]


@pytest.mark.parametrize(("kept", "holds"), [(0, False), (1, True), (2, True), (3, False)])
def test_the_database_away_at_a_confirm(kept, holds):
    """One is confirmed; the other was answered with an error, maybe after its commit."""
    client = outcomes_of(
        table((0, 6, "Tr-4", 1, 1.0, 0.5, "failed"), (1, 6, "Tr-4", 1, 1.0, 0.5, "completed")), 2.0
    )
    before = {**copy.deepcopy(BEFORE), "orders": 5}
    after = {**counts(100, {"Tr-4": 2}, {}), "orders": 5 + kept}
    after["shop"]["pages"]["Tr-4"]["served"] -= 1
    after["shop"]["orders"] -= 1
    found = broken(client, after, before=before)
    assert found == ([] if holds else ["orders in the database ≈ client's confirms"])


def test_an_orphan_that_met_an_outage_was_not_served():
    client = outcomes_of(table((0, 0, "Br-2", 1, 1.0, 9.0, "timed_out")), 2.0)
    after = counts(100, {"Br-2": 1}, {"Br-2": 1})
    after["shop"]["pages"]["Br-2"]["served"] -= 1
    statement = f"Br-2: {SERVED}"
    assert broken(client, after) == [statement]
    after["shop"]["lost_to"] = {"postgres": 1, "redis": 0}
    assert broken(client, after) == []
