"""Customers who leave, in every state of their request, over transports that record.

test_leaving_for_real.py has the same on real sockets.
"""

import sys

import pytest

from tests.gateway.fake_world import World
from tests.gateway.http.test_customer import ANSWER, GET, OK, POST, say

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
BEGUN = b"HTTP/1.1 200 OK\r\nContent-Length: 300\r\n\r\nx"
FILE = GET.replace(b"/ ", b"/static/a.css ")
MODES = ("ignore", "drop-queued", "cancel")


def leave(world, transport):
    transport.close()
    world.loop.run()


def in_service(request=GET, **how):
    """Return a customer whose request is at the shop, and both ends of the connection
    to the shop."""
    world = World(workers=1, **how)
    customer, transport = world.connect(request)
    ((connection, shop),) = world.pool.connections
    return world, customer, transport, connection, shop


def queued(request=GET, **how):
    """Return the same as `in_service` with a second customer, whose request waits."""
    world, _, _, connection, shop = in_service(request, **how)
    customer, transport = world.connect(request)
    return world, customer, transport, connection, shop


# ---- being read --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("data", [b"", GET[:9], POST + b"Content-Length: 9\r\n\r\nabc"])
def test_who_leaves_while_being_read_was_never_there(mode, data):
    world = World(abandonment=mode)
    _, transport = world.connect(data)
    leave(world, transport)
    assert world.fates == []
    assert world.at_shop == b""
    assert world.queue.requests == 0


@pytest.mark.parametrize("mode", MODES)
def test_who_is_refused_in_mid_body_has_not_left(mode):
    world = World(abandonment=mode, buffered_body_bytes=4)
    customer, transport = world.connect(POST + b"Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n")
    say(world, customer, b"zz\r\n")
    assert transport.written.startswith(b"HTTP/1.1 400 ")
    assert not world.pool.connections[0][1].is_open
    assert world.fates == ["cancelled"]
    assert world.context.left_in_service == 0
    assert world.queue.requests == 0


# ---- in the queue ------------------------------------------------------------------------------


def test_ignored_in_the_queue_is_served_in_full_and_the_shop_told_at_once():
    world, _, transport, connection, _ = queued(abandonment="ignore")
    leave(world, transport)
    connection.data_received(OK)
    world.loop.run()
    (connection, shop) = world.pool.connections[-1]
    assert shop.written.endswith(b"\r\n\r\n")
    assert shop.has_eof
    assert world.queue.dispatcher.in_service == 1
    connection.data_received(OK)
    assert world.fates == ["answered", "orphaned"]
    assert world.counts() == {
        "arrived": 2, "dispatched": 2, "abandoned_waiting": 1, "answered": 1, "orphaned": 1,
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["drop-queued", "cancel"])
def test_withdrawn_from_the_queue(mode):
    world, _, transport, connection, _ = queued(abandonment=mode)
    leave(world, transport)
    assert world.queue.dispatcher.waiting == 0
    assert list(world.queue.dispatcher.policy.waiting()) == []
    connection.data_received(OK)
    world.loop.run()
    assert world.at_shop.count(b"GET ") == 1
    assert world.fates == ["withdrawn", "answered"]
    assert world.counts() == {
        "arrived": 2, "dispatched": 1, "abandoned_waiting": 1, "withdrawn": 1, "answered": 1,
    }  # fmt: skip
    assert world.queue.requests == 0


@pytest.mark.parametrize("mode", ["drop-queued", "cancel"])
def test_a_large_body_that_breaks_off_in_the_queue_is_withdrawn(mode):
    world, _, _, connection, _ = in_service(abandonment=mode, buffered_body_bytes=4)
    _, transport = world.connect(POST + b"Content-Length: 20\r\n\r\nabcdef")
    leave(world, transport)
    assert world.counts("Tr-1") == {"arrived": 1, "abandoned_waiting": 1, "withdrawn": 1}
    connection.data_received(OK)
    world.loop.run()
    assert b"abcdef" not in world.at_shop


def test_a_file_is_withdrawn_as_a_page_is():
    world = World(abandonment="cancel")
    customers = [world.connect() for _ in range(3)]
    for customer, _ in customers:
        say(world, customer, FILE)
    leave(world, customers[2][1])
    assert world.other.waiting == 0
    assert world.other.counts()["withdrawn"] == 1


def test_a_long_row_of_files_whose_bodies_broke_off_ends_without_growing_the_stack():
    row = sys.getrecursionlimit() // 2
    world = World(buffered_body_bytes=4, other_queue=row)
    for _ in range(2):
        world.connect(FILE)
    upload = FILE.replace(b"GET", b"PUT")[:-2] + b"Content-Length: 20\r\n\r\nabcdef"
    for _ in range(row):
        _, transport = world.connect(upload)
        leave(world, transport)
    world.pool.connections[0][0].data_received(OK)
    assert world.other.counts()["cancelled"] == row
    assert (world.other.in_service, world.other.waiting) == (1, 0)


