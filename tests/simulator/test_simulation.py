"""The simulation: it is repeatable, counts honestly and drives a policy as the gateway does."""

import gc
import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.policies import registry
from gateway.policies.interface import (
    NOTHING,
    Cancel,
    Dispatch,
    LoadSample,
    Reject,
    Request,
    Verdicts,
)
from lab.engines.samples import SCHEMA, of_admission
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.load_schedule import Schedule, Segment
from loadgen.workload.sessions import PAGES, Chain, Customers, SessionLengths, SessionModel
from simulator.result import SessionFate
from simulator.scenario import FifoServer, FileClass, Scenario, SharedCpus
from simulator.simulation import BrokenPolicyError, simulate
from tests.simulator.scenes import (
    PATIENT,
    SINGLE_REQUESTS,
    Diary,
    lifo_pri,
    same,
    sbac,
    single_requests,
)

FIXED = SharedCpus(
    workers=1, mean_execution_s=dict.fromkeys(PAGES, 1.0), busy_ratio=1.0, spread_ratio=0.0
)
"""A server of one request at a time, one second each."""


class ArrivingAt(Customers):
    """Customers who arrive at given times; `patience` is by session."""

    __slots__ = ("patience", "times")

    def __init__(self, *times: float, **model: object) -> None:
        super().__init__(SessionModel(**{"chain": SINGLE_REQUESTS, **model}), 1, 1.0)
        self.times = times
        self.patience: dict[int, float] = {}

    same_patience_s = None  # it depends on the step

    def arrivals(self, until_s=math.inf, drawn=None):
        return (time_s for time_s in self.times if time_s < until_s)

    def patience_s(self, session: int, step: int, attempt: int) -> float:
        drawn_s = super().patience_s(session, step, attempt)
        return self.patience.get(session, drawn_s)


def run(policy, customers, server=FIXED, **scenario):
    return simulate(Scenario(customers, policy, server, 1, **{"sessions": 100, **scenario}))


# ---- the same again ----------------------------------------------------------------------------


@pytest.mark.parametrize("scene", [lifo_pri, sbac])
def test_the_same_scenario_gives_the_same_result(scene):
    assert same(simulate(scene(3)), simulate(scene(3)))
    assert not same(simulate(scene(3)), simulate(scene(4)))


@pytest.mark.parametrize("scene", [lifo_pri, sbac])
def test_a_log_changes_nothing(scene):
    assert same(simulate(scene(), log=AttemptLog()), simulate(scene()))


def test_two_policies_meet_the_same_customers():
    patience, results = {}, {}
    for policy in ("sq", "8q-lifo-pri"):
        log = AttemptLog()
        results[policy] = simulate(lifo_pri(policy=policy), log=log)
        patience[policy] = {
            (row["session"], row["step"], row["page"], row["attempt"]): row["patience_s"]
            for row in log.table().to_pylist()
            if row["attempt"]
        }
    one, other = results.values()
    assert np.array_equal(one.sessions.arrived_s, other.sessions.arrived_s)
    assert np.array_equal(one.sessions.length, other.sessions.length)
    both = patience["sq"].keys() & patience["8q-lifo-pri"].keys()
    assert len(both) > 500
    assert all(patience["sq"][attempt] == patience["8q-lifo-pri"][attempt] for attempt in both)
    assert patience["sq"].keys() != patience["8q-lifo-pri"].keys()


def test_an_attempt_needs_the_same_work_whoever_is_served_first():
    """FIFO and LIFO execute the same single requests: equal busy time, to rounding."""
    fifo, lifo = (
        simulate(
            single_requests(
                5,
                0.9,
                FifoServer(capacity_rps=1.0),
                policy=registry.create(name, {"capacity": 9999}),
            )
        )
        for name in ("always-fifo", "always-lifo")
    )
    assert not np.array_equal(fifo.sessions.ended_s, lifo.sessions.ended_s)
    assert fifo.busy_s == pytest.approx(lifo.busy_s, rel=1e-12)


# ---- counts ------------------------------------------------------------------------------------


