"""One application by hand: its customers' actions, its connections, its threads."""

import math
from collections.abc import Sequence

import pytest

from gateway.policies.connection_admission import AcceptAll
from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import Schedule, Segment
from simulator.hosted_application import HostedApplication, HostedSession, Work
from simulator.hosting_result import HostedFate, Ledger
from simulator.hosting_scenario import AppScenario, Costs, PlatformScenario

COSTS = Costs(page_spread_ratio=0.0)


class Door(AcceptAll):
    """An admission that records connections and refuses new ones from `shut_s` on."""

    def __init__(self, shut_s: float = math.inf) -> None:
        self.came: list[str] = []
        self.shut_s = shut_s

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        self.came.append("resumed" if resumed else "new")
        return resumed or time_s < self.shut_s


class Bench:
    """An application whose processors and clock a test controls.

    Sessions have two interactions without a pause: the test decides when the second begins.
    """

    def __init__(self, *, door: Door | None = None, reconnects: int = 1, **platform: object):
        model = PartlyOpenModel(
            interactions_mean=2, interactions_most=2, images_mean=1, reconnects=reconnects
        )
        app = AppScenario(model, Schedule((Segment(1.0, 1.0),)))
        scenario = PlatformScenario(
            (app,), 1, provisioning="static", admission="none", costs=COSTS, **platform
        )
        self.door = door or Door()
        self.ledger = Ledger(1000)
        self.working: list[Work] = []
        self.called_back: list[tuple[float, HostedSession, int]] = []
        self.application = HostedApplication(
            app,
            scenario,
            1,
            self.door,
            self.ledger,
            lambda now_s, work: self.working.append(work),
            lambda time_s, session, attempt: self.called_back.append((time_s, session, attempt)),
        )
        self.page_s = COSTS.page_s(model, 10.0) * 1.1  # one image of a tenth

    def arrive(self, now_s: float, sessions: int = 1) -> None:
        for _ in range(sessions):
            self.application.arrived(now_s, 0)

    def done(self, now_s: float) -> Work:
        """Finish the work that was begun first."""
        work = self.working.pop(0)
        self.application.work_done(now_s, work)
        return work

    def call_back(self, now_s: float) -> None:
        """Call the first waiting session back at this time."""
        _, session, attempt = self.called_back.pop(0)
        self.application.called_back(now_s, session, attempt)

    def lose_patience(self, times: int = 1) -> list[float]:
        """End the patience of the sessions that have waited longest; return the times."""
        ended_s = [self.application.patience_ends[i][0] for i in range(times)]
        for end_s in ended_s:
            self.application.patience_ended(end_s)
        return ended_s

    def fates(self) -> dict[str, int]:
        return {str(fate): count for fate, count in self.ledger.sessions.items() if count}

    def busy_s(self) -> Sequence[float]:
        return [work.busy_s for work in self.working]


def test_a_new_connection_is_a_full_handshake_and_then_the_page():
    bench = Bench()
    bench.arrive(1.0)
    assert bench.busy_s() == [0.175]
    bench.done(2.0)
    assert bench.busy_s() == [pytest.approx(bench.page_s)]
    bench.done(3.0)
    assert bench.ledger.replies[3] == 2  # the page and its image
    assert list(bench.ledger.response_s) == [2.0]
    assert bench.door.came == ["new"]


def test_the_connection_is_kept_for_ten_idle_seconds():
    bench = Bench()
    bench.arrive(1.0)
    bench.done(2.0)
    bench.done(3.0)
    bench.call_back(13.0)
    assert bench.busy_s() == [pytest.approx(bench.page_s)]
    bench.done(13.5)
    assert bench.door.came == ["new"]
    assert bench.fates() == {"completed": 1}


def test_after_that_it_is_resumed():
    bench = Bench()
    bench.arrive(1.0)
    bench.done(2.0)
    bench.done(3.0)
    bench.call_back(13.1)
    assert bench.busy_s() == [pytest.approx(0.002 + bench.page_s)]
    assert bench.door.came == ["new", "resumed"]
    assert bench.ledger.connections_served == [1, 1]
    assert bench.ledger.connections_busy_s == pytest.approx(
        [0.175 + bench.page_s, 0.002 + bench.page_s]
    )


def test_who_is_refused_is_gone_and_costs_nothing():
    bench = Bench(door=Door(shut_s=0.0))
    bench.arrive(1.0)
    assert bench.working == []
    assert bench.fates() == {"refused": 1}
    assert bench.ledger.refused[1] == 1
    bench.lose_patience()
    assert bench.fates() == {"refused": 1}


