"""A student's policy behind the gateway's dispatcher, with a clock that the test moves."""

import time
from dataclasses import replace

import pytest

from gateway.policies.interface import LoadSample, Outcome, Page
from gateway.queues.dispatcher import Dispatcher
from tests.gateway.students.policies import PATIENT, own, request, source

SAMPLE = LoadSample(0.5, 1, 1.0)


class Driven:
    """The gateway's dispatcher with one policy, without connections."""

    def __init__(self, text, *, workers=2, limits=PATIENT):
        self.now_s = 0.0
        self.started, self.refused, self.withdrawn, self.told = [], [], [], []
        self.policy = own(text, limits=limits, told=self.told)
        self.dispatcher = Dispatcher(
            self.policy, workers=workers, clock_s=lambda: self.now_s, host=self
        )

    def start(self, id):
        self.started.append(id)

    def refuse(self, id, verdict):
        self.refused.append((id, verdict.reason))

    def cancel(self, id):
        raise AssertionError("nobody cancels")

    def withdraw(self, id):
        self.withdrawn.append(id)

    def submit(self, id, at_s=None):
        self.now_s = self.now_s if at_s is None else at_s
        self.dispatcher.submit(id, Page.HOME, session=None, session_is_new=True, attempt=1)

    def finished(self, id):
        self.dispatcher.finished(id, Outcome.ANSWERED)

    @property
    def why(self):
        """Return the reason of the fall-back, which the snapshot gives, too."""
        (fall_back,) = self.told
        snapshot = self.policy.snapshot()
        assert snapshot["fallen_back"] == {"at_s": fall_back.at_s, "reason": fall_back.reason}
        assert snapshot["discipline"] == "FIFO"
        return fall_back.reason

    @property
    def served(self):
        """Return the ids in service."""
        return [request.id for request in self.dispatcher.requests_now().in_service]

    def serves_on(self, waiting):
        """Assert FIFO for `waiting`, who wait while all workers are busy, and for later
        customers."""
        for id in self.served:
            self.finished(id)
        for id in waiting:
            if id in self.served:
                self.finished(id)
        self.submit(99)
        while self.dispatcher.in_service:
            for id in self.served:
                self.finished(id)
        assert self.dispatcher.waiting == 0
        own = [id for id in self.started if id in {*waiting, 99}]
        assert own == [*waiting, 99]


def test_a_good_policy_decides():
    driven = Driven(source())
    for id in range(1, 8):
        driven.submit(id)
    assert driven.started == [1, 2]
    assert driven.refused == [(6, "full"), (7, "full")]
    assert [one.id for one in driven.policy.waiting()] == [3, 4, 5]
    driven.finished(1)
    assert driven.started == [1, 2, 3]
    snapshot = driven.policy.snapshot()
    assert snapshot["queues"] == {"all": 2}
    assert snapshot["figures"]["times"] > 0
    assert not driven.told


THIRD = "if self.times == 3: "
LOOPS = {
    "in Python": "[0 for _ in iter(int, 1)]",
    "in a sum": "sum(range(10 ** 14))",
    "in a power": "pow(7, 10 ** 9)",
    "in a regular expression": "__import__('re').match('(a+)+$', 'a' * 60 + 'b')",
}


@pytest.mark.parametrize("where", LOOPS)
def test_an_endless_loop_ends_at_the_deadline(where):
    driven = Driven(
        source(workers_free=THIRD + LOOPS[where]), limits=replace(PATIENT, decision_s=0.3)
    )
    for id in (1, 2, 3):
        driven.submit(id)
    driven.finished(1)
    assert "did not return within 0.3 s" in driven.why
    assert driven.policy.child.process.returncode == -9
    driven.finished(2)
    driven.submit(4)
    assert driven.started == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("1 / 0", "in workers_free: if self.times == 3: 1 / 0: ZeroDivisionError"),
        ("raise SystemExit", "SystemExit"),
        ("return None", "workers_free returned None; return NOTHING"),
        ("return Dispatch(3)", "alone; return a tuple"),
        ("return [3]", "the verdicts are Dispatch, Drop, Reject and Cancel"),
        ("return 'abc'", "returned str"),
        ("return [Dispatch(1)]", "Dispatch(1) in workers_free, although request 1 ended at 0 s"),
        ("return [Dispatch(3)] * 40_001", "more than 40,000 verdicts"),
        ("return [Dispatch('3')]", "is not a verdict"),
        ("return [Dispatch(True)]", "is not a verdict"),
        ("return [Drop(3, '')]", "1 to 200 printable characters"),
        ("return [Drop(3, 'x' * 201)]", "1 to 200 printable characters"),
        ("return [Drop(3, 'two\\nlines')]", "1 to 200 printable characters"),
        ("return [Reject(3, 'come back', -1)]", "retry_after_s of Reject(3, …)"),
        ("self.next_timer_s = lambda: 'soon'", "return a time in seconds, or None"),
        ("self.next_timer_s = lambda: float('nan')", "return a time in seconds"),
        ("return [Drop(3, object())]", "TypeError"),
        ("__import__('os')._exit(3)", "its process ended during workers_free (status 3)"),
        ("[bytearray(10 ** 7) for _ in range(1000)]", "MemoryError"),
        ("(lambda f: f(f))(lambda f: f(f))", "RecursionError"),
        ("__import__('ctypes').string_at(0)", "(signal 11)"),
    ],
)
def test_what_breaks_the_rules_is_given_up_and_all_are_served(code, words):
    driven = Driven(source(workers_free=THIRD + code))
    for id in (1, 2, 3, 4):
        driven.submit(id)
    driven.finished(1)
    assert words in driven.why
    driven.serves_on([3, 4])
    assert not driven.refused