# ---- in service --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["ignore", "drop-queued"])
def test_ignored_in_service_the_shop_is_told_and_goes_on(mode):
    world, _, transport, connection, shop = in_service(abandonment=mode)
    leave(world, transport)
    assert shop.has_eof
    world.loop.advance(59)  # as long as any other request may take
    assert world.queue.dispatcher.in_service == 1
    connection.data_received(OK)
    assert world.fates == ["orphaned"]
    assert not shop.is_open  # ended on our side: it can carry no other request


def test_cancelled_in_service_keeps_its_worker_until_the_shop_has_ended():
    world, _, transport, connection, shop = in_service(abandonment="cancel")
    world.connect(GET)
    leave(world, transport)
    assert shop.has_eof
    assert world.queue.dispatcher.in_service == 1
    assert world.queue.dispatcher.waiting == 1
    connection.eof_received()
    world.loop.run()
    assert world.fates == ["cancelled"]
    assert world.queue.dispatcher.waiting == 0
    assert world.counts()["cancelled"] == 1


def test_a_shop_that_finishes_all_the_same_ends_the_request_with_its_answer():
    world, _, transport, connection, _ = in_service(abandonment="cancel")
    leave(world, transport)
    connection.data_received(BEGUN)
    assert world.fates == []
    connection.data_received(b"x" * 299)
    assert world.fates == ["orphaned"]


def test_a_shop_without_a_sentry_has_so_long_to_end():
    world, _, transport, _, shop = in_service(abandonment="cancel")
    leave(world, transport)
    world.loop.advance(9)
    assert world.queue.dispatcher.in_service == 1
    world.loop.advance(2)
    assert world.queue.dispatcher.in_service == 0
    assert not shop.is_open
    assert world.fates == ["cancelled"]
    assert world.pool.overdue == 1


def test_what_a_stopped_request_still_says_does_not_prolong_its_time():
    world, _, transport, connection, _ = in_service(abandonment="cancel")
    leave(world, transport)
    world.loop.advance(6)
    connection.data_received(BEGUN)
    world.loop.advance(5)
    assert world.fates == ["cancelled"]


def test_cancelled_on_the_way_to_a_connection_the_shop_never_sees_it():
    world = World(workers=1, abandonment="cancel")
    world.pool.serve_afresh = lambda exchange: None  # still connecting
    _, transport = world.connect(GET)
    leave(world, transport)
    assert world.fates == ["cancelled"]
    assert world.queue.dispatcher.in_service == 0


def test_a_stopped_request_is_not_repeated_on_another_connection():
    world, customer, transport, connection, _ = in_service(abandonment="cancel")
    connection.data_received(OK)
    world.loop.run()
    say(world, customer, GET)  # on the kept connection, which may be stale
    leave(world, transport)
    connection.eof_received()
    world.loop.run()
    assert len(world.pool.connections) == 1
    assert world.fates == ["answered", "cancelled"]


@pytest.mark.parametrize("mode", ["ignore", "drop-queued"])
def test_one_that_the_shops_sentry_has_stopped_is_not_repeated(mode):
    world, customer, transport, connection, shop = in_service(abandonment=mode)
    connection.data_received(OK)
    world.loop.run()
    say(world, customer, GET)  # on the kept connection
    leave(world, transport)
    assert shop.has_eof
    connection.eof_received()
    world.loop.run()
    assert len(world.pool.connections) == 1
    assert world.fates == ["answered", "cancelled"]


def test_an_ignored_one_on_a_stale_connection_is_repeated():
    world, customer, transport, connection, _ = in_service(abandonment="ignore")
    connection.data_received(OK)
    world.loop.run()
    say(world, customer, GET)
    leave(world, transport)
    connection.connection_lost(ConnectionResetError())
    world.loop.run()
    connection, shop = world.pool.connections[1]
    assert shop.has_eof
    connection.data_received(OK)
    assert world.fates == ["answered", "orphaned"]


@pytest.mark.parametrize("mode", MODES)
def test_a_large_body_that_breaks_off_is_never_taken_for_the_whole(mode):
    world = World(abandonment=mode, buffered_body_bytes=4)
    _, transport = world.connect(POST + b"Content-Length: 20\r\n\r\nabcdef")
    ((_, shop),) = world.pool.connections
    leave(world, transport)
    assert shop.was_aborted
    assert not shop.has_eof
    assert world.fates == ["cancelled"]


