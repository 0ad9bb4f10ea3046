"""Connections to the shop: reuse, faults, retries, over transports that write down."""

import pytest

from tests.gateway.fake_world import World
from tests.gateway.http.test_customer import ANSWER, GET, OK, POST, say


def one_at_shop(request=GET, **how):
    world = World(**how)
    customer, transport = world.connect(request)
    ((connection, shop),) = world.pool.connections
    return world, customer, transport, connection, shop


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_nonsense_from_the_shop_is_a_502(answer):
    world, _, transport, connection, shop = one_at_shop()
    connection.data_received(answer)
    assert transport.written.startswith(b"HTTP/1.1 502 ")
    assert b"X-Request-Id: r\r\n" in transport.written
    assert transport.is_open
    assert not shop.is_open
    assert world.fates == ["failed"]


def test_a_shop_that_closes_without_an_answer_is_a_502():
    world, _, transport, connection, _ = one_at_shop()
    connection.eof_received()
    assert transport.written.startswith(b"HTTP/1.1 502 ")
    assert world.fates == ["failed"]


def test_a_silent_shop_is_a_504():
    world, _, transport, _, shop = one_at_shop()
    world.loop.advance(61)
    assert transport.written.startswith(b"HTTP/1.1 504 ")
    assert not shop.is_open
    assert world.fates == ["failed"]


def test_a_shop_that_is_away_is_a_502():
    world = World()
    world.pool.is_down = True
    _, transport = world.connect(GET)
    assert transport.written.startswith(b"HTTP/1.1 502 ")
    assert world.queue.dispatcher.in_service == 0


def test_a_length_cut_short_is_shown_as_cut_short():
    world, _, transport, connection, _ = one_at_shop()
    connection.data_received(OK[:-1])
    connection.eof_received()
    world.loop.run()
    assert transport.written == ANSWER[:-1]
    assert not transport.is_open
    assert world.fates == ["failed"]


@pytest.mark.parametrize("ending", ["eof", "reset", "silence", "nonsense"])
def test_chunks_cut_short_are_shown_as_cut_short(ending):
    world, _, transport, connection, _ = one_at_shop()
    connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
    if ending == "eof":
        connection.eof_received()
    elif ending == "reset":
        connection.connection_lost(ConnectionResetError())
    elif ending == "silence":
        world.loop.advance(61)
    else:
        connection.data_received(b"no size\r\n")
    world.loop.run()
    assert transport.written.endswith(b"\r\n\r\n2\r\nhi\r\n")
    assert not transport.is_open


