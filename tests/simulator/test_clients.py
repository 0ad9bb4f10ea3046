"""The closed loop: clients who come back whatever happens, and files outside the policy."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.policies import registry
from gateway.policies.interface import PAGES
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt
from loadgen.workload.clients import ClientModel, Clients
from loadgen.workload.refusals import SessionModelError
from loadgen.workload.sessions import MEAN_EXECUTION_S
from simulator.result import SessionFate, Simulated
from simulator.scenario import FifoServer, FileClass, Scenario, ScenarioError, SharedCpus
from simulator.simulation import simulate
from tests.simulator.scenes import Diary

ONE_SECOND = {**dict.fromkeys(PAGES, 1.0), "file": 1.0}


class Scripted(Clients):
    """Clients with given requests, one list for each client; half of them are control.

    The pages, pauses and patience follow from the number of the request; the last of each list
    holds for all later requests. `reloads` is the number of repetitions of each.
    """

    __slots__ = ("away", "pages", "patience", "pauses", "times_reloaded")

    def __init__(self, pauses, patience=None, pages=None, *, reloads=0, away_s=0.0):
        super().__init__(ClientModel(per_set=len(pauses) // 2), 1)
        self.pauses = pauses
        self.patience = patience or [[math.inf]] * len(pauses)
        self.pages = pages or [["Br-1"]] * len(pauses)
        self.times_reloaded = reloads
        self.away = away_s

    def page(self, client, step):
        return _or_last(self.pages[client], step)

    def think_time_s(self, client, step):
        return _or_last(self.pauses[client], step)

    def patience_s(self, client, step, attempt):
        return _or_last(self.patience[client], step)

    def reloads(self, client, step, attempt):
        return attempt <= self.times_reloaded

    def away_s(self, client, step):
        return self.away


def _or_last(values, place):
    return values[min(place, len(values) - 1)]


NOT = [math.inf]
"""The pauses of a client that does nothing, and the patience of one that stays."""


def server(workers: int = 1, **described: object) -> SharedCpus:
    """Return a server of `workers` requests at a time on as many CPUs, each one second."""
    return SharedCpus(
        **{
            "workers": workers,
            "cpus": workers,
            "mean_execution_s": ONE_SECOND,
            "busy_ratio": 1.0,
            "spread_ratio": 0.0,
            **described,
        }
    )


def play(
    clients: Clients, policy=None, described=None, *, until_s=10.0, **scenario: object
) -> tuple[Simulated, list[Attempt]]:
    log = AttemptLog()
    simulated = simulate(
        Scenario(
            clients,
            policy or Diary(),
            described or server(),
            1,
            **{"arrivals_until_s": until_s, **scenario},
        ),
        log=log,
    )
    rows = map(Attempt._make, zip(*log.columns_since(0), strict=True))
    return simulated, sorted(rows, key=lambda row: row[:4])


def told(rows: list[Attempt], client: int) -> list[tuple[object, ...]]:
    """Return (step, attempt, sent, ended, outcome) of a client's attempts."""
    return [
        (row.step, row.attempt, row.started_s, row.finished_s, row.outcome)
        for row in rows
        if row.session == client
    ]


# ---- what a client does ------------------------------------------------------------------------


def test_a_client_thinks_and_asks_until_the_time_is_up():
    """First at 0.5 s; an answer takes 1 s, thinking 2 s; at 6.5 s nothing is begun."""
    simulated, rows = play(Scripted([[0.5, 2.0], NOT]), until_s=6.5)
    assert told(rows, 0) == [(0, 1, 0.5, 1.5, "completed"), (1, 1, 3.5, 4.5, "completed")]
    assert simulated.end_s == 4.5
    assert simulated.requests == 2


def test_what_is_under_way_when_the_time_is_up_is_waited_for():
    simulated, rows = play(Scripted([[0.5, 2.0], NOT]), until_s=3.75)
    assert told(rows, 0)[-1] == (1, 1, 3.5, 4.5, "completed")
    assert simulated.end_s == 4.5