WIRE = "__import__('os').write(next(n for n in range(3, 65536) if self.is_line(n)), {})"
IS_LINE = """
def is_line(self, number):
    try:
        return __import__('os').write(number, b'') == 0
    except OSError:
        return False
"""


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"nothing of the kind", "its answer has more than"),
        (b"\0\0\0\4null", "not have the right form"),
        (b"\0\0\0\5\xff\xff\xff\xff\xff", "not have the right form"),
        (b"\0\0\0\2[]", "not have the right form"),
        (b"\0\0\x27\x10" + b"[" * 10_000, "not have the right form"),
        (b'\0\0\0\x1d[[["dispatch", 1e999]], null]', "is not a verdict"),
        (b"\0\0\0\x0c[[], 1e9999]", "next_timer_s"),
        (b"\0\0\0\x0a[[], null][[], null]", "sent more than one answer"),
    ],
)
def test_garbage_on_the_wire_is_refused(sent, words):
    code = f"{THIRD}{WIRE.format(sent)}; __import__('os')._exit(0)"
    driven = Driven(source(workers_free=code, more=IS_LINE))
    for id in (1, 2, 3):
        driven.submit(id)
    driven.finished(1)
    assert words in driven.why
    driven.serves_on([3])


def test_who_dribbles_is_late_all_the_same():
    code = "while self.times == 3: " + WIRE.format(b"\0")
    driven = Driven(
        source(workers_free=code, more=IS_LINE), limits=replace(PATIENT, decision_s=0.5)
    )
    for id in (1, 2, 3):
        driven.submit(id)
    driven.finished(1)
    assert driven.policy.fallen_back is not None
    driven.serves_on([3])


def test_who_is_never_late_but_always_slow_is_given_up():
    limits = replace(PATIENT, share_ratio=0.0, burst_s=0.2)
    driven = Driven(source(arrival="sum(range(300_000))"), limits=limits)
    for id in range(1, 1001):
        if driven.told:
            break
        driven.submit(id)
    assert "its answers use more than 0% of a CPU" in driven.why


def test_who_is_quick_but_costs_the_gateway_much_is_given_up(monkeypatch):
    """Sixty thousand spaces are sent at once, and take long to read."""
    slow = "import gateway.students.wire as w; plain = w.packed\n"
    slow += "w.packed = lambda m: w.HEAD.pack(60_000) + plain(m)[4:].ljust(60_000)"
    limits = replace(PATIENT, share_ratio=0.0, burst_s=0.0)
    driven = Driven(f"{source()}\n{slow}\n", limits=limits)
    monkeypatch.setattr(driven.policy.child, "cpu_s", lambda: 0.0)
    driven.submit(1)
    assert "its answers use more than 0% of a CPU" in driven.why


def test_a_machine_that_is_busy_is_not_the_policy_s_fault(monkeypatch):
    driven = Driven(source(), limits=replace(PATIENT, share_ratio=0.25, burst_s=0.0))
    monkeypatch.setattr(driven.policy.child, "cpu_s", lambda: 0.0)
    monkeypatch.setattr(time, "thread_time", lambda: 0.0)
    for id in range(1, 10):
        driven.submit(id)
    assert not driven.told