def scenarios():
    """Draw small scenarios of every kind."""
    models = st.builds(
        SessionModel,
        timeout_s=st.sampled_from([0.0, 0.5, 2.0, math.inf]),
        think_timeout_mean_s=st.sampled_from([0.0, 1.0]),
        retry_probability=st.sampled_from([0.0, 0.4, 1.0]),
        max_retries=st.integers(0, 3),
        think_time_mean_s=st.sampled_from([0.0, 1.0]),
        lengths=st.sampled_from([None, SessionLengths("geometric", 4.0)]),
    )
    servers = st.one_of(
        st.builds(
            SharedCpus,
            workers=st.integers(1, 4),
            cpus=st.integers(1, 3),
            busy_ratio=st.sampled_from([0.5, 1.0]),
            slices=st.integers(1, 3),
        ),
        st.builds(
            FifoServer,
            capacity_rps=st.just(4.0),
            rejection=st.sampled_from(["ahead", "free"]),
            rejection_cost=st.sampled_from([0.0, 1.0, 2.5]),
        ),
    )
    policies = st.sampled_from(
        [
            ("sq", {"capacity": 3}, "none"),
            ("always-lifo", {"capacity": 2}, "sbac-responsive"),
            ("8q-lifo-pri", {"browsing_capacity": 2, "transaction_capacity": 1}, "none"),
        ]
    )
    return st.builds(
        lambda model, server, policy, seed, rho, **more: Scenario(
            customers=Customers(model, seed, model.session_rate(rho, 4.0)),
            policy=registry.create(*policy),
            server=server,
            seed=seed,
            sessions=60,
            **more,
        ),
        models,
        servers,
        policies,
        st.integers(0, 1000),
        st.sampled_from([0.5, 1.5, 4.0]),
        stop_s=st.sampled_from([None, 10.0]),
        abandonment=st.sampled_from(["ignore", "drop-queued", "cancel"]),
        session_known_from=st.sampled_from(["admission", "answer"]),
    )


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
def test_every_attempt_and_every_session_has_one_fate(scenario):
    log = AttemptLog()
    simulated = simulate(scenario, log=log)
    counts = Counter()
    for page in PAGES:
        counts.update(simulated.counts[page])
    attempts, sessions = simulated.attempts, simulated.sessions
    is_cut = scenario.stop_s is not None and simulated.end_s == scenario.stop_s

    # Requests, as the driver sees them.
    assert counts["arrived"] == simulated.requests
    leavers_taken_out = 0 if scenario.abandonment == "ignore" else counts["abandoned_waiting"]
    assert counts["withdrawn"] == leavers_taken_out
    settled = counts["dispatched"] + counts["dropped"] + counts["rejected"] + counts["withdrawn"]
    ended = counts["answered"] + counts["orphaned"] + counts["cancelled"]
    assert settled <= counts["arrived"]
    assert ended <= counts["dispatched"]
    if not is_cut:
        assert settled == counts["arrived"]
        assert ended == counts["dispatched"]
        assert sum(attempts.values()) == simulated.requests
    assert counts["failed"] == 0
    if scenario.abandonment != "cancel":
        assert counts["cancelled"] == 0
    assert sum(simulated.served.values()) == counts["answered"] + counts["orphaned"]

    # The same requests, as their customers see them.
    assert attempts["completed"] == counts["answered"]
    assert attempts["rejected"] == counts["rejected"]
    assert attempts["dropped"] == counts["dropped"]
    rows = Counter(log.columns_since(0)[8])
    assert {**dict.fromkeys(attempts, 0), **rows}.items() >= attempts.items()

    # Sessions.
    fates = {fate: sessions.fate.count(fate) for fate in SessionFate}
    assert sum(fates.values()) == len(sessions)
    assert (fates[SessionFate.UNFINISHED] > 0) <= is_cut
    fate, served, length = map(np.asarray, (sessions.fate, sessions.completed, sessions.length))
    completed = fate == SessionFate.COMPLETED
    assert np.array_equal(served[completed], length[completed])
    assert np.all(served[~completed] < length[~completed])
    assert served.sum() == attempts["completed"]
    if not is_cut:
        assert len(sessions) == 60
        assert (
            length.sum()
            == attempts["completed"]
            + rows["not_generated"]
            + len(sessions)
            - fates[SessionFate.COMPLETED]
        )
    ended_s, arrived_s = np.asarray(sessions.ended_s), np.asarray(sessions.arrived_s)
    over = ~np.isnan(ended_s)
    assert np.array_equal(over, fate != SessionFate.UNFINISHED)
    assert np.all(ended_s[over] >= arrived_s[over])

    # Server time.
    cpus = scenario.server.cpus if isinstance(scenario.server, SharedCpus) else 1
    assert simulated.busy_s <= simulated.end_s * cpus * (1 + 1e-9)
    assert 0 <= simulated.rejection_busy_s <= simulated.busy_s + 1e-9
    assert simulated.useful_busy_s + simulated.rejection_busy_s <= simulated.busy_s + 1e-9
    assert simulated.wasted_busy_s >= -1e-9
    assert simulated.unanswered_busy_s >= 0
    if scenario.abandonment == "cancel":
        assert simulated.wasted_busy_s == 0
        assert simulated.disconnects == simulated.cancelled == counts["cancelled"]
    elif not is_cut:
        assert simulated.disconnects == counts["orphaned"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios(), st.sampled_from([1.0, 0.7]))
