"""The limit of handshakes under way, those that give way above it, and their ends."""

import asyncio
import threading

import pytest

from tests.gateway.real_sockets import PATIENCE_S
from tests.gateway.tls_customers import (
    UNDER_WAY,
    V1_2,
    ask,
    asking,
    connect,
    counts,
    handshake_threads,
    hello,
    knocking,
    knows,
    quiet,
    record,
    resuming,
    says,
    serves,
    tls_bed,
    trusting,
)


async def test_those_of_whom_least_is_known_give_way_first_and_of_them_the_oldest(files):
    come = []
    async with tls_bed(files, tls_waiting=4, **UNDER_WAY) as b:
        resumes = await asyncio.to_thread(resuming, b.gateway.tls_port, trusting(files, V1_2))
        async with (
            knocking(b, resumes, hello(), hello(), hears=True) as (oldest, new, newer),
            knocking(b, b"\x16") as (byte,),
        ):
            await knows(b, 1, 2, 1)
            for number, loses in enumerate((byte, new, newer), start=1):
                _, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
                writer.write(resumes)
                await b.until(loses.is_closing)
                await knows(b, 0, 3 - number, 1 + number)
                come.append(writer)
            # Who resumes and goes no further holds the door no more than others.
            await serves(b, files)
            await b.until(oldest.is_closing)
            assert counts(b, "evicted", "turned_away") == (4, 0)
            for writer in come:
                writer.transport.abort()


async def test_a_trickle_keeps_no_place(files):
    """A customer that sends a byte now and then keeps its old rank."""

    async with (
        tls_bed(files, tls_waiting=2, **UNDER_WAY) as b,
        knocking(b, hello()[:10], hello()[:10]) as (trickling, silent),
    ):
        handshakes = list(b.gateway.parts.connections.newcomers)
        trickling.write(hello()[10:20])
        await b.until(lambda: max(each.fed_bytes for each in handshakes) == 20)
        await knows(b, 2, 0, 0)
        await serves(b, files)
        await b.until(trickling.is_closing)
        assert not silent.is_closing()
        assert counts(b, "evicted", "under_way") == (1, 1)


async def test_one_that_is_computed_keeps_its_place_and_the_newcomer_is_reset(files):
    may_go_on, asked = threading.Event(), []

    def slow(resumed):
        asked.append(resumed)
        may_go_on.wait(PATIENCE_S)
        return True

    async with tls_bed(files, tls_waiting=2, tls_handshakes=1, **UNDER_WAY) as b:
        b.gateway.parts.handshakes.context.sni_callback = asking(slow)
        try:
            async with knocking(b, hello(), hello()):
                await b.until(lambda: asked)
                assert await says(b.gateway.tls_port, hello()) is None  # reset
                with pytest.raises(OSError, match=r"(?i)reset|EOF"):
                    await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files))
                assert counts(b, "turned_away", "evicted", "under_way") == (2, 0, 2)
        finally:
            may_go_on.set()
        await quiet(b)


async def test_connections_count_from_the_moment_they_are_accepted(files):
    async with tls_bed(files, max_connections=3, **UNDER_WAY) as b:
        customer = await asyncio.to_thread(connect, b.gateway.tls_port, trusting(files))
        _, silent = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
        _, plain = await asyncio.open_connection("127.0.0.1", b.gateway.port)
        known = b.gateway.parts.connections
        await b.until(lambda: (len(known.customers), len(known.newcomers)) == (2, 1))
        for port in (b.gateway.port, b.gateway.tls_port):
            assert await says(port, b"") in (b"", None)
        assert known.turned_away == 2
        silent.transport.abort()
        await b.until(lambda: not known.newcomers)
        await serves(b, files)
        plain.transport.abort()
        customer.close()


async def test_draining_ends_handshakes_and_takes_leave_of_customers(files):
    async with tls_bed(files, drain_s=PATIENCE_S, **UNDER_WAY) as b:
        port = b.gateway.tls_port
        customer = await asyncio.to_thread(connect, port, trusting(files, V1_2))
        _, silent = await asyncio.open_connection("127.0.0.1", port)
        reader, half = await asyncio.open_connection("127.0.0.1", port)
        half.write(hello())
        await record(reader)
        known = b.gateway.parts.connections
        await b.until(lambda: (len(known.customers), len(known.newcomers)) == (1, 2))
        assert await b.gateway.drain() is True
        # A close_notify: else it would be an SSLEOFError.
        assert await asyncio.to_thread(customer.recv, 1) == b""
        customer.close()
        silent.transport.abort()
        half.transport.abort()
        assert counts(b, "under_way") == (0,)
        await b.until(lambda: not handshake_threads())


async def test_who_was_accepted_just_before_the_door_closed_does_not_outlive_it(files):
    async with tls_bed(files, **UNDER_WAY) as b:
        b.gateway.parts.connections.drain()  # the listening sockets are still open
        assert await says(b.gateway.tls_port, b"") in (None, b"")
        assert await says(b.gateway.tls_port, hello()) in (None, b"")
        assert counts(b, "under_way", "new") == (0, 0)
        await quiet(b)
