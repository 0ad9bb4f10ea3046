"""Recording, writing, reading and replaying the events and verdicts of a policy."""

import pytest

from gateway.policies import trace
from gateway.policies.interface import Cancel, Dispatch, Drop, LoadSample, Outcome, Page, Request
from gateway.policies.registry import create
from tests.gateway.policies import trace_file
from tests.gateway.policies.combinations import fresh
from tests.gateway.policies.simulated_trace import COMMITTED, FOLDER

FIRST = Request(1, Page.HOME, 0.1)
SECOND = Request(2, Page.CONFIRM, 0.2, "ümlaut\u2028", session_is_new=False, attempt=3)


def short_history():
    recorder = trace.Recorded(create("sq", {"capacity": 1}))
    recorder.adopt(0.0, [FIRST])
    recorder.arrival(0.2, SECOND)
    recorder.load_sample(0.25, LoadSample(1 / 3, 2, 0.25))
    recorder.workers_free(0.3, 1)
    recorder.completion(0.4, 1, Outcome.ORPHANED)
    recorder.arrival(0.5, Request(3, Page.SEARCH, 0.5))
    recorder.abandonment(0.6, 3)
    recorder.withdraw(0.6, 3)
    recorder.timer_due(0.7)
    return recorder


def test_a_recorded_policy_behaves_as_itself_and_everything_is_kept():
    recorder = short_history()
    assert recorder.name == "sq"
    assert recorder.waiting() == []
    assert recorder.snapshot()["queues"] == {"all": 0}
    assert recorder.next_timer_s() is None
    assert [(event.name, event.time_s, event.verdicts) for event in recorder.events] == [
        ("adopt", 0.0, ()),
        ("arrival", 0.2, (("drop", 2, "queue full (1)"),)),
        ("load_sample", 0.25, ()),
        ("workers_free", 0.3, (("dispatch", 1),)),
        ("completion", 0.4, ()),
        ("arrival", 0.5, ()),
        ("abandonment", 0.6, ()),
        ("withdraw", 0.6, ()),
        ("timer_due", 0.7, ()),
    ]


def test_a_trace_survives_its_file_to_the_last_digit(tmp_path):
    events = short_history().events
    trace_file.write(tmp_path / "trace.jsonl", events)
    assert trace_file.read(tmp_path / "trace.jsonl") == events
    assert len((tmp_path / "trace.jsonl").read_text().splitlines()) == len(events)


def test_a_replay_shows_where_another_policy_decides_otherwise():
    events = short_history().events
    assert trace.replay(events, create("sq", {"capacity": 1})) == [e.verdicts for e in events]
    roomier = trace.replay(events[:4], create("sq", {"capacity": 2}))
    assert roomier == [(), (), (), (("dispatch", 1),)]


def test_verdicts_of_different_kinds_differ():
    assert Dispatch(1) == Cancel(1)  # as tuples do, which is why traces keep the kind
    assert trace.said([Dispatch(1)]) != trace.said([Cancel(1)])
    assert trace.said([Drop(1, "full")]) == (("drop", 1, "full"),)


@pytest.mark.parametrize("name", COMMITTED)
def test_the_committed_traces_give_the_same_verdicts(name):
    events = trace_file.read(FOLDER / f"{name}.jsonl")
    verdicts = [event.verdicts for event in events]
    assert {kind for said in verdicts for kind, *_ in said} >= {"dispatch", "reject"}
    assert trace.replay(events, fresh(name)) == verdicts