def test_server_time_is_answered_wasted_unanswered_or_spent_on_rejections(scenario, busy_ratio):
    """Where every page has a fixed time, the times of answers and orphans are known beforehand."""
    fixed_s = {page: 0.1 * place for place, page in enumerate(PAGES, start=1)}
    if isinstance(scenario.server, SharedCpus):
        server = replace(
            scenario.server, mean_execution_s=fixed_s, spread_ratio=0.0, busy_ratio=busy_ratio
        )
        busy_s = {page: seconds * busy_ratio for page, seconds in fixed_s.items()}
    else:
        server = replace(scenario.server, file_classes=(FileClass(1.0, 1.0, 1.0),))
        busy_s = dict.fromkeys(PAGES, 1 / server.capacity_rps)
    simulated = simulate(replace(scenario, server=server, stop_s=None))

    def spent_s(fate: str) -> float:
        return sum(simulated.counts[page][fate] * busy_s[page] for page in PAGES)

    lost_s = simulated.wasted_busy_s + simulated.unanswered_busy_s
    answered_and_rejected_s = spent_s("answered") + simulated.rejection_busy_s
    assert simulated.busy_s == pytest.approx(answered_and_rejected_s + lost_s)
    if scenario.abandonment == "cancel":
        assert simulated.wasted_busy_s == 0
    else:
        assert lost_s == pytest.approx(spent_s("orphaned"))


def test_samples_have_the_columns_of_a_live_run():
    columns = [c for c in SCHEMA.names if c not in of_admission(None)]
    assert list(simulate(lifo_pri()).samples) == columns
    with_admission = simulate(sbac()).samples
    assert list(with_admission) == [*columns, "admission"]
    assert {"admits", "predicted_utilisation_ratio"} <= with_admission["admission"][0].keys()


def test_samples_add_up_to_the_result():
    simulated = simulate(lifo_pri(utilisation_interval_s=2.0))
    samples = simulated.samples
    assert samples["time_s"][:3] == [2.0, 4.0, 6.0]
    assert samples["time_s"][-1] == simulated.end_s
    for fate in ("arrived", "dropped", "answered", "orphaned"):
        assert samples[f"{fate}_total"][-1] == sum(c[fate] for c in simulated.counts.values())
    assert samples["confirms_total"][-1] == simulated.counts["Tr-4"]["answered"]
    lengths = np.diff([0.0, *samples["time_s"]])
    busy_s = float(np.dot(samples["cpu_utilisation_ratio"], lengths))
    assert busy_s == pytest.approx(simulated.busy_s)
    by_page = [samples[f"waiting_{page}"] for page in PAGES]
    assert np.array_equal(np.sum(by_page, axis=0), samples["waiting"])
    assert max(samples["waiting"]) > 0


# ---- driving the policy ------------------------------------------------------------------------


