"""Session admission from a customer's side: the cookie, the rejection, the shop's view of it."""

import asyncio
import re
import sys
from types import SimpleNamespace

import pytest

from gateway.policies.admission import Combination
from gateway.policies.registry import create
from tests.gateway.doorkeeper import Doorkeeper
from tests.gateway.fake_world import World
from tests.gateway.http.test_customer import ANSWER, GET, OK, POST, say
from tests.gateway.real_sockets import bed

COOKIE = re.compile(rb"Set-Cookie: (doorbuster_session=[^;\r\n]+)")


def ask(world, cookie=None, request=GET):
    """Return the answer to one request on a separate connection."""
    customer, transport = world.connect()
    field = b"Cookie: %b\r\n" % cookie if cookie else b""
    say(world, customer, request[:-2] + field + b"\r\n")
    return transport.written


def cookie_of(answer):
    (cookie,) = COOKIE.findall(answer)
    return cookie


def admitted(answer):
    assert answer.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 503 "))
    return answer.startswith(b"HTTP/1.1 200 ")


def test_the_first_answer_carries_the_cookie_and_the_second_request_is_not_new():
    door = Doorkeeper(places=1)
    world = World(answer=OK, admission=door)
    first = ask(world)
    second = ask(world, b"a=b; " + cookie_of(first))
    assert second == ANSWER  # nothing to renew yet
    (id, _), (again, _) = door.seen
    assert door.seen == [(id, True), (id, False)]
    assert id == again
    assert not admitted(ask(world))


def test_without_admission_control_nothing_is_added():
    assert ask(World(answer=OK)) == ANSWER


def changed(cookie):
    return cookie[:-1] + (b"A" if cookie[-1:] != b"A" else b"B")


def test_the_shop_sees_none_of_it():
    world = World(answer=OK, admission=Doorkeeper(places=2))
    cookie = cookie_of(ask(world, b"theirs=1"))
    ask(world, cookie)
    ask(world, b"theirs=2; %b; more=3" % cookie)
    ask(world, cookie, GET.replace(b"GET /", b"GET /static/x"))
    assert b"doorbuster_session" not in world.at_shop
    assert re.findall(rb"Cookie: (.*)\r\n", world.at_shop) == [b"theirs=1", b"theirs=2; more=3"]


@pytest.mark.parametrize("admission", [None, Doorkeeper(places=9)])
def test_the_shop_cannot_set_it(admission):
    theirs = b"Set-Cookie: a=b; Path=/\r\nSet-Cookie: doorbuster_session=theirs; Path=/\r\n"
    world = World(answer=OK.replace(b"Date:", theirs + b"Date:"), admission=admission)
    answer = ask(world)
    assert b"theirs" not in answer
    assert b"Set-Cookie: a=b; Path=/\r\n" in answer
    assert answer.count(b"Set-Cookie: ") == (1 if admission is None else 2)


def test_files_neither_open_a_session_nor_prolong_it():
    door = Doorkeeper(places=1)
    world = World(answer=OK, admission=door)
    file = GET.replace(b"GET /", b"GET /static/x")
    assert ask(world, request=file) == ANSWER
    cookie = cookie_of(ask(world))
    world.loop.advance(100)
    assert ask(world, cookie, file) == ANSWER
    assert len(door.seen) == 1


def test_a_rejection_is_explicit_and_costs_the_shop_nothing():
    world = World(answer=OK, admission=Doorkeeper(places=0, retry_after_s=300))
    answer = ask(world)
    head, _, page = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    for field in (
        b"X-Doorbuster-Verdict: rejected",
        b"Retry-After: 30",  # 300 paper seconds at ten to a real one
        b"Cache-Control: no-store",
        b"Content-Length: %d" % len(page),
        b"X-Request-Id: r",
    ):
        assert b"\r\n%b\r\n" % field in head + b"\r\n"
    assert b"Set-Cookie" not in head
    assert b"in about 30 seconds" in page
    assert world.pool.connections == []
    assert world.fates == ["rejected"]
    assert world.counts() == {"arrived": 1, "rejected": 1}
    assert world.context.refusals == {503: 1}


@pytest.mark.parametrize(
    ("paper_s", "scale", "real_s"), [(300, 1, 300), (300, 1000, 1), (1, 10, 1), (41.7, 10, 5)]
)
def test_when_to_come_back_is_in_real_seconds(paper_s, scale, real_s):
    world = World(admission=Doorkeeper(places=0, retry_after_s=paper_s))
    world.queue.set_time_scale(scale)
    assert b"\r\nRetry-After: %d\r\n" % real_s in ask(world)


def test_a_dropped_request_opens_no_session():
    door = Doorkeeper(places=3)
    world = World(admission=door, workers=1, parameters={"capacity": 1})
    ask(world)
    ask(world)
    answer = ask(world)
    assert b"X-Doorbuster-Verdict: dropped\r\n" in answer
    assert b"Set-Cookie" not in answer
    assert b"Retry-After" not in answer
    assert len(door.dropped_ids) == 1


def test_a_failure_of_the_shop_opens_no_session():
    world = World(admission=Doorkeeper(places=1))
    world.pool.is_down = True
    answer = ask(world)
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"Set-Cookie" not in answer


def test_the_connection_goes_on_after_a_rejection():
    door = Doorkeeper(places=0)
    world = World(answer=OK, admission=door)
    customer, transport = world.connect(GET)
    assert b"Connection: keep-alive\r\n" in transport.written
    rejection = len(transport.written)
    door.places = 1
    say(world, customer, GET)
    assert transport.is_open
    assert admitted(transport.written[rejection:])
    assert cookie_of(transport.written[rejection:])


