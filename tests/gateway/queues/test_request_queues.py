"""Timers of a policy on the paper clock, and the snapshot of a queue."""

from gateway.policies.interface import NOTHING, Page, Reject, Request
from tests.gateway.fake_world import World
from tests.gateway.http.test_customer import GET


class Patient:
    """A policy that rejects requests after 30 paper seconds and serves none."""

    name = "patient"

    def __init__(self):
        self._waiting: list[Request] = []

    def arrival(self, time_s, request):
        self._waiting.append(request)
        return NOTHING

    def workers_free(self, time_s, free):
        return NOTHING

    def completion(self, time_s, id, outcome):
        return NOTHING

    def abandonment(self, time_s, id):
        return NOTHING

    def load_sample(self, time_s, sample):
        return NOTHING

    def next_timer_s(self):
        return self._waiting[0].arrived_s + 30 if self._waiting else None

    def timer_due(self, time_s):
        late = [r for r in self._waiting if r.arrived_s + 30 <= time_s + 1e-6]
        self._waiting = self._waiting[len(late) :]
        return [Reject(request.id, "come back later", 41.7) for request in late]

    def adopt(self, time_s, requests):
        self._waiting = list(requests)

    def waiting(self):
        return self._waiting

    def snapshot(self):
        return {}


def test_a_policys_timers_run_on_paper_time():
    world = World()
    world.queue.switch(Patient())
    _, transport = world.connect(GET)
    world.loop.advance(2.9)
    assert transport.written == b""
    world.loop.advance(0.2)
    assert transport.written.startswith(b"HTTP/1.1 503 ")
    assert b"X-Doorbuster-Verdict: rejected\r\n" in transport.written
    assert b"Retry-After: 5\r\n" in transport.written
    assert world.fates == ["rejected"]


def test_a_new_time_scale_moves_the_timers():
    world = World()
    world.queue.switch(Patient())
    _, transport = world.connect(GET)
    world.loop.advance(1)  # 10 of 30 paper seconds
    world.queue.set_time_scale(1)
    world.loop.advance(19)
    assert transport.written == b""
    world.loop.advance(1.5)
    assert transport.written.startswith(b"HTTP/1.1 503 ")


def test_the_policy_is_told_session_and_attempt():
    world = World(workers=1)
    requests = [
        b"",
        b"Cookie: a=b; sessionid=s1; c=d\r\nX-Doorbuster-Attempt: 3\r\n",
        b'Cookie: xsessionid=no\r\nCookie: sessionid="s2"\r\n',
        b"Cookie: sessionid=\r\n",
    ]
    world.connect(GET)
    for fields in requests:
        world.connect(GET[:-2] + fields + b"\r\n")
    waiting = world.queue.dispatcher.policy.waiting()
    seen = [(request.session, request.session_is_new, request.attempt) for request in waiting]
    assert seen == [(None, True, 1), ("s1", False, 3), ("s2", False, 1), (None, True, 1)]
    assert {request.page for request in waiting} == {Page.HOME}