def test_a_policy_is_told_in_order():
    diary = Diary()
    run(diary, ArrivingAt(0.0, 0.25, 0.5, timeout_s=1.1, think_timeout_mean_s=0.0, max_retries=0))
    assert diary.told == [
        (0.0, "arrival", 1),
        (0.0, "workers_free", 1),
        (0.25, "arrival", 2),
        (0.5, "arrival", 3),
        (1.0, "answered", 1),
        (1.0, "workers_free", 1),
        (1.35, "abandonment", 2),
        (1.6, "abandonment", 3),
        (2.0, "orphaned", 2),
        (2.0, "workers_free", 1),
        (3.0, "orphaned", 3),
    ]


def test_an_answer_in_the_last_moment_is_in_time():
    simulated = run(
        Diary(), ArrivingAt(0.0, timeout_s=1.0, think_timeout_mean_s=0.0, max_retries=0)
    )
    assert simulated.attempts["completed"] == 1


def test_a_worker_is_offered_to_who_waits_before_the_next_customer_comes():
    diary = Diary()
    run(diary, ArrivingAt(0.0, 0.5, 1.0, **PATIENT))
    assert diary.told[3:6] == [
        (1.0, "answered", 1),
        (1.0, "workers_free", 1),
        (1.0, "arrival", 3),
    ]


HALF_BUSY = replace(FIXED, busy_ratio=0.5, slices=1)
"""Requests of 0.5 s of CPU, then 0.5 s of waiting."""

FIFO = FifoServer(capacity_rps=1.0, file_classes=(FileClass(1.0, 1.0, 1.0),))
"""A server of one request at a time, one second each."""


@pytest.mark.parametrize(
    ("server", "abandonment", "busy_s", "wasted_s", "unanswered_s", "disconnects"),
    [
        # The first leaves at 0.6 s in service; the second at 0.9 s in the queue.
        (FIXED, "ignore", 2.0, 0.4 + 1.0, 0.6, 2),
        (FIXED, "drop-queued", 1.0, 0.4, 0.6, 1),
        # The second gets the worker at 0.6 s, and leaves it at 0.9 s.
        (FIXED, "cancel", 0.9, 0.0, 0.6 + 0.3, 2),
        (FIFO, "ignore", 2.0, 0.4 + 1.0, 0.6, 2),
        (FIFO, "drop-queued", 1.0, 0.4, 0.6, 1),
        (FIFO, "cancel", 0.9, 0.0, 0.6 + 0.3, 2),
        # At 0.6 s the first has had all its CPU time and waits for its back end.
        (HALF_BUSY, "ignore", 1.0, 0.5, 0.5, 2),
        (HALF_BUSY, "drop-queued", 0.5, 0.0, 0.5, 1),
        (HALF_BUSY, "cancel", 0.8, 0.0, 0.5 + 0.3, 2),
    ],
)
def test_what_is_wasted_on_customers_who_left(
    server, abandonment, busy_s, wasted_s, unanswered_s, disconnects
):
    """Two customers, patience 0.6 s, arriving at 0 and 0.3 s; a request takes 1 s."""
    customers = ArrivingAt(0.0, 0.3, timeout_s=0.6, think_timeout_mean_s=0.0, max_retries=0)
    simulated = run(Diary(), customers, server, abandonment=abandonment)
    assert simulated.busy_s == pytest.approx(busy_s)
    assert simulated.wasted_busy_s == pytest.approx(wasted_s)
    assert simulated.unanswered_busy_s == pytest.approx(unanswered_s)
    assert simulated.disconnects == disconnects
    assert simulated.cancelled == (2 if abandonment == "cancel" else 0)
    assert simulated.counts["Br-1"]["withdrawn"] == (1 if abandonment == "drop-queued" else 0)


def test_two_who_share_a_cpu_waste_what_each_got_of_it():
    """Both run at half speed; the first leaves after 0.6 s, when each has had 0.3 s."""
    customers = ArrivingAt(0.0, 0.0, timeout_s=0.0, think_timeout_mean_s=1.0, max_retries=0)
    customers.patience = {0: 0.6, 1: math.inf}
    simulated = run(Diary(), customers, replace(FIXED, workers=2))
    assert simulated.busy_s == pytest.approx(2.0)
    assert simulated.unanswered_busy_s == pytest.approx(0.3)
    assert simulated.wasted_busy_s == pytest.approx(0.7)