def test_who_leaves_reloads_at_once_or_goes_away_and_thinks_of_the_next_page():
    """Leaves at 0.75 and 1.25 s, is away for 3 s and thinks for 2 s."""
    clients = Scripted([NOT, [0.25, 2.0]], [NOT, [0.5]], reloads=1, away_s=3.0)
    simulated, rows = play(clients, until_s=7.0)
    assert told(rows, 1) == [
        (0, 1, 0.25, 0.75, "timed_out"),
        (0, 2, 0.75, 1.25, "timed_out"),
        (1, 1, 6.25, 6.75, "timed_out"),
        (1, 2, 6.75, 7.25, "timed_out"),
    ]
    assert {row.patience_s for row in rows} == {0.5}
    assert simulated.attempts["timed_out"] == 4
    # Orphans, one after the other: 0.25 to 2.25 s and 6.25 to 8.25 s.
    assert simulated.end_s == 8.25
    assert simulated.busy_s == pytest.approx(4.0)
    assert simulated.unanswered_busy_s == pytest.approx(2 * 0.5)
    assert simulated.wasted_busy_s == pytest.approx(2 * (0.5 + 1.0))
    assert simulated.disconnects == 4


def test_a_reload_when_the_time_is_up_is_not_begun():
    clients = Scripted([NOT, [0.25, 2.0]], [NOT, [0.5]], reloads=1)
    _, rows = play(clients, until_s=0.75)
    assert told(rows, 1) == [(0, 1, 0.25, 0.75, "timed_out")]


def test_who_is_dropped_asks_for_the_next_page_after_thinking():
    """The worker and the only place in the queue are taken when the third client comes."""
    clients = Scripted([[0.0, 9.0], [0.25, 9.0], [0.5, 2.0], NOT])
    simulated, rows = play(clients, registry.create("sq", {"capacity": 1}), until_s=5.0)
    assert told(rows, 2) == [(0, 1, 0.5, 0.5, "dropped"), (1, 1, 2.5, 3.5, "completed")]
    assert simulated.attempts["dropped"] == simulated.counts["Br-1"]["dropped"] == 1


def test_a_client_is_a_session_that_is_never_over():
    simulated, _ = play(Scripted([[0.5, 2.0], [0.25, 9.0], NOT, [4.0, 9.0]]), until_s=6.0)
    sessions = simulated.sessions
    assert list(sessions.arrived_s) == [0.5, 0.25, math.inf, 4.0]
    assert list(sessions.kind) == [0, 0, 1, 1]
    assert list(sessions.completed) == [2, 1, 0, 1]
    assert list(sessions.length) == [0, 0, 0, 0]
    assert np.isnan(sessions.ended_s).all()
    assert sessions.fate.count(SessionFate.UNFINISHED) == 4


def test_it_can_be_cut():
    simulated, rows = play(Scripted([[0.5, 2.0], NOT]), until_s=None, stop_s=4.0)
    assert told(rows, 0) == [(0, 1, 0.5, 1.5, "completed")]
    assert (simulated.end_s, simulated.requests, simulated.busy_s) == (4.0, 2, 1.5)


def test_a_client_has_no_cookie_before_its_first_page():
    """Br-1 is left twice, a file received, Br-1 left twice again: a new name each time."""
    policy = Diary()
    clients = Scripted([NOT, [0.0, 2.0]], [NOT, [1.0]], [NOT, ["Br-1", "file", "Br-1"]], reloads=1)
    play(clients, policy, server(mean_execution_s={**ONE_SECOND, "Br-1": 1.5}), until_s=8.5)
    assert [(r.arrived_s, r.session, r.session_is_new, r.attempt) for r in policy.requests] == [
        (0.0, "1", True, 1),
        (1.0, "1.0.2", True, 2),
        (7.0, "1.1.1", True, 1),
        (8.0, "1.2.2", True, 2),
    ]


