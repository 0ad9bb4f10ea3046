"""Many leave at once, or all the time: what they wanted stops, and nobody else is hit by it."""

import http.client
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.shop.sentry import project as bare
from tests.system.chain import WAYS, chain, fates, leave
from tests.waiting import until

pytestmark = pytest.mark.slow


IN_SERVICE, QUEUED = 30, 20
LATER_REQUESTS = 1000
FEW_WORKERS, LEAVING, STAYING, CANCELS = 4, 12, 4, 150


def mistakes(port, numbers):
    """Asks for these, one after the other, and answers what did not come as it should."""
    customer = http.client.HTTPConnection("127.0.0.1", port, timeout=bare.PATIENCE_S)
    wrong = []
    for i in numbers:
        path, said = ((f"/echo/{i}/", f"{i}"), (f"/short/{i}/", f"{i}"), ("/linger/", "1"))[i % 3]
        customer.request("GET", path)
        response = customer.getresponse()
        answer = response.read().decode()
        if (response.status, answer) != (200, said):
            wrong.append((path, response.status, answer))
    customer.close()
    return wrong


@pytest.fixture(scope="module")
def thirty_workers(shop, database):
    with chain(shop, database, workers=IN_SERVICE) as thirty:
        yield thirty


def test_all_leave_at_once_and_a_thousand_come_after_them(thirty_workers, shop, database):
    before, counted = thirty_workers.snapshot(), shop.state()
    customers = [thirty_workers.customer() for _ in range(IN_SERVICE + QUEUED)]
    for customer in customers[:IN_SERVICE]:
        customer.send("/sleep/thirty/")
    database.expect_begun("thirty", IN_SERVICE)
    for customer in customers[IN_SERVICE:]:
        customer.send("/sleep/twenty/")
    thirty_workers.has(in_service=IN_SERVICE, waiting=QUEUED)
    left_s = time.monotonic()
    # Who waits goes first: else a worker that becomes free early would be given to them.
    for number, customer in enumerate(reversed(customers)):
        leave(customer, WAYS[number % len(WAYS)])
    later = iter(range(LATER_REQUESTS))
    with ThreadPoolExecutor(IN_SERVICE) as pool:
        asking = [pool.submit(mistakes, thirty_workers.port, later) for _ in range(IN_SERVICE)]
        database.expect_gone("thirty")
        print(f"{IN_SERVICE} queries gone after {(time.monotonic() - left_s) * 1000:.1f} ms")
        wrong = [mistake for task in asking for mistake in task.result()]
    assert wrong == []
    thirty_workers.expect_settled(
        before,
        arrived=IN_SERVICE + QUEUED + LATER_REQUESTS,
        dispatched=IN_SERVICE + LATER_REQUESTS,
        abandoned_waiting=QUEUED,
        withdrawn=QUEUED,
        cancelled=IN_SERVICE,
        answered=LATER_REQUESTS,
    )
    assert thirty_workers.reached_shop("/sleep/twenty/") == 0
    shop.expect_counted(
        counted,
        disconnects=IN_SERVICE,
        interrupted=IN_SERVICE,
        cancels_attempted=IN_SERVICE,
        cancels_effective=IN_SERVICE,
        finished=0,
    )


def test_never_more_at_work_than_workers(shop, database):
    """Under load, with customers who come and leave all the time, and some who stay.

    Those who leave want a lock that they never get, in a transaction. Who wants it is counted by
    the database in one moment, unlike its list of activities: that is read one after the other.
    """
    over = threading.Event()
    at_work = 0

    def come_and_leave(number):
        rng = random.Random(number)
        while not over.is_set():
            with few.customer() as customer:
                customer.send(f"/transact/churn-{number}/", "POST")
                over.wait(rng.uniform(0, 0.1))
                leave(customer, rng.choice(WAYS))

    def numbers():
        i = 0
        while not over.is_set():
            yield i
            i += 1

    with (
        chain(shop, database, workers=FEW_WORKERS) as few,
        ThreadPoolExecutor(LEAVING + STAYING) as pool,
        database.holding(2),
    ):
        tasks = [pool.submit(come_and_leave, number) for number in range(LEAVING)]
        staying = [pool.submit(mistakes, few.port, numbers()) for _ in range(STAYING)]

        def is_enough():
            nonlocal at_work
            now = database.locked(2) - 1
            assert now <= FEW_WORKERS
            at_work = max(at_work, now)
            had = fates(few.snapshot())
            return had["cancelled"] >= CANCELS and had["answered"] > 0 and at_work == FEW_WORKERS

        try:
            until(is_enough, f"{CANCELS} cancels")
        finally:
            over.set()
        for task in tasks:
            task.result()
        assert [task.result() for task in staying] == [[]] * STAYING
        snapshot = few.adds_up()
    assert fates(snapshot)["withdrawn"] > 0
    assert fates(snapshot)["failed"] == 0
    assert snapshot["abandonment"]["overdue"] == 0
    assert database.written("churn") == []
