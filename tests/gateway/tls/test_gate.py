"""The gate before TLS handshakes: timers of its policy, switching, counting from many threads."""

import threading

import pytest

from gateway.clock import PaperClock
from gateway.policies import PolicyError
from gateway.tls.gate import COUNTS, ConnectionGate
from tests.gateway.fake_world import FakeLoop

EAC = {"k_apl_s": 2, "cto_s": 0.1, "ctn_s": 1, "processors": 1}


class Diary:
    """A policy that records its calls with their times; its timer is due every other second."""

    name = "none"
    requested = 2

    def __init__(self):
        self.told = []
        self.due_s = 0.0

    def connection(self, time_s, *, resumed):
        self.told.append(("resumed" if resumed else "new", time_s))
        return resumed

    def assigned(self, time_s, processors):
        self.told.append((processors, time_s))

    def timer_due(self, time_s):
        self.told.append(("timer", time_s))
        self.due_s = time_s + 2

    def next_timer_s(self):
        return self.due_s

    def snapshot(self):
        return {"told": len(self.told)}


@pytest.fixture
def loop():
    return FakeLoop()


@pytest.fixture
def clock(loop):
    return PaperClock(10, loop.time)


def diary_behind(loop, clock):
    gate = ConnectionGate(loop, clock)
    gate.admission = diary = Diary()
    return gate, diary


def times(diary):
    return [(what, round(time_s, 6)) for what, time_s in diary.told]


def test_timers_run_in_paper_time(loop, clock):
    gate, diary = diary_behind(loop, clock)
    gate.start()
    loop.advance(0.45)
    assert times(diary) == [("timer", 0), ("timer", 2), ("timer", 4)]
    clock.scale = 1
    gate.reschedule()
    loop.advance(1.6)
    assert times(diary)[3:] == [("timer", 6)]
    gate.stop()
    loop.advance(100)
    assert len(diary.told) == 4


def test_a_connection_after_the_interval_is_in_the_next_one_whoever_comes_first(loop, clock):
    """A thread may call when the timer is due and the loop has not handled it yet."""
    gate, diary = diary_behind(loop, clock)
    gate.start()
    loop.advance(0.1)
    loop.now_s += 0.15  # nothing runs meanwhile
    assert gate.connection(True)
    assert times(diary) == [("timer", 0), ("timer", 2.5), ("resumed", 2.5)]
    loop.advance(0.15)
    assert times(diary)[3:] == []
    loop.advance(0.1)
    assert times(diary)[3:] == [("timer", 4.5)]


def test_time_never_goes_back(loop, clock):
    gate, diary = diary_behind(loop, clock)
    diary.due_s = None
    loop.now_s += 1
    gate.connection(True)
    loop.now_s -= 0.5
    gate.connection(False)
    assert times(diary) == [("resumed", 10), ("new", 10)]


def test_a_new_policy_knows_the_processors_and_a_wrong_one_changes_nothing(loop, clock):
    gate = ConnectionGate(loop, clock, "eac", {**EAC, "processors": 0})
    gate.start()
    loop.run()
    gate.assigned(1.5)
    gate.replace("eac", {"cto_s": 0.2})
    now = gate.described()
    assert now["parameters"]["cto_s"] == 0.2
    assert now["snapshot"]["processors"] == 1.5
    with pytest.raises(PolicyError):
        gate.replace("eac", {"cto_s": "much"})
    assert gate.described()["parameters"] == now["parameters"]
    gate.replace("none", {})
    assert gate.described() == {"name": "none", "parameters": {}, "snapshot": {}}
    assert gate.processors_wanted is None


def test_without_a_load_monitor_all_processors_are_requested_at_once(loop, clock):
    gate = ConnectionGate(loop, clock, "eac", EAC, most_processors=4)
    told = []
    gate.requested_anew = lambda: told.append(gate.request_to_send)
    gate.start()
    loop.advance(0.01)
    gate.connection(False)
    loop.advance(0.2)
    assert told[-1] == 1
    gate.replace("eac", EAC)  # it does not know yet: what was asked for stays
    assert told[-1] is None
    gate.replace("none", {})
    assert told[-1] == 4


def test_a_wrong_policy_at_the_start_is_refused(loop, clock):
    with pytest.raises(PolicyError, match="no-such"):
        ConnectionGate(loop, clock, "no-such")


def test_what_is_refused_is_counted_and_what_a_processor_serves_is_let_in(loop, clock):
    gate = ConnectionGate(loop, clock, "eac", EAC)
    gate.start()
    loop.advance(0.01)
    assert all(gate.connection(False) for _ in range(10))
    loop.advance(0.2)  # the next interval: two seconds of a processor, one for each
    assert [gate.connection(False) for _ in range(4)] == [True, True, False, False]
    assert gate.connection(True)
    assert gate.processors_wanted == 5  # ten connections of a second each, in two seconds
    assert gate.counts() == dict.fromkeys(COUNTS, 0) | {
        "new": 14, "accepted_new": 12, "refused": 2, "resumed": 1, "under_way": 0,
    }  # fmt: skip


def test_many_threads_ask_at_once_and_each_is_counted(loop, clock):
    """The interval's 100 of 4,000 new connections get in, whichever threads call."""
    parameters = {"k_apl_s": 3600, "cto_s": 1, "ctn_s": 36, "processors": 1}
    gate = ConnectionGate(loop, clock, "eac", parameters)
    gate.start()
    loop.advance(0.01)
    loop.advance(360.0)  # after an interval without anybody
    accepted = []

    def ask():
        accepted.extend(gate.connection(n % 2 == 0) for n in range(1000))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counts = gate.counts()
    assert (counts["new"], counts["resumed"]) == (4000, 4000)
    assert counts["accepted_new"] == 100
    assert counts["refused"] == 3900
    assert accepted.count(True) == 4100