def test_whom_the_handshake_takes_too_long_begins_anew():
    bench = Bench()
    bench.arrive(1.0)
    assert bench.lose_patience() == [11.0]
    assert bench.door.came == ["new", "new"]
    bench.done(12.0)  # in full, for nobody
    assert bench.ledger.wasted_busy_s == pytest.approx(0.175)
    assert bench.busy_s() == [0.175]  # the other handshake; no page follows on the first


def test_whom_the_page_takes_too_long_resumes_and_asks_for_it_again():
    bench = Bench()
    bench.arrive(1.0)
    bench.done(2.0)
    bench.lose_patience()
    assert bench.door.came == ["new", "resumed"]
    bench.done(12.0)
    assert bench.ledger.wasted_busy_s == pytest.approx(bench.page_s)
    assert sum(bench.ledger.replies) == 0
    bench.done(13.0)
    assert bench.ledger.replies[13] == 2
    assert list(bench.ledger.response_s) == [12.0]  # since it asked first


def test_a_reconnection_without_a_ticket_may_be_refused():
    bench = Bench(door=Door(shut_s=5.0))
    bench.arrive(1.0)
    bench.lose_patience()
    assert bench.fates() == {"refused": 1}


@pytest.mark.parametrize("reconnects", [0, 1, 3])
def test_it_reconnects_so_often_and_no_more(reconnects):
    bench = Bench(reconnects=reconnects)
    bench.arrive(1.0)
    for _ in range(reconnects):
        bench.lose_patience()
    assert bench.fates() == {}
    bench.lose_patience()
    assert bench.fates() == {"timed_out": 1}
    assert len(bench.door.came) == 1 + reconnects


def test_there_are_as_many_threads_as_it_says():
    bench = Bench(threads=2)
    bench.arrive(1.0, sessions=3)
    assert len(bench.working) == 2
    bench.done(2.0)  # its thread goes on with its page
    assert len(bench.working) == 2
    bench.done(2.5)
    assert [work.is_handshake for work in bench.working] == [False, False]
    bench.done(3.0)
    assert [work.is_handshake for work in bench.working] == [False, True]


def test_who_left_before_his_connection_was_taken_up_costs_nothing():
    bench = Bench(threads=1, reconnects=0)
    bench.arrive(1.0, sessions=2)
    bench.lose_patience(times=2)
    bench.done(12.0)
    assert bench.working == []
    assert bench.ledger.wasted_busy_s == pytest.approx(0.175)
    bench.arrive(13.0)
    assert len(bench.working) == 1  # the thread is free


def test_what_was_asked_over_an_open_connection_is_answered_to_nobody():
    bench = Bench(threads=1, reconnects=0)
    bench.arrive(1.0)
    bench.done(1.5)
    bench.done(2.0)
    bench.arrive(3.0)  # takes the thread
    bench.call_back(4.0)  # the first asks for its second page, and waits for a thread
    bench.lose_patience(times=3)  # its first page is long answered
    assert bench.fates() == {"timed_out": 2}
    bench.done(15.0)
    assert bench.busy_s() == [pytest.approx(bench.page_s)]
    bench.done(16.0)
    assert bench.ledger.wasted_busy_s == pytest.approx(0.175 + bench.page_s)


def test_a_full_backlog_leaves_a_syn_unanswered_which_comes_again_after_3_and_9_seconds():
    bench = Bench(threads=1, backlog=1)
    bench.arrive(1.0, sessions=3)
    assert len(bench.door.came) == 2  # the third was not seen
    assert [time_s for time_s, _, _ in bench.called_back] == [4.0]
    bench.call_back(4.0)
    assert [time_s for time_s, _, _ in bench.called_back] == [10.0]
    bench.done(9.0)
    bench.done(9.5)  # the second has the thread
    bench.called_back.sort(key=lambda entry: entry[0])
    bench.call_back(10.0)
    assert len(bench.door.came) == 3


def test_a_syn_that_its_client_has_given_up_does_not_come_again():
    bench = Bench(threads=1, backlog=0, reconnects=0)
    bench.arrive(1.0, sessions=2)
    bench.lose_patience(times=2)
    assert bench.fates() == {"timed_out": 2}
    bench.done(12.0)
    bench.call_back(12.5)
    assert bench.door.came == ["new"]
    assert bench.ledger.sessions[HostedFate.TIMED_OUT] == 2
