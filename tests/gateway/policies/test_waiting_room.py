"""The waiting room: one in, one out."""

from gateway.policies.interface import Outcome, Request
from gateway.policies.registry import create


def arrive(policy, id, session, time_s=0.0):
    return tuple(policy.arrival(time_s, Request(id, "Br-1", time_s, session)))


def served(policy, time_s=0.0):
    return [verdict.id for verdict in policy.workers_free(time_s, 100)]


def test_one_comes_in_when_one_has_gone():
    policy = create("waiting-room", {"inside": 2, "idle_s": 5.0})
    for id, session in ((1, "a"), (2, "b"), (3, "c"), (4, "a")):
        assert arrive(policy, id, session) == ()
    assert served(policy) == [1, 2, 4]
    policy.completion(1.0, 1, Outcome.ANSWERED)
    assert policy.next_timer_s() is None  # a still asks for another page
    policy.completion(2.0, 4, Outcome.ANSWERED)
    assert policy.next_timer_s() == 7.0
    assert served(policy, 6.9) == []
    policy.timer_due(7.0)
    assert served(policy, 7.0) == [3]
    assert policy.next_timer_s() is None


def test_who_is_inside_goes_on():
    policy = create("waiting-room", {"inside": 1, "idle_s": 5.0})
    arrive(policy, 1, "a")
    arrive(policy, 2, "b")
    assert served(policy) == [1]
    policy.completion(1.0, 1, Outcome.ANSWERED)
    arrive(policy, 3, "a", 4.0)
    assert served(policy, 4.0) == [3]
    policy.completion(8.0, 3, Outcome.ANSWERED)
    assert policy.next_timer_s() == 13.0


def test_who_leaves_the_line_inside_frees_the_place():
    policy = create("waiting-room", {"inside": 1, "idle_s": 5.0})
    arrive(policy, 1, "a")
    arrive(policy, 2, "b")
    policy.withdraw(1.0, 1)
    assert served(policy, 5.9) == []
    assert served(policy, 6.0) == [2]


def test_a_request_of_no_session_is_gone_with_its_answer():
    policy = create("waiting-room", {"inside": 1})
    arrive(policy, 1, None)
    arrive(policy, 2, None)
    assert served(policy) == [1]
    policy.completion(1.0, 1, Outcome.ANSWERED)
    assert served(policy, 1.0) == [2]


def test_a_session_enters_with_all_its_requests():
    """A session's requests at the door are served before those of a session that came later."""
    policy = create("waiting-room", {"inside": 1, "idle_s": 5.0})
    for id, session in ((1, "a"), (2, "b"), (3, "c"), (4, "b"), (5, "b"), (6, "b")):
        assert arrive(policy, id, session) == ()
    policy.withdraw(0.5, 5)
    assert served(policy) == [1]
    assert policy.snapshot()["queues"] == {"door": 4, "inside": 0}
    policy.completion(1.0, 1, Outcome.ANSWERED)
    policy.timer_due(6.0)
    assert policy.snapshot()["queues"] == {"door": 1, "inside": 3}
    assert [request.id for request in policy.waiting()] == [2, 3, 4, 6]
    assert served(policy, 6.0) == [2, 4, 6]
    for id in (2, 4, 6):
        policy.completion(7.0, id, Outcome.ANSWERED)
    assert policy.next_timer_s() == 12.0
    policy.timer_due(12.0)
    assert served(policy, 12.0) == [3]


def test_adopted_requests_enter_by_session():
    """The requests of a previous policy enter with their sessions, up to the limit."""
    policy = create("waiting-room", {"inside": 2, "idle_s": 5.0})
    adopted = [Request(id, "Br-1", 0.0, session) for id, session in enumerate("abcab", start=1)]
    policy.adopt(0.0, adopted)
    assert policy.waiting() == adopted
    assert policy.snapshot()["sessions_inside"] == 2
    assert served(policy) == [1, 4, 2, 5]
    assert policy.waiting() == adopted[2:3]


def test_a_session_at_the_door_keeps_its_place_until_its_last_request_leaves():
    """A session whose first request has left enters in turn; without a request it does not."""
    policy = create("waiting-room", {"inside": 1, "idle_s": 5.0})
    for id, session in ((1, "a"), (2, "b"), (3, "c"), (4, "d"), (5, "b")):
        arrive(policy, id, session)
    policy.withdraw(0.5, 2)
    policy.withdraw(0.5, 3)
    assert served(policy) == [1]
    policy.completion(1.0, 1, Outcome.ANSWERED)
    assert served(policy, 6.0) == [5]
    policy.completion(7.0, 5, Outcome.ANSWERED)
    assert served(policy, 12.0) == [4]