def test_a_file_is_cancelled_as_a_page_is():
    world = World(abandonment="cancel")
    _, transport = world.connect(FILE)
    leave(world, transport)
    ((connection, shop),) = world.pool.connections
    assert shop.has_eof
    assert world.other.in_service == 1
    connection.eof_received()
    assert world.other.in_service == 0
    assert world.other.counts()["cancelled"] == 1


# ---- streaming ---------------------------------------------------------------------------------


def test_cancelled_in_mid_answer_to_a_reader_too_slow():
    world, customer, transport, connection, shop = in_service(abandonment="cancel")
    connection.data_received(BEGUN)
    customer.pause_writing()
    assert not shop.is_reading
    leave(world, transport)
    assert shop.has_eof
    assert shop.is_reading  # its end must be seen
    connection.eof_received()
    assert world.fates == ["cancelled"]


def test_pipelined_requests_of_who_has_left_are_not_begun():
    world, customer, transport, connection, _ = in_service(abandonment="cancel")
    say(world, customer, GET * 2)
    leave(world, transport)
    connection.eof_received()
    world.loop.run()
    assert world.counts() == {"arrived": 1, "dispatched": 1, "cancelled": 1}


# ---- half a close ------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_probing_asks_and_who_only_stopped_sending_is_answered(mode):
    world, customer, transport, connection, shop = in_service(abandonment=mode)
    assert customer.eof_received() is True
    world.loop.run()
    assert transport.written == CONTINUE
    assert not shop.has_eof
    connection.data_received(OK)
    world.loop.run()
    assert transport.written == CONTINUE + ANSWER
    assert not transport.is_open
    assert world.fates == ["answered"]


def test_probing_hears_the_reset_of_who_has_left():
    world, customer, _, connection, shop = in_service(abandonment="cancel")
    customer.eof_received()
    customer.hung_up()
    world.loop.run()
    assert shop.has_eof
    connection.eof_received()
    assert world.fates == ["cancelled"]


def test_probing_in_the_queue():
    world, customer, transport, _, _ = queued(abandonment="cancel")
    customer.eof_received()
    assert transport.written == CONTINUE
    customer.hung_up()
    world.loop.run()
    assert world.fates == ["withdrawn"]


def test_once_the_answer_has_begun_the_end_of_the_stream_is_leaving():
    world, customer, transport, connection, shop = in_service(abandonment="cancel")
    connection.data_received(BEGUN)
    begun = transport.written
    customer.eof_received()
    world.loop.run()
    assert transport.written == begun
    assert shop.has_eof
    connection.eof_received()
    assert world.fates == ["cancelled"]


def test_http_1_0_cannot_be_asked_and_is_taken_to_wait():
    request = b"GET / HTTP/1.0\r\nX-Request-Id: r\r\n\r\n"
    world, customer, transport, connection, shop = in_service(request, abandonment="cancel")
    customer.eof_received()
    assert transport.written == b""
    assert not shop.has_eof
    connection.data_received(OK)
    assert transport.written.endswith(b"hi")
    assert world.fates == ["answered"]


def test_waiting_writes_nothing_and_answers():
    world, customer, transport, connection, _ = in_service(half_close="wait", abandonment="cancel")
    customer.eof_received()
    connection.data_received(OK)
    world.loop.run()
    assert transport.written == ANSWER
    assert world.fates == ["answered"]


def test_leaving_closes_at_once():
    world, customer, transport, connection, shop = in_service(
        half_close="leave", abandonment="cancel"
    )
    customer.eof_received()
    world.loop.run()
    assert not transport.is_open
    assert shop.has_eof
    connection.eof_received()
    assert world.fates == ["cancelled"]


def test_an_end_behind_pipelined_bytes_is_heard_of():
    world, customer, transport, _, shop = in_service(abandonment="cancel", pipeline_bytes=10)
    say(world, customer, GET)
    assert not transport.is_reading
    customer.ended_unread()
    assert transport.written == CONTINUE
    customer.hung_up()
    world.loop.run()
    assert shop.has_eof


# ---- switching ---------------------------------------------------------------------------------


def test_abandonment_holds_from_the_next_customer_that_leaves():
    world, _, transport, connection, _ = queued(abandonment="ignore")
    leave(world, transport)
    world.queue.dispatcher.abandonment = "cancel"
    _, third_transport = world.connect(GET)
    leave(world, third_transport)
    assert world.fates == ["withdrawn"]
    connection.data_received(OK)
    world.loop.run()
    world.pool.connections[-1][0].data_received(OK)
    assert world.fates == ["withdrawn", "answered", "orphaned"]