def test_a_body_that_ends_with_the_connection_becomes_chunks():
    world, _, transport, connection, _ = one_at_shop()
    connection.data_received(b"HTTP/1.1 200 OK\r\n\r\nhi")
    connection.eof_received()
    assert transport.written.endswith(b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n")
    assert transport.is_open
    assert world.fates == ["answered"]


def test_an_old_customer_gets_no_chunks():
    _, _, transport, connection, _ = one_at_shop(GET.replace(b"1.1", b"1.0"))
    connection.data_received(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n")
    connection.data_received(b"0\r\n\r\n")
    assert transport.written.endswith(b"\r\n\r\nhi")
    assert b"Transfer-Encoding" not in transport.written
    assert b"Connection: close\r\n" in transport.written
    assert not transport.is_open


def test_an_old_customer_with_keep_alive():
    request = GET.replace(b"1.1", b"1.0").replace(
        b"\r\n\r\n", b"\r\nConnection: keep-alive\r\n\r\n"
    )
    _, _, transport, connection, _ = one_at_shop(request)
    connection.data_received(OK)
    assert b"Connection: keep-alive\r\n" in transport.written
    assert transport.is_open


def test_the_answer_to_head_and_304_has_no_body():
    world, customer, transport, connection, _ = one_at_shop(b"HEAD" + GET[3:])
    connection.data_received(OK[:-2])
    world.loop.run()
    say(world, customer, GET)
    connection.data_received(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
    assert world.fates == ["answered", "answered"]
    assert transport.written.count(b"Content-Length: ") == 2
    assert transport.written.endswith(b"\r\n\r\n")


def test_surplus_bytes_never_answer_the_next_request():
    world, customer, transport, connection, shop = one_at_shop()
    connection.data_received(OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    world.loop.run()
    assert transport.written == ANSWER
    assert not shop.is_open
    say(world, customer, GET)
    assert len(world.pool.connections) == 2


def test_bytes_on_an_idle_connection_end_it():
    _, _, _, connection, shop = one_at_shop()
    connection.data_received(OK)
    assert shop.is_open
    connection.data_received(OK)
    assert not shop.is_open


def test_an_idle_connection_is_closed_before_the_shop_does():
    world, _, _, connection, shop = one_at_shop()
    connection.data_received(OK)
    world.loop.advance(1.2)
    assert not shop.is_open
    assert world.pool.open_connections == 0


def test_interim_responses_are_swallowed():
    _, _, transport, connection, _ = one_at_shop()
    connection.data_received(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    connection.data_received(OK)
    assert transport.written == ANSWER


def stale(request):
    """Let the shop close a kept connection just as `request` is sent on it."""
    world, customer, transport, connection, _ = one_at_shop()
    connection.data_received(OK)
    world.loop.run()
    transport.written = b""
    say(world, customer, request)
    connection.eof_received()
    world.loop.run()
    return world, transport


def test_an_idempotent_request_is_repeated_once_on_a_fresh_connection():
    world, transport = stale(GET)
    assert transport.written == b""
    assert len(world.pool.connections) == 2
    connection, shop = world.pool.connections[1]
    assert shop.written.startswith(b"GET / HTTP/1.1\r\n")
    connection.data_received(OK)
    assert transport.written == ANSWER
    assert world.counts() == {"arrived": 2, "dispatched": 2, "answered": 2}


def test_it_is_not_repeated_twice():
    world, transport = stale(GET)
    world.pool.connections[1][0].eof_received()
    world.loop.run()
    assert len(world.pool.connections) == 2
    assert transport.written.startswith(b"HTTP/1.1 502 ")


def test_a_purchase_is_never_repeated():
    world, transport = stale(POST + b"Content-Length: 3\r\n\r\nabc")
    assert len(world.pool.connections) == 1
    assert transport.written.startswith(b"HTTP/1.1 502 ")


def test_nothing_is_repeated_once_something_came_back():
    world, customer, transport, connection, _ = one_at_shop()
    connection.data_received(OK)
    world.loop.run()
    say(world, customer, GET)
    connection.data_received(b"HTTP/1.1 200")
    connection.eof_received()
    world.loop.run()
    assert len(world.pool.connections) == 1
    assert transport.written.startswith(ANSWER + b"HTTP/1.1 502 ")


def test_a_worker_is_free_only_when_the_response_has_been_read_in_full():
    world, _, _, connection, _ = one_at_shop(workers=1)
    world.connect(GET)
    connection.data_received(OK[:-1])
    assert world.queue.dispatcher.waiting == 1
    connection.data_received(OK[-1:])
    assert world.queue.dispatcher.waiting == 0


def test_there_are_never_more_connections_than_workers():
    world = World(workers=3, answer=None)
    for _ in range(9):
        world.connect(GET)
    for _ in range(3):
        for connection, _ in list(world.pool.connections):
            connection.data_received(OK)
    assert len(world.pool.connections) == 3
    assert world.counts()["answered"] == 9


def test_a_policy_may_stop_a_request_in_service():
    world, _, transport, connection, shop = one_at_shop()
    world.queue.cancel(1)
    assert transport.written.startswith(b"HTTP/1.1 503 ")
    assert shop.has_eof
    assert world.queue.dispatcher.in_service == 1  # until the shop has heard of it
    connection.eof_received()
    assert world.fates == ["cancelled"]
    assert world.queue.dispatcher.in_service == 0