def test_a_client_is_known_by_its_first_page():
    policy = Diary()
    play(Scripted([[0.0, 1.0], NOT]), policy, until_s=3.0)
    assert [(r.session, r.session_is_new) for r in policy.requests] == [("0", True), ("0", False)]


# ---- files -------------------------------------------------------------------------------------


def test_files_pass_the_policy_by_and_take_no_worker():
    """The only worker has client 0's page for a second; the file is served meanwhile."""
    policy = Diary()
    clients = Scripted([[0.0, 9.0], [0.25, 9.0]], pages=[["Br-1"], ["file"]])
    simulated, rows = play(clients, policy, server(cpus=2), until_s=5.0)
    assert told(rows, 0) == [(0, 1, 0.0, 1.0, "completed")]
    assert told(rows, 1) == [(0, 1, 0.25, 1.25, "completed")]
    assert [row.page for row in rows] == ["Br-1", "file"]
    assert [(time_s, what) for time_s, what, _ in policy.told] == [
        (0.0, "arrival"),
        (0.0, "workers_free"),
        (1.0, "answered"),
    ]
    assert simulated.counts["other"]["answered"] == simulated.counts["Br-1"]["answered"] == 1
    assert simulated.attempts["completed"] == 2
    assert "other" not in simulated.served


def test_files_and_pages_share_the_cpus():
    clients = Scripted([[0.0, 9.0], [0.0, 9.0]], pages=[["Br-1"], ["file"]])
    simulated, rows = play(clients, until_s=5.0)
    assert [row.finished_s for row in rows] == pytest.approx([2.0, 2.0])
    assert simulated.busy_s == pytest.approx(2.0)


def test_files_are_served_four_at_a_time_first_come_first_served():
    clients = Scripted([[0.125 * i, 9.0] for i in range(6)], pages=[["file"]] * 6)
    simulated, rows = play(clients, described=server(cpus=8), until_s=5.0)
    assert [row.finished_s for row in rows] == pytest.approx([1.0, 1.125, 1.25, 1.375, 2.0, 2.125])
    assert simulated.samples["in_service"] == simulated.samples["waiting"] == [0, 0, 0]
    assert simulated.samples["arrived_total"] == [0, 0, 0]  # of the eight pages


def test_a_file_that_finds_no_place_is_dropped():
    many = 2 * 131  # 4 in service, 256 in the queue
    clients = Scripted([[0.0, 900.0]] * many, pages=[["file"]] * many)
    simulated, rows = play(clients, until_s=5.0)
    assert Counter(row.outcome for row in rows) == {"completed": 260, "dropped": 2}
    assert [row.session for row in rows if row.outcome == "dropped"] == [260, 261]
    assert simulated.counts["other"]["dropped"] == 2


@pytest.mark.parametrize(
    ("abandonment", "counts", "busy_s", "wasted_s"),
    [
        ("ignore", {"orphaned": 2, "withdrawn": 0, "cancelled": 0}, 5.0, 0.5 + 1.0),
        ("drop-queued", {"orphaned": 1, "withdrawn": 1, "cancelled": 0}, 4.0, 0.5),
        ("cancel", {"orphaned": 0, "withdrawn": 1, "cancelled": 1}, 3.5, 0.0),
    ],
)
def test_who_leaves_a_file_is_treated_as_who_leaves_a_page(abandonment, counts, busy_s, wasted_s):
    """Client 3 leaves its file in service after 0.5 s, client 4 in the queue after 0.25 s."""
    clients = Scripted(
        [[0.0, 9.0]] * 5 + [NOT], [NOT, NOT, NOT, [0.5], [0.25], NOT], [["file"]] * 6
    )
    simulated, _ = play(clients, described=server(cpus=8), until_s=5.0, abandonment=abandonment)
    other = simulated.counts["other"]
    assert {fate: other[fate] for fate in counts} == counts
    assert other["abandoned_waiting"] == 1
    assert simulated.busy_s == pytest.approx(busy_s)
    assert simulated.wasted_busy_s == pytest.approx(wasted_s)
    assert simulated.unanswered_busy_s == pytest.approx(0.5)