def test_what_was_wasted_when_it_is_cut():
    """Two customers leave at 0.6 and 0.9 s; the second is dispatched at 1 s all the same."""
    customers = ArrivingAt(0.0, 0.3, timeout_s=0.6, think_timeout_mean_s=0.0, max_retries=0)
    cut_before, cut_after = (run(Diary(), customers, stop_s=stop_s) for stop_s in (0.8, 1.25))
    assert (cut_before.wasted_busy_s, cut_before.disconnects) == (pytest.approx(0.2), 1)
    assert (cut_after.wasted_busy_s, cut_after.disconnects) == (pytest.approx(0.65), 2)
    assert cut_before.unanswered_busy_s == cut_after.unanswered_busy_s == pytest.approx(0.6)


def test_a_worker_freed_by_a_cancel_is_offered_before_the_customer_tries_again():
    diary = Diary()
    customers = ArrivingAt(
        0.0, 0.5, timeout_s=0.6, think_timeout_mean_s=0.0, retry_probability=1.0, max_retries=1
    )
    run(diary, customers, abandonment="cancel")
    assert diary.told[3:8] == [
        (0.6, "abandonment", 1),
        (0.6, "cancelled", 1),
        (0.6, "workers_free", 1),
        (0.6, "arrival", 3),
        (1.1, "abandonment", 2),
    ]


@pytest.mark.parametrize("server", [FIXED, SharedCpus(), FifoServer(capacity_rps=4.0)])
def test_a_policy_may_cancel_what_is_in_service(server):
    class Canceller(Diary):
        def arrival(self, time_s: float, request: Request) -> Verdicts:
            super().arrival(time_s, request)
            return [Cancel(1)] if request.id == 2 else NOTHING

    policy = Canceller()
    simulated = run(policy, ArrivingAt(0.0, 0.01, **PATIENT), server=server)
    assert (0.01, "cancelled", 1) in policy.told
    assert simulated.attempts["failed"] == 1
    assert (simulated.disconnects, simulated.wasted_busy_s, simulated.cancelled) == (0, 0.0, 1)
    assert list(simulated.sessions.fate) == [SessionFate.FAILED, SessionFate.COMPLETED]
    assert simulated.served["Br-1"] == 1
    assert simulated.counts["Br-1"]["cancelled"] == 1


def test_a_policys_timer_is_kept():
    class Patient(Diary):
        """A policy that serves no request before its timer, two seconds after the first arrival."""

        due_s: float | None = None

        def workers_free(self, time_s: float, free: int) -> Verdicts:
            if self.due_s is None:
                self.due_s = time_s + 2.0
            return super().workers_free(time_s, free) if time_s >= self.due_s else NOTHING

        def next_timer_s(self) -> float | None:
            return None if not self.queue else self.due_s

        def timer_due(self, time_s: float) -> Verdicts:
            self.told.append((time_s, "timer_due"))
            return NOTHING

    policy = Patient()
    simulated = run(policy, ArrivingAt(0.5, **PATIENT))
    assert (2.5, "timer_due") in policy.told
    assert simulated.end_s == 3.5


def test_slices_are_no_events_of_the_policy():
    """A policy that holds a request back gets another offer at the next event, not in between."""

    class Reluctant(Diary):
        def workers_free(self, time_s: float, free: int) -> Verdicts:
            self.told.append((time_s, "workers_free", free))
            return [Dispatch(self.queue.pop(0))] if free == 2 else NOTHING

    policy = Reluctant()
    server = SharedCpus(
        workers=2, mean_execution_s=dict.fromkeys(PAGES, 1.0), spread_ratio=0.0, slices=4
    )
    run(policy, ArrivingAt(0.0, 0.5, **PATIENT), server, utilisation_interval_s=10.0)
    asked = [time_s for time_s, what, _ in policy.told if what == "workers_free"]
    assert asked == pytest.approx([0.0, 0.5, 1.0])


