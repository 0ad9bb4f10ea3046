"""What becomes of a request whose customer has left, by what the shop's sentry does about it."""

import pytest

from tests.system.chain import WAYS, answer, chain, leave
from tests.waiting import until

ways = pytest.mark.parametrize("how", WAYS)


@pytest.fixture
def mode(shop):
    """Sets the sentry's mode; `cancel` again afterwards."""

    def mode(wanted):
        assert shop.request(f"/mode/{wanted}/") == (200, wanted)

    yield mode
    mode("cancel")


class TestWithoutSentry:
    @pytest.fixture(autouse=True)
    def off(self, mode):
        mode("off")

    @ways
    def test_the_worker_is_taken_until_the_page_ends(self, one_worker, database, how):
        before, key = one_worker.snapshot(), f"off-{how}"
        with one_worker.customer() as customer, one_worker.customer() as second:
            with database.holding(4):
                customer.send(f"/write/{key}/", "POST")
                database.expect_begun(f"{key} waits")
                second.send("/echo/4/")
                one_worker.has(waiting=1)
                leave(customer, how)
                one_worker.has_left(before)
                one_worker.has(in_service=1, waiting=1)
            assert answer(second) == (200, b"4")
        assert database.written(key) == [key]
        one_worker.expect_settled(before, arrived=2, dispatched=2, orphaned=1, answered=1)

    def test_but_no_longer_than_the_deadline(self, shop, database):
        """What the shop then still does it does beside its workers, and `overdue` says so."""
        with chain(shop, database, workers=1, cancel_s=0.5) as hurried:
            before = hurried.snapshot()
            with database.holding(4), hurried.customer() as second:
                with hurried.customer() as customer:
                    customer.send("/write/overdue/", "POST")
                    database.expect_begun("overdue waits")
                    second.send("/echo/5/")
                    hurried.has(waiting=1)
                assert answer(second) == (200, b"5")
                assert database.running("overdue waits") == 1
            hurried.expect_settled(
                before, overdue=1, arrived=2, dispatched=2, cancelled=1, answered=1
            )
        until(lambda: database.written("overdue"), "the page at its end")


@pytest.mark.parametrize("abandonment", ["ignore", "cancel"])
@ways
def test_watching_the_page_runs_to_its_end_and_is_metered(shop, database, mode, abandonment, how):
    """Also on the connection that the gateway has half-closed: the answer comes back on it."""
    mode("watch")
    key = f"metered-{abandonment}-{how}"
    with chain(shop, database, workers=1, abandonment=abandonment) as watched:
        counted, before = shop.state(), watched.snapshot()
        with watched.customer() as customer, database.holding(2):
            customer.send(f"/transact/{key}/", "POST")
            database.expect_begun(f"{key} before")
            leave(customer, how)
            shop.expect_counted(counted, disconnects=1)
            watched.has(in_service=1)
        after = shop.expect_counted(
            counted, disconnects=1, finished=1, interrupted=0, cancels_attempted=0
        )
        watched.expect_settled(before, arrived=1, dispatched=1, orphaned=1)
        assert watched.snapshot()["abandonment"]["finished"] == 1
    assert database.written(key) == [key, f"{key}, finished"]
    assert after["wasted_cpu_s"] > counted["wasted_cpu_s"]
    assert after["wasted_database_s"] > counted["wasted_database_s"]
    assert after["unanswered_database_s"] > counted["unanswered_database_s"]
    assert after["kept_cpu_s"] == counted["kept_cpu_s"]


def test_ignored_in_the_queue_all_that_it_costs_is_waste(shop, database, mode):
    """Who left while waiting: the shop is told as soon as it gets the request."""
    mode("watch")
    with chain(shop, database, workers=1, abandonment="ignore") as ignoring:
        counted, before = shop.state(), ignoring.snapshot()
        with ignoring.customer() as first, database.holding(2):
            with database.holding(4), ignoring.customer() as orphan:
                first.send("/write/first/", "POST")
                database.expect_begun("first waits")
                orphan.send("/transact/orphan/", "POST")
                ignoring.has(waiting=1)
                leave(orphan, "close")
                ignoring.has_customers(1)
                ignoring.has(in_service=1, waiting=1)
            assert answer(first) == (200, b"written")
            database.expect_begun("orphan before")
            shop.expect_counted(counted, disconnects=1)
        after = shop.expect_counted(counted, disconnects=1, finished=1)
        ignoring.expect_settled(
            before, arrived=2, dispatched=2, abandoned_waiting=1, orphaned=1, answered=1
        )
    assert database.written("orphan") == ["orphan", "orphan, finished"]
    assert after["wasted_database_s"] > counted["wasted_database_s"]