def test_a_silent_policy_is_given_up_when_nobody_is_served_for_long():
    driven = Driven(source(workers_free="return NOTHING"))
    driven.submit(1, at_s=5.0)
    driven.submit(2, at_s=8.0)
    assert driven.dispatcher.next_timer_s() == 15.0
    driven.now_s = 14.9
    driven.dispatcher.load_sample(SAMPLE)
    assert not driven.told
    driven.now_s = 15.0
    driven.dispatcher.tick()
    assert (
        "it served no request for 10 paper seconds, although workers were free and 2 requests"
        in driven.why
    )
    assert driven.started == [1, 2]
    assert driven.dispatcher.next_timer_s() is None


def test_a_policy_that_keeps_some_hands_free_is_not_silent():
    driven = Driven(source(workers_free="if self.times > 1: return NOTHING"))
    driven.submit(1, at_s=0.0)
    driven.submit(2, at_s=1.0)
    driven.now_s = 100.0
    driven.dispatcher.load_sample(SAMPLE)
    assert not driven.told
    assert driven.started == [1]


def test_timers_are_the_policy_s_own():
    more = """
due_s = 5.0
def timer_due(self, time_s):
    self.due_s = None
    return [Drop(one.id, "late") for one in list(self.line)]
def next_timer_s(self):
    return self.due_s
"""
    driven = Driven(source(workers_free="return NOTHING", more=more))
    driven.submit(1, at_s=1.0)
    assert driven.dispatcher.next_timer_s() == 5.0
    driven.now_s = 5.0
    driven.dispatcher.tick()
    assert driven.refused == [(1, "late")]
    assert driven.dispatcher.next_timer_s() is None
    assert not driven.told


def test_a_storm_of_timers_is_given_up():
    more = "def next_timer_s(self): return 1.0"
    driven = Driven(source(more=more), limits=replace(PATIENT, timers=20))
    driven.now_s = 1.0
    for _ in range(21):
        driven.dispatcher.tick()
    assert "next_timer_s must return a later time or None" in driven.why


def test_too_many_who_wait_are_served_by_fifo():
    limits = replace(PATIENT, waiting=5)
    driven = Driven(source(arrival="self.line.capacity = 100"), limits=limits)
    for id in range(1, 9):
        driven.submit(id)
    assert "more than 5 requests wait" in driven.why
    driven.serves_on([3, 4, 5, 6, 7, 8])
    assert not driven.refused


def test_a_snapshot_that_fails_is_a_fall_back_too():
    driven = Driven(source(snapshot="return {'queues': object()}"))
    driven.submit(1)
    assert driven.policy.snapshot()["discipline"] == "FIFO"
    assert "TypeError" in driven.why


def test_a_snapshot_takes_no_name_of_the_gateway_s():
    policy = own(source(snapshot="return {'admission': 7, 'fallen_back': 'no', 'mine': 1.5}"))
    assert policy.snapshot() == {
        "figures": {"admission": 7, "fallen_back": "no", "mine": 1.5},
    }


def test_who_is_withdrawn_waits_no_more():
    policy = own(source())
    policy.arrival(0.0, request(1))
    policy.arrival(0.0, request(2))
    policy.withdraw(1.0, 1)
    assert [one.id for one in policy.waiting()] == [2]
    assert [verdict.id for verdict in policy.workers_free(2.0, 5)] == [2]
    assert policy.fallen_back is None


def test_who_waited_before_is_adopted():
    policy = own(source())
    policy.adopt(3.0, [request(id, float(id)) for id in range(10)])
    assert [verdict.id for verdict in policy.workers_free(4.0, 99)] == list(range(10))


def test_the_class_of_an_event_arrives_whole():
    more = """
def completion(self, time_s, id, outcome):
    assert outcome.value == "orphaned" and outcome.name == "ORPHANED"
    return NOTHING
def load_sample(self, time_s, sample):
    assert (sample.cpu_utilisation_ratio, sample.busy_workers, sample.interval_s) == (0.5, 1, 1.0)
    return NOTHING
def abandonment(self, time_s, id):
    self.line.remove(id)
    return [Cancel(id)]
"""
    arrival = "assert request.page.is_transaction and request.session == f's{request.id}'"
    policy = own(source(arrival=arrival, more=more))
    policy.arrival(0.0, request(1, page=Page.CONFIRM))
    policy.arrival(0.0, request(2, page=Page.LOGIN))
    policy.workers_free(0.0, 1)
    policy.completion(1.0, 1, Outcome.ORPHANED)
    policy.load_sample(1.0, SAMPLE)
    assert [one.id for one in policy.abandonment(2.0, 2)] == [2]
    assert not policy.waiting()
    assert policy.fallen_back is None