def test_rejections_delay_whoever_waits():
    """The second customer is rejected while the first is served: 1 s for that, then the third."""

    class Bouncer(Diary):
        def arrival(self, time_s: float, request: Request) -> Verdicts:
            super().arrival(time_s, request)
            if request.id != 2:
                return NOTHING
            self.queue.remove(2)
            return [Reject(2, "full", 300.0)]

    policy = Bouncer()
    server = FifoServer(capacity_rps=1.0, file_classes=(FileClass(1.0, 1.0, 1.0),))
    simulated = run(policy, ArrivingAt(0.0, 0.25, 0.5, **PATIENT), server)
    assert list(simulated.sessions.ended_s) == [1.0, 0.25, 3.0]
    assert list(simulated.sessions.fate) == [
        SessionFate.COMPLETED,
        SessionFate.REJECTED,
        SessionFate.COMPLETED,
    ]
    assert (2.0, "workers_free", 1) in policy.told
    assert (1.0, "workers_free", 1) not in policy.told
    assert (simulated.busy_s, simulated.rejection_busy_s) == (3.0, 1.0)
    assert simulated.useful_busy_s == 2.0


def test_a_timer_that_has_passed_is_due_at_once():
    class Late(Diary):
        def next_timer_s(self) -> float | None:
            return 0.1 if (0.5, "timer_due", 0) not in self.told and self.queue else None

        def workers_free(self, time_s: float, free: int) -> Verdicts:
            return NOTHING if self.next_timer_s() else super().workers_free(time_s, free)

        def timer_due(self, time_s: float) -> Verdicts:
            self.told.append((time_s, "timer_due", 0))
            return NOTHING

    policy = Late()
    assert run(policy, ArrivingAt(0.5, **PATIENT)).end_s == 1.5
    assert [time_s for time_s, _, _ in policy.told] == [0.5, 0.5, 0.5, 1.5]


def test_load_samples_come_once_per_interval():
    class Sampled(Diary):
        def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
            self.told.append((time_s, sample))
            return NOTHING

    policy = Sampled()
    run(policy, ArrivingAt(0.5, 3.0, **PATIENT), utilisation_interval_s=2.0)
    samples = [entry for entry in policy.told if isinstance(entry[1], LoadSample)]
    assert samples == [(2.0, LoadSample(0.5, 0, 2.0))]


class Regular(Diary):
    """A policy that wants a timer every second, with or without customers."""

    def __init__(self) -> None:
        super().__init__()
        self.timer_s = 1.0

    def next_timer_s(self) -> float:
        return self.timer_s

    def timer_due(self, time_s: float) -> Verdicts:
        self.timer_s += 1.0
        return NOTHING


def test_a_run_is_over_though_a_policy_still_wants_timers():
    simulated = run(Regular(), ArrivingAt(0.0, 5.5, **PATIENT))
    assert list(simulated.sessions.fate) == [SessionFate.COMPLETED] * 2
    assert simulated.end_s <= 8.0


@pytest.mark.parametrize("like", [Diary, Regular])
def test_a_policy_that_serves_nobody_is_found_out(like):
    class Idle(like):
        def workers_free(self, time_s: float, free: int) -> Verdicts:
            return NOTHING

    with pytest.raises(BrokenPolicyError, match="diary: 2 requests would wait for ever"):
        run(Idle(), ArrivingAt(0.0, 0.1, **PATIENT))


def test_a_policy_that_serves_seldom_is_given_its_time():
    """A shop with one place inside may pause after each customer, for far longer than
    IDLE_SAMPLES in all."""

    class Seldom(Regular):
        def workers_free(self, time_s: float, free: int) -> Verdicts:
            if time_s < self.timer_s - 1.0 or time_s % 400.0:
                return NOTHING
            return [Dispatch(self.queue.pop(0))]

    simulated = run(Seldom(), ArrivingAt(1.0, 2.0, 3.0, 4.0, **PATIENT))
    assert list(simulated.sessions.fate) == [SessionFate.COMPLETED] * 4
    assert simulated.end_s >= 1600.0


