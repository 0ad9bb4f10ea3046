"""A customer leaves at the gateway, and the query behind it is gone: in every state, every way.

Each test prints what it took from the customer's leaving to the end of the query, as the database
sees it; what may be expected of an idle machine is `make bench-cancel`'s business.
"""

import itertools
import time

import pytest

from tests.system.chain import WAYS, answer, fates, hear, leave
from tests.waiting import until

pytestmark = pytest.mark.slow


SECOND = b"GET /echo/2/ HTTP/1.1\r\nHost: shop\r\n\r\n"
PIPELINE_BYTES = 64 * 1024  # the gateway's default
CONNECTIONS = {
    "kept": b"",
    # More than the gateway holds: it does not read this connection any more.
    "unread": SECOND * (2 * PIPELINE_BYTES // len(SECOND)),
}
"""The gateway's tests have more states of a connection, and HTTP/1.0."""
_tags = (f"leaver-{n}-" for n in itertools.count())

ways = pytest.mark.parametrize("how", WAYS)
connections = pytest.mark.parametrize("connection", CONNECTIONS)


@pytest.fixture
def tag():
    """What pg_stat_activity is asked for; no other test's begins like it."""
    return next(_tags)


@pytest.fixture
def customer(one_worker):
    with one_worker.customer() as customer:
        yield customer


def served_before(customer, connection):
    """How many requests this connection has had answered."""
    if connection != "kept":
        return 0
    customer.send("/echo/1/")
    assert answer(customer) == (200, b"1")
    return 1


def expect_gone(chain, tag, left_s, what):
    """Wait for the end of the query, and say how long it took."""
    chain.database.expect_gone(tag)
    print(f"{what}: query gone after {(time.monotonic() - left_s) * 1000:.1f} ms")


CANCELLED = {"disconnects": 1, "interrupted": 1, "cancels_attempted": 1, "cancels_effective": 1}


# ---- in service --------------------------------------------------------------------------------


@connections
@ways
def test_in_service(one_worker, customer, tag, connection, how):
    counted, before = one_worker.shop.state(), one_worker.snapshot()
    answered = served_before(customer, connection)
    customer.send(f"/sleep/{tag}/", behind=CONNECTIONS[connection])
    one_worker.database.expect_begun(tag)
    left_s = leave(customer, how)
    expect_gone(one_worker, tag, left_s, f"in service, {connection}, {how}")
    one_worker.expect_settled(
        before, arrived=1 + answered, dispatched=1 + answered, answered=answered, cancelled=1
    )
    one_worker.shop.expect_counted(counted, **CANCELLED)


@connections
@ways
def test_streaming(one_worker, customer, tag, connection, how):
    """The first piece is there, the query before the second one runs."""
    counted, before = one_worker.shop.state(), one_worker.snapshot()
    answered = served_before(customer, connection)
    customer.send(f"/stream/{tag}/", behind=CONNECTIONS[connection])
    one_worker.database.expect_begun(tag)
    hear(customer, b"first\n\r\n")
    left_s = leave(customer, how)
    expect_gone(one_worker, tag, left_s, f"streaming, {connection}, {how}")
    one_worker.expect_settled(
        before, arrived=1 + answered, dispatched=1 + answered, answered=answered, cancelled=1
    )
    one_worker.shop.expect_counted(counted, **CANCELLED)


def test_who_ends_the_stream_and_still_waits_is_answered(one_worker, customer, tag):
    before = one_worker.snapshot()
    with one_worker.database.holding(4):
        customer.send(f"/write/{tag}/", "POST")
        one_worker.database.expect_begun(f"{tag} waits")
        customer.half_close()
        hear(customer, b"HTTP/1.1 100 Continue\r\n\r\n")  # the question
    assert customer.everything().endswith(b"\r\n\r\nwritten")
    customer.close()
    one_worker.expect_settled(before, arrived=1, dispatched=1, answered=1)


# ---- in the queue ------------------------------------------------------------------------------


@connections
@ways
def test_queued(one_worker, customer, tag, connection, how):
    """Withdrawn: the shop never hears of it, nor of what was pipelined behind it."""
    before = one_worker.snapshot()
    answered = served_before(customer, connection)
    echoes = one_worker.reached_shop("/echo/2/")
    counted = one_worker.shop.state()
    with one_worker.customer() as holder:
        holder.send(f"/sleep/{tag}holder/")
        one_worker.database.expect_begun(f"{tag}holder")
        customer.send(f"/write/{tag}/", "POST", behind=CONNECTIONS[connection])
        one_worker.has(in_service=1, waiting=1)
        left_s = leave(customer, how)
        one_worker.has(in_service=1, waiting=0)
        print(f"queued, {connection}, {how}: gone in {(time.monotonic() - left_s) * 1000:.1f} ms")
        assert one_worker.database.running(f"{tag}holder") == 1
    one_worker.database.expect_gone(tag)
    one_worker.expect_settled(
        before,
        arrived=2 + answered,
        dispatched=1 + answered,
        answered=answered,
        abandoned_waiting=1,
        withdrawn=1,
        cancelled=1,
    )
    one_worker.shop.expect_counted(counted, **CANCELLED)  # the holder's
    assert one_worker.reached_shop(f"/write/{tag}/") == 0
    assert one_worker.reached_shop("/echo/2/") == echoes
    assert one_worker.database.written(tag) == []


# ---- the worker --------------------------------------------------------------------------------


def test_what_may_not_be_stopped_keeps_its_worker_to_its_end(one_worker, customer, tag):
    """The shop knows of it, the gateway too; the next one waits until the page is made."""
    counted, before = one_worker.shop.state(), one_worker.snapshot()
    with one_worker.customer() as second:
        with one_worker.database.holding(4):
            customer.send(f"/write/{tag}/", "POST")
            one_worker.database.expect_begun(f"{tag} waits")
            second.send("/echo/3/")
            one_worker.has(in_service=1, waiting=1)
            leave(customer, "close")
            one_worker.shop.expect_counted(counted, disconnects=1)
            one_worker.has_left(before)
            snapshot = one_worker.has(in_service=1, waiting=1)
            assert fates(snapshot)["dispatched"] == fates(before)["dispatched"] + 1
        assert answer(second) == (200, b"3")
    one_worker.shop.expect_counted(counted, disconnects=1, finished=1)
    assert one_worker.database.written(tag) == [tag]
    one_worker.expect_settled(before, arrived=2, dispatched=2, orphaned=1, answered=1)


def test_its_worker_is_taken_until_the_query_has_ended(one_worker, customer, tag):
    """The database hears of no cancel while its postmaster stands still."""
    before = one_worker.snapshot()
    with one_worker.customer() as second:
        customer.send(f"/sleep/{tag}/")
        one_worker.database.expect_begun(tag)
        second.send(f"/sleep/{tag}second/")
        one_worker.has(in_service=1, waiting=1)
        counted = one_worker.shop.state()
        with one_worker.database.postmaster_standing_still():
            leave(customer, "close")
            one_worker.shop.expect_counted(counted, disconnects=1, cancels_attempted=1)
            one_worker.has(in_service=1, waiting=1)
            assert one_worker.database.running(tag) == 1
        one_worker.database.expect_begun(f"{tag}second")
        assert one_worker.database.running(tag) == 1
    one_worker.database.expect_gone(tag)
    one_worker.expect_settled(before, arrived=2, dispatched=2, cancelled=2)
    assert until(lambda: one_worker.shop.state()["watching"] == 1, "the shop done with it")
