"""The session of a request, and the life of the cookie that names it."""

import re

import pytest

from gateway.clock import PaperClock
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.request_reader import RequestReader
from gateway.http.session_cookie import SessionCookie
from gateway.http.sessions import Session, Sessions
from gateway.queues.policy_choice import PolicyChoice

KEY = b"k" * 32
T_S = 1800.0  # paper seconds: 180 real ones at the scale of these tests


class Times:
    """A paper clock and a wall clock, moved together."""

    def __init__(self):
        self.now_s = 1_700_000_000.5

    def __call__(self):
        return self.now_s


def sessions(times, *, is_guarded=True, key=KEY, clock=None):
    return Sessions(
        SessionCookie(key),
        clock or PaperClock(10, times),
        shop_cookie="sessionid",
        timeout_s=T_S,
        is_guarded=is_guarded,
        wall_s=times,
    )


def asks(cookies=b""):
    """Return the head of a request with these cookies."""
    reader = RequestReader(HeadLimits(), BodyLimits())
    field = b"Cookie: %b\r\n" % cookies if cookies else b""
    reader.receive(b"GET / HTTP/1.1\r\nHost: x\r\n" + field + b"\r\n")
    return reader.pull()


def sent_back(set_cookie):
    return set_cookie.partition(b";")[0]


def begun(known):
    """Return (id, cookie) of a session whose first request has just been answered."""
    session = known.of(asks())
    return session.id, sent_back(known.set_cookie(session))


def test_without_admission_control_the_shops_cookie_is_the_session():
    known = sessions(Times(), is_guarded=False)
    assert known.of(asks(b"sessionid=s1")) == Session("s1", False)
    assert known.of(asks(b"other=s1")) == Session(None, True)
    for cookies in (b"", b"sessionid=s1"):
        assert known.set_cookie(known.of(asks(cookies))) is None


def test_the_first_answer_makes_the_session_known():
    known = sessions(Times())
    first = known.of(asks())
    assert first.is_new
    cookie = sent_back(known.set_cookie(first))
    second = known.of(asks(b"a=b; " + cookie))
    assert (second.id, second.is_new) == (first.id, False)


def test_who_shows_no_cookie_is_new_each_time():
    known = sessions(Times())
    found = [known.of(asks()) for _ in range(100)]
    assert all(session.is_new for session in found)
    assert len({session.id for session in found}) == 100


def test_the_shops_cookie_is_worth_nothing_at_the_door():
    assert sessions(Times()).of(asks(b"sessionid=s1")).is_new


def test_the_cookies_attributes():
    known = sessions(Times())
    text = known.set_cookie(known.of(asks())).decode()
    value, *attributes = text.split("; ")
    assert attributes == ["Max-Age=203", "Path=/", "HttpOnly", "SameSite=Lax"]
    expiry = re.fullmatch(r"doorbuster_session=1\.[\w-]{22}\.(\d+)\.[\w-]{43}", value)[1]
    assert int(expiry) == 1_700_000_001 + 203  # T and an eighth more, rounded up


def test_who_comes_back_within_t_is_known_however_often():
    times = Times()
    known = sessions(times)
    id, cookie = begun(known)
    for pause_s in [10, 179.9] * 20:
        times.now_s += pause_s
        session = known.of(asks(cookie))
        assert (session.id, session.is_new) == (id, False)
        cookie = sent_back(known.set_cookie(session) or cookie)


def test_who_is_away_for_longer_is_new_and_cannot_go_on():
    times = Times()
    known = sessions(times)
    id, cookie = begun(known)
    times.now_s += 180 * 9 / 8 + 2
    session = known.of(asks(cookie))
    assert session.is_new
    assert session.id != id


def test_few_answers_carry_a_new_cookie():
    times = Times()
    known = sessions(times)
    _, cookie = begun(known)
    renewals = 0
    for _ in range(180):
        times.now_s += 1
        renewed = known.set_cookie(known.of(asks(cookie)))
        if renewed is not None:
            renewals += 1
            cookie = sent_back(renewed)
    assert renewals == 7


def test_a_restart_with_the_same_key_knows_its_sessions():
    times = Times()
    id, cookie = begun(sessions(times))
    assert sessions(times).of(asks(cookie))[:2] == (id, False)
    assert sessions(times, key=b"x" * 32).of(asks(cookie)).is_new


def test_a_new_time_scale_changes_t_with_the_next_answer():
    times = Times()
    clock = PaperClock(10, times)
    known = sessions(times, clock=clock)
    _, cookie = begun(known)
    clock.scale = 100  # T is 18 s now
    faster = known.set_cookie(known.of(asks(cookie)))
    assert b"; Max-Age=21;" in faster
    clock.scale = 1
    slower = known.set_cookie(known.of(asks(sent_back(faster))))
    assert b"; Max-Age=2025;" in slower


def test_beginning_in_mid_run_trusts_the_shops_cookie_for_t():
    times = Times()
    known = sessions(times, is_guarded=False)
    known.guard(True)
    session = known.of(asks(b"sessionid=s1"))
    assert not session.is_new
    assert "s1" not in session.id
    assert known.of(asks(b"sessionid=s1")) == session
    assert known.of(asks()).is_new
    cookie = sent_back(known.set_cookie(session))
    times.now_s += 179
    assert not known.of(asks(b"sessionid=s2")).is_new
    times.now_s += 2
    assert known.of(asks(b"sessionid=s2")).is_new
    assert known.of(asks(b"sessionid=s1; " + cookie))[:2] == (session.id, False)


def test_one_admission_policy_after_the_other_trusts_nobody_again():
    times = Times()
    known = sessions(times)
    known.guard(True)
    assert known.of(asks(b"sessionid=s1")).is_new


@pytest.mark.parametrize("cookies", [b"", b"sessionid=s1"])
def test_a_request_from_before_the_switch_gets_no_cookie_of_another_kind(cookies):
    known = sessions(Times(), is_guarded=False)
    session = known.of(asks(cookies))
    known.guard(True)
    assert known.set_cookie(session) is None


def test_a_request_from_before_the_end_of_admission_control_gets_none():
    known = sessions(Times())
    session = known.of(asks())
    known.guard(False)
    assert known.set_cookie(session) is None


@pytest.mark.parametrize(
    ("choice", "needs"),
    [
        (PolicyChoice("sq"), False),
        (PolicyChoice("sq", admission="sbac"), True),
        (PolicyChoice("door-lifo"), True),
        (PolicyChoice("door-fifo"), True),
        (PolicyChoice("waiting-room"), True),
    ],
)
def test_policies_that_go_by_sessions_need_names_that_nobody_else_can_claim(choice, needs):
    assert choice.needs_sessions is needs
