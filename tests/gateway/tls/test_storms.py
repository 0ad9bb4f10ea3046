"""Storms of TLS connections: they starve no resuming customer and leave nothing behind."""

import asyncio
import gc
import os
import random
import threading

import psutil
import pytest

from gateway.tls.context import AskedSSLObject
from gateway.tls.handshake import Handshake
from tests.gateway.real_sockets import run
from tests.gateway.tls_customers import (
    ACCESS_DENIED,
    UNDER_WAY,
    V1_2,
    V1_3,
    alert,
    alive,
    ask,
    counts,
    hello,
    quiet,
    record,
    refuse_new,
    says,
    serves,
    tls_bed,
    trusting,
)


class Storm:
    """New connections, `at_once` at a time, each with a separate hello."""

    def __init__(self, port, at_once=50):
        self.said = []
        self._port = port
        self._places = asyncio.Semaphore(at_once)

    async def __call__(self, connections):
        await asyncio.gather(*(self._one() for _ in range(connections)))

    async def _one(self):
        async with self._places:
            version = random.choice((V1_2, V1_3))
            self.said.append(await says(self._port, hello(version)))


def resources():
    """Return (open files, threads, RSS in bytes) of this process."""
    gc.collect()
    me = psutil.Process()
    return len(os.listdir("/proc/self/fd")), threading.active_count(), me.memory_info().rss


async def check_a_storm_of_refused(files, connections, most_growth_bytes):
    already = len(alive((Handshake, AskedSSLObject)))  # of other tests
    async with tls_bed(files, shop_idle_s=0.2, **UNDER_WAY) as b:
        port = b.gateway.tls_port
        contexts = [trusting(files, version) for version in (V1_2, V1_3)]
        sessions = []
        for context in contexts:
            _, session, _ = await asyncio.to_thread(ask, port, context)
            sessions.append(session)
        refuse_new(b)
        over = asyncio.Event()

        async def come_back(context, session):
            times = 0
            while times < 5 or not over.is_set():
                answer, session, resumed = await asyncio.to_thread(ask, port, context, session)
                assert resumed
                assert answer.startswith(b"HTTP/1.1 200 ")
                times += 1
            return times

        await Storm(port)(connections // 5)  # whatever is made once has been made
        await quiet(b)
        before = resources()
        storm = Storm(port)
        returning = [
            asyncio.ensure_future(come_back(*it)) for it in zip(contexts, sessions, strict=True)
        ]
        await storm(connections)
        over.set()
        came_back = sum(await asyncio.gather(*returning))
        await quiet(b)
        assert {alert(said) for said in storm.said} == {ACCESS_DENIED}
        assert len(storm.said) == connections
        found = b.gateway.parts.gate.counts()
        assert found["refused"] == connections + connections // 5
        assert (found["accepted_new"], found["resumed"]) == (2, came_back)
        assert (found["handshake_failed"], found["turned_away"]) == (0, 0)
        storm.said.clear()
        await b.until(lambda: len(alive((Handshake, AskedSSLObject))) <= already)
        await b.until(lambda: resources()[0] <= before[0])
        after = resources()
        assert after[1] <= before[1] + 8  # asyncio's own, for this test's threads
        assert after[2] - before[2] < most_growth_bytes


def test_a_storm_of_refused_ones_neither_starves_who_resumes_nor_leaves_anything(files):
    run(check_a_storm_of_refused(files, 1500, 24 * 2**20))


@pytest.mark.long
def test_a_storm_of_ten_thousand(files):
    run(check_a_storm_of_refused(files, 10_000, 32 * 2**20))


async def test_a_storm_that_is_let_in_is_held_at_the_limit(files):
    """The storm exceeds the limit: one handshake after another gives way, and all ends
    as it began."""

    already = len(alive((Handshake, AskedSSLObject)))
    async with tls_bed(files, tls_waiting=20, tls_handshake_s=2, shop_idle_s=0.2) as b:
        before = resources()
        storm = Storm(b.gateway.tls_port, at_once=100)
        await storm(500)
        await quiet(b)
        found = b.gateway.parts.gate.counts()
        reset = found["turned_away"] + found["evicted"]
        assert reset == storm.said.count(None) > 0
        assert found["handshake_timed_out"] == 500 - reset <= 20
        await serves(b, files)
        await b.until(lambda: len(alive((Handshake, AskedSSLObject))) <= already)
        await b.until(lambda: resources()[0] <= before[0])


async def test_those_who_wait_in_every_place_starve_nobody_who_comes_back(files):
    """New customers knock without end, read the gateway's first words and send no more."""

    async with tls_bed(files, tls_waiting=20, **UNDER_WAY) as b:
        port = b.gateway.tls_port
        contexts = [trusting(files, version) for version in (V1_2, V1_3)]
        sessions = [(await asyncio.to_thread(ask, port, each))[1] for each in contexts]
        over = asyncio.Event()
        knocked = []

        async def knock():
            while not over.is_set():
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                knocked.append(writer)
                writer.write(hello())
                await record(reader)

        storm = [asyncio.ensure_future(knock()) for _ in range(5)]
        await b.until(lambda: counts(b, "evicted")[0] > 20)
        for _ in range(3):
            for number, context in enumerate(contexts):
                answer, sessions[number], resumed = await asyncio.to_thread(
                    ask, port, context, sessions[number]
                )
                assert resumed
                assert answer.startswith(b"HTTP/1.1 200 ")
        over.set()
        await asyncio.gather(*storm)
        assert counts(b, "turned_away") == (0,)
        for writer in knocked:
            writer.transport.abort()
        await quiet(b)