def test_head_is_told_without_the_page():
    answer = ask(World(admission=Doorkeeper(places=0)), request=GET.replace(b"GET", b"HEAD"))
    head, _, page = answer.partition(b"\r\n\r\n")
    assert page == b""
    assert int(re.search(rb"Content-Length: (\d+)", head)[1]) > 500
    assert b"Retry-After: 30\r\n" in head


def test_head_opens_a_session_too():
    world = World(answer=OK[:-2], admission=Doorkeeper(places=1))
    assert cookie_of(ask(world, request=GET.replace(b"GET", b"HEAD")))


def test_http_1_0():
    world = World(answer=OK, admission=Doorkeeper(places=1))
    old = GET.replace(b"HTTP/1.1", b"HTTP/1.0")
    cookie = cookie_of(ask(world, request=old))
    rejected = ask(world, request=old)
    assert b"Connection: close\r\n" in rejected
    assert not admitted(rejected)
    assert admitted(ask(world, cookie, old))


def test_a_rejected_form_is_read_to_its_end():
    world = World(answer=OK, admission=Doorkeeper(places=0))
    _, transport = world.connect(POST + b"Content-Length: 3\r\n\r\nabc" + GET)
    assert transport.written.count(b"HTTP/1.1 503 ") == 2
    assert transport.is_open


def test_pipelined_requests_without_a_cookie_are_new_each():
    """The second was sent before the first answer brought the cookie."""
    door = Doorkeeper(places=2)
    world = World(answer=OK, admission=door)
    _, transport = world.connect(GET * 3)
    assert transport.written.count(b"HTTP/1.1 200 ") == 2
    assert transport.written.count(b"HTTP/1.1 503 ") == 1
    assert len(set(COOKIE.findall(transport.written))) == 2
    assert [is_new for _, is_new in door.seen] == [True] * 3


def test_no_cookie_writes_a_header_field_of_its_own():
    world = World(answer=OK, admission=Doorkeeper(places=1))
    answer = ask(world, b"doorbuster_session=a\r\n X-Evil: 1")
    assert answer.startswith(b"HTTP/1.1 400 ")
    answer = ask(world, b'doorbuster_session="a%0d%0aSet-Cookie:evil=1"')
    assert answer.count(b"Set-Cookie") == 1
    assert b"evil" not in answer


def test_admission_control_that_begins_in_mid_run_throws_nobody_out():
    world = World(answer=OK)
    ask(world, b"sessionid=s1")
    world.sessions.guard(True)
    door = Doorkeeper(places=0)
    world.queue.switch(Combination(door, create("sq", {})))
    assert not admitted(ask(world))
    answer = ask(world, b"sessionid=s1")
    cookie = cookie_of(answer)
    world.loop.advance(181)  # what cannot be checked counts for T
    assert not admitted(ask(world, b"sessionid=s1"))
    assert admitted(ask(world, b"sessionid=s1; " + cookie))


def test_who_waits_when_admission_control_begins_goes_on_waiting():
    world = World(workers=1)
    customers = [world.connect() for _ in range(3)]
    for customer, _ in customers:
        say(world, customer, GET)
    world.sessions.guard(True)
    world.queue.switch(Combination(Doorkeeper(places=0), create("sq", {})))
    for connection, _ in world.pool.connections * 3:
        connection.data_received(OK)
        world.loop.run()
    assert [transport.written for _, transport in customers] == [ANSWER] * 3


@pytest.fixture
def doorkeeper(monkeypatch):
    """Register the policy `doorkeeper`, which admits one new session."""
    from gateway.policies import ADMISSIONS, Entry
    from gateway.policies.sheet import Parameter, Sheet

    places = Parameter("places", 1, "sessions", "how many may come in", "these tests", 0, 1000)
    sheet = Sheet("doorkeeper", "", "", "", "", (places,))
    module = SimpleNamespace(SHEET=sheet, make=Doorkeeper)
    monkeypatch.setitem(sys.modules, "gateway.policies.doorkeeper", module)
    monkeypatch.setitem(ADMISSIONS, "doorkeeper", Entry("doorkeeper", "SHEET", "make"))


@pytest.mark.usefixtures("doorkeeper")
async def test_a_restart_with_the_same_key_turns_nobody_out():
    kept = "the same for both of these gateways"
    async with bed(admission="doorkeeper", cookie_key=kept) as b:
        cookie = cookie_of(await b.get())
    for key, status in ((kept, b"200"), ("", b"503")):
        parameters = {"places": 0}
        async with bed(
            admission="doorkeeper", admission_parameters=parameters, cookie_key=key
        ) as b:
            answer = await b.get(fields=b"Cookie: %b\r\n" % cookie)
            assert answer.split(b" ")[1] == status


async def test_a_waiting_room_knows_its_guests_again_and_nobody_else():
    places = {"inside": 1, "idle_s": 86_400.0}
    async with bed(policy="waiting-room", policy_parameters=places, time_scale=1) as b:
        cookie = cookie_of(await b.get())
        strangers = [b"", b"Cookie: sessionid=x\r\n", b"Cookie: %b\r\n" % changed(cookie)]
        outside = [asyncio.ensure_future(b.get(fields=field)) for field in strangers]
        await b.until(lambda: b.gateway.parts.requests == 3)
        again = await b.get(fields=b"Cookie: %b\r\n" % cookie)
        assert again.startswith(b"HTTP/1.1 200 ")
        assert b.gateway.parts.requests == 3
        await b.admin("PUT", "/policy", {"name": "sq"})
        answers = await asyncio.gather(*outside)
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
