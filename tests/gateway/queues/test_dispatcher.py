"""The dispatcher with real policies and a host that records its calls."""

import random

from gateway.policies.interface import (
    PAGES,
    LoadSample,
    Outcome,
    Page,
)
from gateway.policies.registry import create
from gateway.queues.dispatcher import Dispatcher


class Notebook:
    """A host that records its calls; `on_start` lets a test call back from within a callback."""

    def __init__(self):
        self.started, self.refused, self.cancelled, self.withdrawn = [], [], [], []
        self.on_start = lambda id: None

    def start(self, id):
        self.started.append(id)
        self.on_start(id)

    def refuse(self, id, verdict):
        self.refused.append((id, type(verdict)))

    def cancel(self, id):
        self.cancelled.append(id)

    def withdraw(self, id):
        self.withdrawn.append(id)


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


def dispatcher(policy, workers=2):
    host = Notebook()
    return Dispatcher(policy, workers=workers, clock_s=Clock(), host=host), host


def submit(driver, page=Page.HOME, times=1):
    ids = [driver.new_id() for _ in range(times)]
    for id in ids:
        driver.submit(id, page, session=None, session_is_new=True, attempt=1)
    return ids


def test_leaving_after_the_end_is_harmless():
    driver, _ = dispatcher(create("sq", {}), workers=1)
    submit(driver)
    driver.finished(1, Outcome.ANSWERED)
    driver.client_left(1)
    assert driver.counts()["Br-1"]["abandoned_waiting"] == 0


def test_a_host_that_fails_at_once_is_handled_after_the_event():
    driver, host = dispatcher(create("sq", {}), workers=1)
    host.on_start = lambda id: driver.finished(id, Outcome.FAILED)
    submit(driver, times=3)
    assert host.started == [1, 2, 3]
    assert driver.counts()["Br-1"]["failed"] == 3
    assert driver.in_service == 0


def test_a_switch_tells_the_new_policy_who_has_left():
    driver, host = dispatcher(create("sq", {}), workers=1)
    submit(driver, times=4)
    driver.client_left(2)
    driver.client_left(4)
    driver.switch(create("door-lifo", {}))  # takes them out of its line
    assert host.withdrawn == [2, 4]
    assert (driver.waiting, driver.counts()["Br-1"]["withdrawn"]) == (1, 2)
    driver.finished(1, Outcome.ANSWERED)
    assert host.started == [1, 3]


def test_a_customer_who_leaves_twice_is_told_of_once():
    driver, host = dispatcher(create("sq", {}), workers=1)
    submit(driver, times=2)
    driver.client_left(2)
    driver.client_left(2, "drop-queued")
    assert host.withdrawn == [2]
    assert driver.counts()["Br-1"]["abandoned_waiting"] == 1


def test_a_dispatcher_takes_over_whom_another_has():
    driver, _ = dispatcher(create("sq", {}), workers=1)
    submit(driver, times=4)
    driver.client_left(3)
    other, host = dispatcher(create("door-lifo", {}), workers=2)
    other.take_over(driver.requests_now())
    assert host.started == [4]  # 1 is in service already
    assert host.withdrawn == [3]
    other.finished(1, Outcome.ANSWERED)
    assert host.started == [4, 2]
    assert driver.waiting == 3


def test_counts_add_up_in_a_random_history():
    rng = random.Random(3)
    driver, host = dispatcher(create("8q-lifo-pri", {}), workers=5)
    in_service = set()
    host.on_start = in_service.add
    for _ in range(5000):
        if rng.random() < 0.6:
            submit(driver, rng.choice(PAGES))
        elif in_service:
            driver.finished(in_service.pop(), rng.choice([Outcome.ANSWERED, Outcome.ORPHANED]))
        if rng.random() < 0.05:
            driver.load_sample(LoadSample(rng.random(), 5, 1.0))
    totals = {
        fate: sum(row[fate] for row in driver.counts().values())
        for fate in ("arrived", "dispatched", "dropped", "answered", "orphaned")
    }
    assert totals["arrived"] == totals["dispatched"] + totals["dropped"] + driver.waiting
    assert totals["dispatched"] == totals["answered"] + totals["orphaned"] + driver.in_service
    assert driver.snapshot()["waiting"] == sum(driver.snapshot()["waiting_by_page"].values())