def test_load_samples_have_files_in_service_too():
    told_to = []

    class Sampled(Diary):
        def load_sample(self, time_s, sample):
            told_to.append((sample.cpu_utilisation_ratio, sample.busy_workers))
            return ()

    clients = Scripted([[0.5, 9.0], [0.5, 9.0]], pages=[["Br-1"], ["file"]])
    simulated, _ = play(clients, Sampled(), until_s=5.0)
    assert told_to == [(0.5, 2), (1.0, 2)]
    assert simulated.samples["in_service"] == [1, 1, 0]


# ---- many of them ------------------------------------------------------------------------------


@st.composite
def loops(draw):
    """Draw small closed loops of every kind."""
    model = ClientModel(
        per_set=draw(st.integers(1, 8)),
        patience_max_s=draw(st.sampled_from([0.5, 3.0, 1000.0])),
        think_time_mean_s=draw(st.sampled_from([0.5, 2.0])),
        reload_probability=draw(st.sampled_from([0.0, 0.75, 1.0])),
        away_mean_s=draw(st.sampled_from([0.0, 5.0])),
    )
    policy = draw(
        st.sampled_from(
            [
                ("sq", {"capacity": 3}, "none"),
                ("always-lifo", {"capacity": 2}, "sbac-responsive"),
                ("8q-lifo-pri", {"browsing_capacity": 2, "transaction_capacity": 1}, "none"),
            ]
        )
    )
    return Scenario(
        customers=Clients(model, draw(st.integers(0, 1000))),
        policy=registry.create(*policy),
        server=SharedCpus(
            workers=draw(st.integers(1, 5)),
            cpus=draw(st.integers(1, 2)),
            mean_execution_s={**MEAN_EXECUTION_S, "file": 0.1},
            busy_ratio=draw(st.sampled_from([0.5, 1.0])),
            spread_ratio=0.0,
        ),
        seed=1,
        arrivals_until_s=30.0,
        stop_s=draw(st.sampled_from([None, None, 20.0])),
        abandonment=draw(st.sampled_from(["ignore", "drop-queued", "cancel"])),
    )


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(loops())
def test_every_attempt_has_one_fate_and_follows_on_the_one_before(scenario):
    log = AttemptLog()
    simulated = simulate(scenario, log=log)
    rows = sorted(
        map(Attempt._make, zip(*log.columns_since(0), strict=True)), key=lambda row: row[:4]
    )
    clients, server_ = scenario.customers, scenario.server
    is_cut = scenario.stop_s is not None

    counts = Counter()
    for page in (*PAGES, "other"):
        fates = simulated.counts[page]
        settled = sum(fates[fate] for fate in ("dispatched", "dropped", "rejected", "withdrawn"))
        ended = sum(fates[fate] for fate in ("answered", "orphaned", "cancelled"))
        assert is_cut or (settled, ended) == (fates["arrived"], fates["dispatched"])
        if scenario.abandonment == "ignore":
            assert fates["withdrawn"] == fates["cancelled"] == 0
        else:
            assert fates["withdrawn"] == fates["abandoned_waiting"]
        counts.update(fates)
    assert counts["arrived"] == simulated.requests
    assert is_cut or len(rows) == simulated.requests
    assert (
        simulated.attempts.items()
        <= {**dict.fromkeys(simulated.attempts, 0), **Counter(row.outcome for row in rows)}.items()
    )
    assert sum(simulated.sessions.completed) == counts["answered"]
    assert simulated.sessions.fate.count(SessionFate.UNFINISHED) == clients.count

    # Each client: turns as its model says, with nothing left out.
    for client in range(clients.count):
        turn = clients.first(client)
        ended_s = 0.0
        for row in (row for row in rows if row.session == client):
            assert (row.step, row.attempt) == (turn.step, turn.attempt)
            assert row.page == clients.page(client, row.step)
            assert row.started_s == row.intended_s == pytest.approx(ended_s + turn.pause_s)
            assert row.patience_s == clients.patience_s(client, row.step, row.attempt)
            assert row.started_s < scenario.arrivals_until_s
            left = row.outcome == "timed_out"
            if left:
                assert row.finished_s == pytest.approx(row.started_s + row.patience_s)
                assert clients.set_of(client) == "test"
            ended_s = row.finished_s
            turn = clients.after(client, row.step, row.attempt, left)
        assert is_cut or ended_s + turn.pause_s >= scenario.arrivals_until_s

    # Server time: a page has a fixed one here.
    if not is_cut:
        execution_s = {**server_.mean_execution_s, "other": server_.mean_execution_s["file"]}

        def spent_s(fate):
            return server_.busy_ratio * sum(
                execution_s[page] * fates[fate] for page, fates in simulated.counts.items()
            )

        lost_s = simulated.wasted_busy_s + simulated.unanswered_busy_s
        assert simulated.busy_s == pytest.approx(spent_s("answered") + lost_s)
        if scenario.abandonment == "cancel":
            assert simulated.wasted_busy_s == 0
        else:
            assert lost_s == pytest.approx(spent_s("orphaned"))