def test_a_timer_that_stays_due_is_found_out():
    class Stuck(Regular):
        def timer_due(self, time_s: float) -> Verdicts:
            return NOTHING

    with pytest.raises(BrokenPolicyError, match=r"next_timer_s returns 1\.0 repeatedly"):
        run(Stuck(), ArrivingAt(0.0, 5.5, **PATIENT))


@pytest.mark.parametrize(
    ("known_from", "expected"),
    [
        ("admission", [("0", True), ("0", False), ("0", False)]),
        ("answer", [("0", True), ("0.2", True), ("0.2", False)]),
    ],
)
def test_from_when_a_session_is_known(known_from, expected):
    """The first attempt times out, the retry is answered in time, then comes the second page."""

    class Slow(Diary):
        def workers_free(self, time_s: float, free: int) -> Verdicts:
            return super().workers_free(time_s, free) if len(self.requests) > 1 else NOTHING

    policy = Slow()
    customers = ArrivingAt(
        0.0,
        chain=Chain({"Br-1": {"Br-2": 1.0}}),
        timeout_s=3.0,
        think_timeout_mean_s=0.0,
        retry_probability=1.0,
        max_retries=1,
    )
    run(policy, customers, session_known_from=known_from)
    seen = [(request.session, request.session_is_new) for request in policy.requests]
    assert seen == expected
    assert [request.attempt for request in policy.requests] == [1, 2, 1]


# ---- beginning and end -------------------------------------------------------------------------


def test_it_ends_with_the_last_request():
    simulated = run(Diary(), ArrivingAt(0.0, 0.5, **PATIENT))
    assert simulated.end_s == 2.0
    assert simulated.events == 5  # two arrivals, two answers, a load sample
    assert list(simulated.sessions.ended_s) == [1.0, 2.0]


def test_a_patience_that_is_over_before_it_ends_prolongs_nothing():
    customers = ArrivingAt(0.0, timeout_s=1000.0, think_timeout_mean_s=0.0)
    simulated = run(Diary(), customers)
    assert simulated.end_s == 1.0
    assert simulated.samples["time_s"] == [1.0]


def test_it_can_be_cut():
    log = AttemptLog()
    scenario = Scenario(
        ArrivingAt(0.0, 0.5, 9.0, **PATIENT), Diary(), FIXED, 1, sessions=100, stop_s=1.5
    )
    simulated = simulate(scenario, log=log)
    assert simulated.end_s == 1.5
    assert simulated.busy_s == 1.5
    assert list(simulated.sessions.fate) == [SessionFate.COMPLETED, SessionFate.UNFINISHED]
    assert math.isnan(simulated.sessions.ended_s[1])
    assert simulated.attempts["completed"] == len(log) == 1
    assert simulated.requests == 2


def test_arrivals_end_by_number_by_time_or_with_the_schedule():
    model = SessionModel(chain=SINGLE_REQUESTS, **PATIENT)
    schedule = Schedule((Segment(10.0, 1.0), Segment(10.0, 0.5)))
    free, scheduled = Customers(model, 1, 5.0), Customers(model, 1, 5.0, schedule)

    def arrived(customers: Customers, **scenario: object) -> list[float]:
        scenario = {"sessions": None, **scenario}
        return list(run(Diary(), customers, SharedCpus(), **scenario).sessions.arrived_s)

    every = arrived(free, sessions=200)
    assert len(every) == 200
    assert arrived(free, arrivals_until_s=4.0) == [time_s for time_s in every if time_s < 4.0]
    assert arrived(free, arrivals_until_s=4.0, sessions=3) == every[:3]
    assert arrived(scheduled)[-1] < 20.0
    assert arrived(scheduled)[:10] == pytest.approx(every[:10])


def test_progress_is_told_about_every_20000_requests():
    told = []
    simulate(
        sbac(capacity_rps=1000.0), on_progress=lambda time_s, ended: told.append((time_s, ended))
    )
    assert len(told) >= 2
    assert told == sorted(told)


