"""The rules that every registered policy keeps, whatever events it receives."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.policies import Abandonment, trace
from gateway.policies.interface import PAGES
from gateway.queues.dispatcher import Dispatcher
from lab.students.drive import WORKERS, Drive, rush
from simulator.scenario import SharedCpus
from tests.gateway.policies import trace_file
from tests.gateway.policies.combinations import COMBINATIONS, fresh
from tests.gateway.policies.simulated_trace import recorded

SESSIONS = 300
"""The sessions of a simulation: enough for full queues, customers who leave, rejections, quotas."""

FEW = SharedCpus(workers=3)
"""So few workers that some customers leave the queue under every policy, and some in service."""

NOBODY_WAITS_LONG = {"codel"}
"""Policies that serve customers or turn them away before their patience ends."""

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("arrival"), st.sampled_from(PAGES)),
        st.tuples(st.just("completion"), st.integers(0, WORKERS - 1)),
        st.tuples(st.just("abandonment"), st.integers(0, 400)),
        st.tuples(st.just("load_sample"), st.floats(0.0, 1.0)),
        st.tuples(st.just("withdraw"), st.integers(0, 400)),
        st.tuples(st.just("switch"), st.sampled_from(COMBINATIONS)),
    ),
    max_size=300,
)


@pytest.mark.parametrize("name", COMBINATIONS)
@settings(max_examples=60, deadline=None)
@given(events=EVENTS)
def test_rules_hold_in_every_history(name, events):
    drive = Drive(fresh(name))
    for kind, value in events:
        drive.event(kind, fresh(value) if kind == "switch" else value)
        drive.check()
        json.dumps(drive.policy.snapshot())


@pytest.mark.parametrize("name", COMBINATIONS)
def test_everybody_gets_a_verdict_in_the_end(name):
    drive = Drive(fresh(name))
    for kind, value in rush():
        drive.event(kind, value)
    drive.finish()
    assert not drive.waiting
    assert len(drive.verdicts) == drive.ids


class Notebook:
    """A gateway without connections, which does only what the dispatcher calls."""

    def start(self, id):
        pass

    def refuse(self, id, verdict):
        pass

    def cancel(self, id):
        pass

    def withdraw(self, id):
        pass


class TraceClock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


def driven_by_the_gateway(policy, events, abandonment):
    """Return the events and verdicts of `policy` when the gateway's dispatcher gets the same
    events."""
    clock, recorder = TraceClock(), trace.Recorded(policy)
    dispatcher = Dispatcher(
        recorder, workers=FEW.workers, clock_s=clock, host=Notebook(), abandonment=abandonment
    )
    for event in events:
        clock.now_s = event.time_s
        match event.name, event.told:
            case "arrival", (request,):
                dispatcher.submit(
                    request.id,
                    request.page,
                    session=request.session,
                    session_is_new=request.session_is_new,
                    attempt=request.attempt,
                )
            case "completion", (id, outcome):
                dispatcher.finished(id, outcome)
            case "abandonment", (id,):
                dispatcher.client_left(id)
            case "load_sample", (sample,):
                dispatcher.load_sample(sample)
            case "timer_due", ():
                dispatcher.tick()
            case name, _:
                assert name in ("workers_free", "withdraw"), "the dispatcher does so by itself"
    return recorder.events


@pytest.mark.parametrize("abandonment", get_args(Abandonment))
@pytest.mark.parametrize("name", COMBINATIONS)
def test_both_drivers_tell_the_same_and_get_the_same_verdicts(name, abandonment):
    simulated = recorded(fresh(name), SESSIONS, server=FEW, abandonment=abandonment)
    kinds = {event.name for event in simulated}
    leave = set() if name in NOBODY_WAITS_LONG else {"abandonment"}
    assert {"arrival", "workers_free", "completion", "load_sample"} | leave <= kinds
    assert driven_by_the_gateway(fresh(name), simulated, abandonment) == simulated


@pytest.mark.parametrize("abandonment", get_args(Abandonment))
def test_a_trace_holds_what_abandonment_does(abandonment):
    simulated = recorded(fresh("sq"), SESSIONS, server=FEW, abandonment=abandonment)
    withdrawn = any(event.name == "withdraw" for event in simulated)
    cancelled = any(event.name == "completion" and "cancelled" in event.told for event in simulated)
    assert (withdrawn, cancelled) == (abandonment != "ignore", abandonment == "cancel")


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_trace_read_back_gives_the_same_verdicts(name):
    simulated = recorded(fresh(name), SESSIONS)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.jsonl"
        trace_file.write(path, simulated)
        events = trace_file.read(path)
    assert events == simulated
    assert trace.replay(events, fresh(name)) == [event.verdicts for event in simulated]