def sentry(abandonment, seed=1, **model):
    """Return the Connection Sentry's clients at a server that they overload."""
    execution_s = {**MEAN_EXECUTION_S, "Br-3": 2.0, "Br-4": 1.0, "file": 0.02}
    return Scenario(
        Clients(ClientModel(**model), seed),
        registry.create("sq", {}),
        SharedCpus(mean_execution_s=execution_s),
        seed,
        arrivals_until_s=600.0,
        abandonment=abandonment,
    )


def answered_to_control(scenario):
    sessions = simulate(scenario).sessions
    return int(np.asarray(sessions.completed)[np.asarray(sessions.kind) == 0].sum())


def test_two_runs_of_a_comparison_meet_the_same_clients():
    patience = {}
    for abandonment in ("ignore", "cancel"):
        log = AttemptLog()
        simulate(sentry(abandonment), log=log)
        rows = map(Attempt._make, zip(*log.columns_since(0), strict=True))
        patience[abandonment] = {row[:4]: row.patience_s for row in rows}
    both = patience["ignore"].keys() & patience["cancel"].keys()
    assert len(both) > 500
    assert all(patience["ignore"][row] == patience["cancel"][row] for row in both)


def test_the_sentry_helps_the_control_set_the_more_the_less_patient_the_others_are():
    gains = [
        answered_to_control(sentry("cancel", patience_max_s=patience_s))
        / answered_to_control(sentry("ignore", patience_max_s=patience_s))
        for patience_s in (7.5, 15.0)
    ]
    assert gains[0] > gains[1] > 1


# ---- what cannot be ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("sessions", {"sessions": 10}),
        ("arrivals_until_s", {"arrivals_until_s": None}),
        ("server", {"server": FifoServer()}),
        ("mean_execution_s", {"server": SharedCpus()}),
    ],
)
def test_closed_loops_that_cannot_be(field, changes):
    values = {"server": server(), "arrivals_until_s": 10.0, **changes}
    with pytest.raises(ScenarioError) as refused:
        Scenario(Clients(ClientModel(), 1), registry.create("sq", {}), seed=1, **values)
    assert refused.value.field == field
    assert "\n" not in str(refused.value)


def test_a_loop_of_too_many_pages_is_refused():
    with pytest.raises(SessionModelError) as refused:
        play(Clients(ClientModel(think_time_mean_s=0.001), 1), until_s=1000.0)
    assert refused.value.field == "duration_s"


def test_who_asks_for_no_files_needs_no_time_for_them():
    clients = Clients(ClientModel(per_set=2, mix={"home": 1}), 1)
    fixed = FifoServer(capacity_rps=10.0, file_classes=(FileClass(1.0, 1.0, 1.0),))
    for described in (SharedCpus(), fixed):
        simulated, _ = play(clients, registry.create("sq", {}), described)
        assert simulated.attempts["completed"] == simulated.requests > 0
        assert simulated.counts["other"]["arrived"] == 0