def test_garbage_collection_is_as_it_was():
    class Failing(Diary):
        def arrival(self, time_s: float, request: Request) -> Verdicts:
            assert not gc.isenabled()
            raise RuntimeError

    assert gc.isenabled()
    with pytest.raises(RuntimeError):
        run(Failing(), ArrivingAt(0.0))
    assert gc.isenabled()


# ---- the log -----------------------------------------------------------------------------------


def test_the_log_is_the_load_generators():
    """Every attempt sent and every page never requested has a row; retries follow at once."""
    log = AttemptLog()
    simulated = simulate(lifo_pri(), log=log)
    rows = log.table().to_pylist()
    assert sum(row["outcome"] != AttemptOutcome.NOT_GENERATED for row in rows) == simulated.requests
    by_session: dict[int, list[dict]] = {}
    for row in rows:
        by_session.setdefault(row["session"], []).append(row)
    customers = lifo_pri().customers
    for session, mine in by_session.items():
        walk = customers.walk(session)
        assert [page for i, page in enumerate(walk)] == [
            row["page"] for row in mine if row["attempt"] in (0, 1)
        ]
        for row, following in pairwise(mine):
            if following["attempt"] > 0:
                assert following["started_s"] == row["finished_s"]
                assert (row["outcome"] == "timed_out") == (following["attempt"] > 1)
    for row in rows:
        if row["outcome"] == "timed_out":
            waited_s = row["finished_s"] - row["started_s"]
            assert waited_s == pytest.approx(row["patience_s"])
            assert row["status"] == 0
        elif row["outcome"] == "completed":
            assert row["finished_s"] - row["started_s"] <= row["patience_s"]
            assert row["status"] == 200
        elif row["outcome"] == "dropped":
            assert row["finished_s"] == row["started_s"]
            assert row["status"] == 503


def test_thinking_comes_before_every_page_but_the_first():
    log = AttemptLog()
    scenario = sbac(load=0.1, length=8.0)
    simulated = simulate(scenario, log=log)
    rows = log.table().to_pylist()
    assert simulated.attempts["completed"] == simulated.requests
    for row, following in pairwise(rows):
        if following["session"] == row["session"]:
            think_s = scenario.customers.think_time_s(row["session"], following["step"])
            assert following["started_s"] == following["intended_s"]
            assert following["started_s"] == pytest.approx(row["finished_s"] + think_s)
        else:
            assert following["step"] == 0


# ---- what cancelling saves ---------------------------------------------------------------------


def completed_confirms_and_waste(policy, abandonment):
    """Return (completed requests, confirms, wasted share of server time) of three seeds
    at ρ = 2."""
    model = SessionModel()
    found = [
        simulate(
            Scenario(
                Customers(model, seed, model.session_rate(2.0, 5.6)),
                registry.create(policy, {}),
                SharedCpus(),
                seed,
                sessions=2000,
                abandonment=abandonment,
            )
        )
        for seed in range(3)
    ]
    return (
        np.array([each.attempts["completed"] for each in found]),
        np.array([each.counts["Tr-4"]["answered"] for each in found]),
        np.array([each.wasted_busy_s / each.busy_s for each in found]),
    )


def test_cancelling_saves_sq_half_of_its_work_and_serves_more_with_it():
    ignored, _, wasted = completed_confirms_and_waste("sq", "ignore")
    cancelled, _, wasted_still = completed_confirms_and_waste("sq", "cancel")
    assert (cancelled >= 1.5 * ignored).all()
    assert (wasted > 0.4).all()
    assert (wasted_still <= 0.05).all()


def test_cancelling_costs_8q_lifo_pri_confirms():
    """Served last in, first out, orphans keep their places.

    They fill the queues of Br-1 and Br-2, which turn newcomers away, and raise N × U of Br-3 and
    Br-4. If they are taken out, they do neither.
    """
    _, confirms, wasted = completed_confirms_and_waste("8q-lifo-pri", "ignore")
    _, confirms_left, _ = completed_confirms_and_waste("8q-lifo-pri", "cancel")
    assert (wasted < 0.1).all()
    assert confirms_left.sum() < confirms.sum()
