"""A customer's connection over a transport that writes down what happens to it."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.gateway.fake_world import World
from tests.gateway.http.test_request_reader import REFUSED

OK = b"HTTP/1.1 200 OK\r\nDate: NOW\r\nContent-Length: 2\r\n\r\nhi"
GET = b"GET / HTTP/1.1\r\nHost: x\r\nX-Request-Id: r\r\n\r\n"
POST = b"POST /checkout/login/ HTTP/1.1\r\nHost: x\r\nX-Request-Id: r\r\n"
ANSWER = (
    b"HTTP/1.1 200 OK\r\nDate: NOW\r\nContent-Length: 2\r\n"
    b"Via: 1.1 doorbuster\r\nX-Request-Id: r\r\n\r\nhi"
)


def say(world, customer, data):
    customer.data_received(data)
    world.loop.run()


def test_requests_are_answered_and_the_connection_kept():
    world = World(answer=OK)
    customer, transport = world.connect()
    for n in (1, 2, 3):
        say(world, customer, GET)
        assert transport.written == ANSWER * n
    assert transport.is_open
    assert len(world.pool.connections) == 1
    assert world.counts() == {"arrived": 3, "dispatched": 3, "answered": 3}


def test_pipelined_requests_are_answered_in_order():
    world = World()
    customer, transport = world.connect()
    requests = [
        b"GET /books/%d/ HTTP/1.1\r\nHost: x\r\nX-Request-Id: r%d\r\n\r\n" % (n, n)
        for n in range(5)
    ]
    say(world, customer, b"".join(requests))
    ((connection, shop),) = world.pool.connections
    for n in range(5):
        assert shop.written.count(b"GET ") == n + 1  # one at a time
        connection.data_received(OK)
        world.loop.run()
    ids = [line for line in transport.written.split(b"\r\n") if line.startswith(b"X-Req")]
    assert ids == [b"X-Request-Id: r%d" % n for n in range(5)]


def test_a_long_pipeline_does_not_grow_the_stack():
    world = World(answer=OK, pipeline_bytes=1 << 20)
    _, transport = world.connect(GET * 3000)
    assert transport.written == ANSWER * 3000


def test_a_pipeline_is_bounded():
    world = World(pipeline_bytes=200)
    _, transport = world.connect(GET * 10)
    assert not transport.is_reading
    ((connection, _),) = world.pool.connections
    for _ in range(10):
        connection.data_received(OK)
        world.loop.run()
    assert transport.is_reading
    assert transport.written == ANSWER * 10


@pytest.mark.parametrize("before", [b"", GET])
def test_a_head_may_be_longer_than_what_is_held_back(before):
    world = World(pipeline_bytes=100)
    customer, transport = world.connect()
    long = GET[:-2] + b"A: " + b"b" * 300 + b"\r\n\r\n"
    say(world, customer, before + long[:200])
    if before:
        assert not transport.is_reading  # another request is in course
        world.pool.connections[0][0].data_received(OK)
        world.loop.run()
    assert transport.is_reading
    say(world, customer, long[200:300])
    assert transport.is_reading
    say(world, customer, long[300:] + GET)
    assert transport.is_reading
    say(world, customer, GET * 3)
    assert not transport.is_reading
    world.pool.connections[0][0].data_received(OK)
    assert transport.written.endswith(ANSWER)


@given(st.lists(st.integers(1, 800)))
def test_however_the_bytes_are_cut_the_answers_are_the_same(cuts):
    stream = (
        GET + POST + b"Content-Length: 3\r\n\r\nabc"
        + POST + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: x\r\n\r\n"
        + b"HEAD" + GET[3:] + GET
    )  # fmt: skip
    world = World(answer=OK)

    # A shop's answer to HEAD has no body.
    def reply(connection, transport):
        last = transport.written.rpartition(b" HTTP/1.1\r\n")[0].rpartition(b"\r\n\r\n")[2]
        connection.data_received(OK[:-2] if b"HEAD" in last else OK)

    world.reply = reply
    customer, transport = world.connect()
    edges = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    for start, end in pairwise(edges):
        if start < end:
            say(world, customer, stream[start:end])
    assert transport.written == ANSWER * 3 + ANSWER[:-2] + ANSWER
    assert world.at_shop.count(b"\r\n\r\nabc") == 2
    assert b"Content-Length: 5\r\n" in world.at_shop


@pytest.mark.parametrize(("status", "data"), REFUSED)
def test_what_is_refused_never_reaches_the_shop(status, data):
    world = World(answer=OK)
    customer, transport = world.connect()
    if status == 431 and data.count(b"A: b\r\n") == 11:
        data = data.replace(b"A: b\r\n", b"A: b\r\n" * 10)
    if status in (414, 431, 400) and len(data) > 250:
        data = data.replace(b"a" * 300, b"a" * 9000).replace(b"A" * 300, b"A" * 9000)
        data = data.replace(b"b" * 1000, b"b" * 40000).replace(
            b"A: b\r\n" * 300, b"A: b\r\n" * 9999
        )
    if status == 413:
        data = data.replace(b"1001", b"99999999")
    say(world, customer, data + GET)
    assert transport.written.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close\r\n" in transport.written
    assert transport.written.count(b"X-Request-Id: ") == 1
    assert transport.has_eof
    world.loop.advance(5)
    assert not transport.is_open
    assert world.at_shop == b""


@given(st.binary(min_size=1, max_size=300), st.lists(st.integers(1, 300)))
def test_garbage_never_crashes_and_never_reaches_the_shop(data, cuts):
    assume(b"HTTP/1." not in data)  # chance does find sound ones
    world = World(answer=OK)
    customer, transport = world.connect()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    for start, end in pairwise(edges):
        if start < end:
            say(world, customer, data[start:end])
    world.loop.advance(100)
    assert not transport.is_open
    assert world.at_shop == b""
    assert transport.written.count(b"HTTP/1.1 ") <= 1


def test_a_broken_body_never_reaches_the_shop():
    world = World(answer=OK)
    _, transport = world.connect(POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n")
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert world.at_shop == b""
    assert world.counts("Tr-1") == {}


def test_expect_is_answered_when_the_body_is_wanted():
    world = World(answer=OK)
    customer, transport = world.connect(POST + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    assert transport.written == b"HTTP/1.1 100 Continue\r\n\r\n"
    say(world, customer, b"abc")
    assert transport.written.endswith(ANSWER)
    assert b"Expect" not in world.at_shop


def test_a_body_too_large_is_refused_before_it_is_sent():
    world = World()
    _, transport = world.connect(POST + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
    assert transport.written.startswith(b"HTTP/1.1 413 ")


# ---- limits in time ----------------------------------------------------------------------------


def test_a_dribbled_head_is_not_waited_for():
    world = World(head_s=10)
    customer, transport = world.connect()
    for n in range(9):
        say(world, customer, GET[n : n + 1])
        world.loop.advance(1)
    assert transport.is_open
    world.loop.advance(1.5)
    assert transport.written.startswith(b"HTTP/1.1 408 ")
    world.loop.advance(5)
    assert not transport.is_open


def test_a_dribbled_body_holds_no_worker_and_is_not_waited_for():
    world = World(body_s=10)
    customer, transport = world.connect(POST + b"Content-Length: 100\r\n\r\n")
    for _ in range(11):
        if not transport.written:
            say(world, customer, b"x")
        world.loop.advance(1)
    assert transport.written.startswith(b"HTTP/1.1 408 ")
    assert world.pool.connections == []
    assert world.counts("Tr-1") == {}


@pytest.mark.parametrize("before", [b"", GET])
def test_an_idle_connection_is_closed_without_a_word(before):
    world = World(answer=OK, idle_s=60)
    customer, transport = world.connect()
    if before:
        say(world, customer, before)
    world.loop.advance(59)
    assert transport.is_open
    world.loop.advance(2)
    assert not transport.is_open
    assert transport.written == (ANSWER if before else b"")


def test_a_queue_may_take_as_long_as_it_likes():
    world = World(workers=1)
    first, _ = world.connect()
    customer, transport = world.connect()
    say(world, first, GET)
    say(world, customer, GET)
    for _ in range(50):
        world.loop.advance(50)
        assert transport.is_open
        if len(world.pool.connections) > 1:
            break  # the shop's silence has freed the only worker
    assert world.counts()["dispatched"] == 2


# ---- leaving -----------------------------------------------------------------------------------


def test_a_pipeline_before_the_end_of_the_stream_is_answered():
    world = World(answer=OK, half_close="wait")
    customer, transport = world.connect()
    customer.data_received(GET + GET + GET)
    customer.eof_received()
    world.loop.run()
    assert transport.written == ANSWER * 3
    assert not transport.is_open


def test_the_end_of_the_stream_within_a_body_ends_the_request():
    world = World()
    customer, _ = world.connect(POST + b"Content-Length: 100\r\n\r\nabc")
    assert not customer.eof_received()
    customer.connection_lost(None)
    assert world.counts("Tr-1") == {}


def test_the_end_of_the_stream_within_a_pipelined_body_ends_the_request():
    world = World(answer=OK, half_close="wait")
    customer, transport = world.connect()
    customer.data_received(GET + POST + b"Content-Length: 100\r\n\r\nabc")
    customer.eof_received()
    world.loop.run()
    assert transport.written == ANSWER
    assert not transport.is_open
    assert world.counts("Tr-1") == {}


# ---- large bodies ------------------------------------------------------------------------------


def test_a_large_body_streams_when_its_worker_is_there():
    world = World(buffered_body_bytes=10)
    customer, transport = world.connect(POST + b"Content-Length: 40\r\n\r\n" + b"a" * 11)
    ((connection, shop),) = world.pool.connections
    assert shop.written.endswith(b"\r\n\r\n" + b"a" * 11)
    say(world, customer, b"b" * 20)
    connection.pause_writing()
    say(world, customer, b"c" * 5)
    assert not transport.is_reading
    assert b"c" not in shop.written.rpartition(b"\r\n\r\n")[2]
    connection.resume_writing()
    world.loop.run()
    assert transport.is_reading
    say(world, customer, b"c" * 4 + GET)
    assert shop.written.endswith(b"a" * 11 + b"b" * 20 + b"c" * 9)
    connection.data_received(OK)
    world.loop.run()
    assert transport.written == ANSWER
    assert shop.written.endswith(b"X-Request-Id: r\r\n\r\n")


def test_a_large_chunked_body_streams_in_chunks():
    world = World(buffered_body_bytes=4)
    customer, _ = world.connect(POST + b"Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n")
    say(world, customer, b"2\r\ngh\r\n0\r\n\r\n")
    ((_, shop),) = world.pool.connections
    assert shop.written.endswith(b"\r\n\r\n6\r\nabcdef\r\n2\r\ngh\r\n0\r\n\r\n")
    assert b"Transfer-Encoding: chunked\r\n" in shop.written


def test_a_large_body_waits_in_the_customers_hands_while_its_request_waits():
    world = World(workers=1, buffered_body_bytes=4)
    world.connect(GET)
    _, transport = world.connect(POST + b"Content-Length: 20\r\n\r\nabcdef")
    assert not transport.is_reading
    world.loop.advance(40)  # nobody's fault: no limit runs
    world.pool.connections[0][0].data_received(OK)
    world.loop.run()
    assert transport.is_reading
    assert world.at_shop.endswith(b"abcdef")


@pytest.mark.parametrize("rest", [b"", b"gh"])
def test_half_a_close_behind_a_large_body_that_waits(rest):
    world = World(workers=1, buffered_body_bytes=4, half_close="wait")
    world.connect(GET)
    customer, transport = world.connect(POST + b"Content-Length: 8\r\n\r\nabcdef")
    say(world, customer, rest)
    assert customer.eof_received()
    ((connection, _),) = world.pool.connections
    connection.data_received(OK)
    world.loop.run()
    if rest:
        connection.data_received(OK)
        world.loop.run()
        assert transport.written == ANSWER
        assert world.counts("Tr-1")["answered"] == 1
    else:
        assert world.counts("Tr-1")["cancelled"] == 1
    assert not transport.is_open


def test_a_large_body_that_breaks_off_while_it_waits_is_stopped():
    world = World(workers=1, buffered_body_bytes=4)
    world.connect(GET)
    _, transport = world.connect(POST + b"Content-Length: 20\r\n\r\nabcdef")
    transport.close()
    world.loop.run()
    world.pool.connections[0][0].data_received(OK)
    world.loop.run()
    assert b"abcdef" not in world.at_shop
    assert world.counts("Tr-1")["cancelled"] == 1
    assert world.queue.dispatcher.in_service == 0


def test_an_answer_before_the_end_of_the_body_ends_the_connection():
    world = World(buffered_body_bytes=4)
    customer, transport = world.connect(POST + b"Content-Length: 20\r\n\r\nabcdef")
    ((connection, shop),) = world.pool.connections
    connection.data_received(OK)
    world.loop.run()
    assert b"Connection: close\r\n" in transport.written
    assert not shop.is_open
    assert transport.has_eof
    say(world, customer, b"g" * 14)  # read away
    assert transport.is_open
    world.loop.advance(5)
    assert not transport.is_open


def test_behind_an_upload_that_is_turned_away_all_is_read():
    world = World(workers=1, parameters={"capacity": 1}, buffered_body_bytes=4, pipeline_bytes=10)
    for _ in range(2):
        world.connect(GET)
    customer, transport = world.connect(
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 20
    )
    assert transport.written.startswith(b"HTTP/1.1 503 ")
    assert transport.has_eof
    assert transport.is_reading
    assert transport.is_open
    customer.eof_received()
    world.loop.advance(5)
    assert not transport.is_open


# ---- slow readers ------------------------------------------------------------------------------


def test_a_slow_reader_holds_the_response_back():
    world = World(response_buffer_bytes=100)
    customer, transport = world.connect()
    assert transport.high_water_bytes == 100
    say(world, customer, GET)
    ((connection, shop),) = world.pool.connections
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n" + b"x" * 150)
    transport.unsent_bytes = 150
    customer.pause_writing()
    assert not shop.is_reading
    transport.unsent_bytes = 0
    customer.resume_writing()
    assert shop.is_reading
    connection.data_received(b"x" * 150)
    assert world.fates == ["answered"]


def test_a_reader_that_takes_nothing_is_cut_off_and_its_worker_freed():
    world = World(write_s=30)
    customer, transport = world.connect(GET)
    ((connection, shop),) = world.pool.connections
    connection.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\n" + b"x" * 150)
    transport.unsent_bytes = 2_000_000
    customer.pause_writing()
    world.loop.advance(29)
    transport.unsent_bytes -= 100_000  # it does read
    world.loop.advance(29)
    assert transport.is_open
    transport.unsent_bytes -= 1  # this is not reading
    world.loop.advance(4)
    assert transport.was_aborted
    assert shop.is_reading
    connection.data_received(b"x" * 150)
    assert world.fates == ["orphaned"]


def test_an_ordinary_page_frees_its_worker_whoever_reads_it():
    world = World(workers=1)
    _, transport = world.connect(GET)
    transport.unsent_bytes = 2
    world.pool.connections[0][0].data_received(OK)
    assert world.queue.dispatcher.in_service == 0


# ---- refusals ----------------------------------------------------------------------------------


def test_a_full_queue_is_told_and_the_connection_kept():
    world = World(workers=1, parameters={"capacity": 1})
    customers = [world.connect() for _ in range(3)]
    for customer, _ in customers:
        say(world, customer, GET)
    customer, transport = customers[2]
    assert transport.written.startswith(b"HTTP/1.1 503 ")
    assert b"X-Doorbuster-Verdict: dropped\r\n" in transport.written
    assert b"X-Request-Id: r\r\n" in transport.written
    assert b"Connection: keep-alive\r\n" in transport.written
    assert b"<html lang=" in transport.written
    assert transport.is_open
    assert world.counts() == {"arrived": 3, "dispatched": 1, "dropped": 1}


def test_a_pipeline_into_a_full_queue_does_not_grow_the_stack():
    world = World(workers=1, parameters={"capacity": 1}, pipeline_bytes=1 << 20)
    for _ in range(2):
        world.connect(GET)
    _, transport = world.connect(GET * 3000)
    assert transport.written.count(b"X-Doorbuster-Verdict: dropped") == 3000


def test_other_requests_have_a_queue_and_a_limit_of_their_own():
    world = World(workers=1, abandonment="drop-queued")
    world.connect(GET)
    customers = [world.connect() for _ in range(5)]
    for customer, _ in customers:
        say(world, customer, GET.replace(b"/ ", b"/static/a.css "))
    assert (world.other.in_service, world.other.waiting) == (2, 2)
    assert customers[4][1].written.startswith(b"HTTP/1.1 503 ")
    customers[3][1].close()
    world.loop.run()
    for connection, _ in world.pool.connections[1:]:
        connection.data_received(OK)
    world.loop.run()
    fates = {fate: n for fate, n in world.other.counts().items() if n}
    assert fates == {
        "arrived": 5, "dispatched": 3, "dropped": 1, "abandoned_waiting": 1, "answered": 2,
        "withdrawn": 1,
    }  # fmt: skip
    assert world.counts() == {"arrived": 1, "dispatched": 1}


def test_a_file_that_nobody_waits_for_is_served_as_any_orphan_request():
    world = World()
    customers = [world.connect() for _ in range(4)]
    for customer, _ in customers:
        say(world, customer, GET.replace(b"/ ", b"/static/a.css "))
    customers[3][1].close()
    world.loop.run()
    for connection, _ in list(world.pool.connections) * 2:
        connection.data_received(OK)
        world.loop.run()
    assert customers[2][1].written == ANSWER
    assert world.other.requests == 0
    counts = world.other.counts()
    assert (counts["abandoned_waiting"], counts["answered"], counts["orphaned"]) == (1, 3, 1)


# ---- draining ----------------------------------------------------------------------------------


def test_draining_answers_who_is_there_and_closes():
    world = World()
    (_, idle_transport), (busy, transport) = world.connect(), world.connect()
    say(world, busy, GET)
    world.connections.drain()
    world.loop.run()
    assert not idle_transport.is_open
    world.pool.connections[0][0].data_received(OK)
    world.loop.run()
    assert b"Connection: close\r\n" in transport.written
    assert transport.written.endswith(b"hi")
    assert not transport.is_open


def test_who_was_accepted_just_before_draining_is_not_kept():
    world = World()
    world.connections.drain()
    _, transport = world.connect(GET)
    assert not transport.is_open
    assert world.connections.customers == set()
    assert world.at_shop == b""


def test_one_customer_too_many_is_cut_off():
    world = World()
    for _ in range(100):
        world.connect()
    _, transport = world.connect()
    assert transport.was_aborted
    assert world.connections.turned_away == 1
