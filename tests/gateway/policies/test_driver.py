"""The rules that the driver holds for every policy, and the order in which it carries them out."""

import pytest

from gateway.policies.base import IgnoringPolicy
from gateway.policies.driver import REMEMBERED, Driver
from gateway.policies.interface import (
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

SAMPLE = LoadSample(1.0, 1, 1.0)


class Script(IgnoringPolicy):
    """A policy whose answers a test sets, by event."""

    name = "script"

    def __init__(self, **answers):
        self.answers = answers
        self.events = []

    def answer(self, event):
        self.events.append(event)
        return self.answers.pop(event, ())

    def arrival(self, time_s, request):
        return self.answer("arrival")

    def workers_free(self, time_s, free):
        return self.answer("workers_free")

    def completion(self, time_s, id, outcome):
        return self.answer("completion")

    def abandonment(self, time_s, id):
        return self.answer("abandonment")

    def load_sample(self, time_s, sample):
        return self.answer("load_sample")

    def withdraw(self, time_s, id):
        self.events.append("withdraw")

    def adopt(self, time_s, requests):
        self.events.append([request.id for request in requests])


class Host:
    """A host with two workers, and a list of the effects."""

    workers = 2

    def __init__(self):
        self.effects = []

    @property
    def free(self):
        return self.workers

    def start(self, now_s, id, item):
        self.effects.append(f"start {item}")
        self.workers -= 1

    def refuse(self, now_s, id, item, verdict):
        self.effects.append(f"refuse {item}: {verdict.reason}")

    def rejected(self, now_s, number):
        self.effects.append(f"{number} rejected")

    def cancel(self, now_s, id):
        self.effects.append(f"cancel {id}")

    def withdraw(self, now_s, id, item):
        self.effects.append(f"withdraw {item}")


def driven(**answers):
    """Return a driver: request 1 in service, 2 to 4 waiting, 4 without its customer, 5 ended."""
    host, policy = Host(), Script(workers_free=[Dispatch(1), Dispatch(5)])
    driver = Driver(policy, host, host, remembered=REMEMBERED)
    for id in (5, 1):
        driver.waiting[id] = f"r{id}"
    driver.offer(0.0)
    driver.completion(0.5, 5, Outcome.ANSWERED)
    host.workers += 1
    for id in (2, 3, 4):
        driver.arrival(1.0, Request(id, Page.HOME, 1.0), f"r{id}")
    driver.abandonment(1.5, 4, "ignore")
    host.effects.clear()
    policy.events.clear()
    policy.answers = answers
    return driver, host, policy


@pytest.mark.parametrize(
    ("event", "verdicts", "words"),
    [
        ("load_sample", [Dispatch(2)], "only workers_free may dispatch"),
        ("workers_free", [Dispatch(2), Dispatch(3)], "free=1 and returned 2"),
        ("workers_free", [Dispatch(77)], "no request 77 waits"),
        ("workers_free", [Dispatch(1)], "1 is in service already"),
        ("workers_free", [Dispatch(5)], "5 ended at 0.5 s"),
        ("load_sample", [Drop(1, "full")], "1 is in service already"),
        ("load_sample", [Reject(2, "", 1.0)], "gives no reason"),
        ("load_sample", [Cancel(2)], "its customer is still there"),
        ("load_sample", [Drop(2, "a"), Drop(2, "b")], "two verdicts on 2"),
    ],
)
def test_an_answer_that_breaks_a_rule_is_not_carried_out(event, verdicts, words):
    """The error names the policy and the rule, and no verdict of the answer has an effect."""
    good = [Drop(3, "full")] if event == "load_sample" else []
    driver, host, _ = driven(**{event: [*good, *verdicts]})
    with pytest.raises(BrokenPolicyError, match=f"^script: .*{words}"):
        driver.load_sample(2.0, SAMPLE)
    assert host.effects == []
    assert list(driver.waiting) == [2, 3, 4]


def test_verdicts_are_carried_out_in_order_and_rejections_charged_at_the_end():
    """A rejection takes no worker that was offered with it."""
    driver, host, _ = driven(workers_free=[Reject(2, "busy", 9.0), Dispatch(3), Cancel(4)])
    driver.load_sample(2.0, SAMPLE)
    assert host.effects == ["refuse r2: busy", "start r3", "withdraw r4", "1 rejected"]
    assert (list(driver.waiting), list(driver.in_service)) == ([], [1, 3])


def test_a_request_in_service_is_cancelled_and_stays_until_its_completion():
    """Its worker is free once the host reports the end."""
    driver, host, _ = driven(load_sample=[Cancel(1)])
    driver.load_sample(2.0, SAMPLE)
    assert host.effects == ["cancel 1"]
    assert driver.completion(2.5, 1, Outcome.CANCELLED) == "r1"
    assert not driver.in_service


@pytest.mark.parametrize(
    ("mode", "effects", "events"),
    [
        ("ignore", [], ["abandonment", "workers_free"]),
        ("drop-queued", ["withdraw r2"], ["abandonment", "withdraw", "workers_free"]),
        ("cancel", ["withdraw r2"], ["abandonment", "withdraw", "workers_free"]),
    ],
)
def test_a_customer_who_leaves_a_queue(mode, effects, events):
    """The policy receives the event once; the abandonment mode decides the request's fate."""
    driver, host, policy = driven()
    driver.abandonment(2.0, 2, mode)
    assert (host.effects, policy.events) == (effects, events)
    driver.abandonment(2.1, 2, "ignore")
    assert policy.events.count("abandonment") == 1


def test_a_customer_who_leaves_a_request_in_service():
    """Only the mode `cancel` stops it."""
    driver, host, _ = driven()
    driver.abandonment(2.0, 1, "drop-queued")
    assert host.effects == []
    driver.abandonment(2.1, 1, "cancel")
    assert host.effects == ["cancel 1"]
    driver.abandonment(2.2, 5, "cancel")
    assert host.effects == ["cancel 1"]


def test_a_switch_hands_over_who_waits_and_tells_who_has_left():
    """The new policy adopts all requests, then receives the abandonment of those
    without customers."""
    driver, host, _ = driven()
    new = Script(abandonment=[Cancel(4)], workers_free=[Dispatch(2)])
    driver.switch(2.0, new, [Request(id, Page.HOME, 1.0) for id in driver.waiting])
    assert new.events == [[2, 3, 4], "abandonment", "workers_free"]
    assert host.effects == ["withdraw r4", "start r2"]
