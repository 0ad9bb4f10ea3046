"""The dispatcher with real policies and a host that records its calls."""

import random

import pytest

from gateway.policies import POLICIES
from gateway.policies.base import IgnoringPolicy
from gateway.policies.interface import (
    PAGES,
    BrokenPolicyError,
    Cancel,
    Dispatch,
    Drop,
    LoadSample,
    Outcome,
    Page,
    Reject,
    Request,
)
from gateway.policies.registry import create
from gateway.queues.dispatcher import Dispatcher, RequestsNow


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


def test_workers_are_filled_and_the_rest_waits():
    driver, host = dispatcher(create("sq", {}))
    submit(driver, times=5)
    assert host.started == [1, 2]
    assert (driver.in_service, driver.waiting) == (2, 3)
    driver.finished(1, Outcome.ANSWERED)
    assert host.started == [1, 2, 3]


def test_a_full_queue_is_refused_and_counted():
    driver, host = dispatcher(create("sq", {"capacity": 1}), workers=1)
    submit(driver, times=3)
    assert host.refused == [(3, Drop)]
    counts = driver.counts()["Br-1"]
    assert (counts["arrived"], counts["dispatched"], counts["dropped"]) == (3, 1, 1)


def test_whoever_leaves_keeps_the_place_and_becomes_an_orphan():
    driver, host = dispatcher(create("sq", {}), workers=1)
    submit(driver, times=2)
    driver.client_left(2)
    driver.finished(1, Outcome.ANSWERED)
    assert host.started == [1, 2]
    driver.finished(2, Outcome.ORPHANED)
    counts = driver.counts()["Br-1"]
    assert (counts["abandoned_waiting"], counts["answered"], counts["orphaned"]) == (1, 1, 1)


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


@pytest.mark.parametrize("name", POLICIES)
def test_switching_loses_nobody(name):
    driver, host = dispatcher(create("sq", {"capacity": 1000}), workers=1)
    for page in PAGES:
        submit(driver, page, times=40)
    driver.switch(create(name, {}))
    assert driver.waiting == 8 * 40 - 1
    while driver.in_service:
        driver.finished(host.started[-1], Outcome.ANSWERED)
    assert sorted(host.started) == list(range(1, 321))
    assert host.refused == []


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


class Says(IgnoringPolicy):
    """A policy that answers the offer of workers for the newest request with a test's verdicts."""

    name = "says"

    def __init__(self, *answers, sampled=()):
        self.answers, self.sampled = answers, sampled

    def arrival(self, time_s, request):
        self.id = request.id
        return ()

    def workers_free(self, time_s, free):
        return [make(self.id) for make in self.answers]

    def adopt(self, time_s, requests):
        self.id = requests[-1].id

    def load_sample(self, time_s, sample):
        return [make(self.id) for make in self.sampled]

    def snapshot(self):
        return {}


def test_rejections_and_cancels_reach_the_host():
    driver, host = dispatcher(Says(lambda id: Reject(id, "busy", 30.0)))
    submit(driver)
    assert host.refused == [(1, Reject)]
    driver, host = dispatcher(Says(Dispatch, sampled=[Cancel]))
    submit(driver)
    driver.load_sample(LoadSample(1.0, 1, 1.0))
    assert (host.started, host.cancelled) == ([1], [1])


@pytest.mark.parametrize(
    "answers", [(Dispatch, Dispatch), (lambda id: Drop(id + 1, "x"),), (Cancel,)]
)
def test_forbidden_verdicts_are_named(answers):
    driver, _ = dispatcher(Says(*answers))
    with pytest.raises(BrokenPolicyError, match="says"):
        submit(driver)


def test_a_policy_cannot_use_more_workers_than_there_are():
    driver, _ = dispatcher(Says(Dispatch, lambda id: Dispatch(id - 1)), workers=1)
    with pytest.raises(BrokenPolicyError, match="free=1 and returned 2"):
        driver.take_over(RequestsNow([Request(id, Page.HOME, 0.0) for id in (1, 2)], [], set()))
