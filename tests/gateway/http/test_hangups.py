"""Ends and resets of connections without a reader, on real sockets and both event loops."""

import asyncio
import contextlib
import socket

import pytest
import uvloop

from gateway.http.hangups import Hangups
from tests.resetting import reset

PATIENCE_S = 240.0


class Watcher:
    def __init__(self):
        self.told = []
        self.news = asyncio.Event()

    def ended_unread(self):
        self.told.append("ended")
        self.news.set()

    def hung_up(self):
        self.told.append("hung up")
        self.news.set()

    async def next(self):
        async with asyncio.timeout(PATIENCE_S):
            await self.news.wait()
        self.news.clear()


@contextlib.contextmanager
def pair():
    """Yield (server's end, client's end) of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
    with server, client:
        yield server, client


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"], autouse=True)
def runner(request):
    return request.param


@contextlib.asynccontextmanager
async def watching():
    hangups = Hangups(asyncio.get_running_loop())
    try:
        yield hangups, Watcher()
    finally:
        hangups.close()


async def test_an_end_behind_unread_bytes_then_the_reset():
    async with watching() as (hangups, watcher):
        with pair() as (server, client):
            hangups.watch(server, watcher, for_end=True)
            client.sendall(b"unread")
            client.shutdown(socket.SHUT_WR)
            await watcher.next()
            hangups.watch(server, watcher, for_end=False)
            client.close()
            server.sendall(b"are you there?")
            await watcher.next()
            assert watcher.told == ["ended", "hung up"]


async def test_a_reset_is_heard_of_without_asking_for_the_end():
    async with watching() as (hangups, watcher):
        with pair() as (server, client):
            hangups.watch(server, watcher, for_end=False)
            reset(client)
            await watcher.next()
            assert watcher.told == ["hung up"]


async def test_whoever_is_forgotten_is_told_nothing():
    async with watching() as (hangups, watcher):
        with pair() as (server, client), pair() as (other_server, other):
            forgotten = Watcher()
            hangups.watch(server, forgotten, for_end=True)
            hangups.forget(forgotten)
            hangups.forget(forgotten)
            hangups.watch(other_server, watcher, for_end=True)
            reset(client)
            other.close()
            await watcher.next()
            assert forgotten.told == []


async def test_a_descriptor_used_again_belongs_to_its_new_owner():
    async with watching() as (hangups, watcher):
        with pair() as (server, _):
            gone = Watcher()
            hangups.watch(server, gone, for_end=True)
            number = server.fileno()
        with pair() as (server, client), pair() as (other, other_client):
            ours, theirs = (server, client) if server.fileno() == number else (other, other_client)
            hangups.watch(ours, watcher, for_end=True)
            hangups.forget(gone)
            reset(theirs)
            await watcher.next()
            assert watcher.told == ["hung up"]
            assert gone.told == []


async def test_who_is_forgotten_late_may_find_that_its_heir_has_come_and_gone():
    async with watching() as (hangups, heir):
        with pair() as (server, _):
            early = Watcher()
            for watcher in (early, heir):  # as if the number had been given anew in between
                hangups.watch(server, watcher, for_end=True)
            hangups.forget(heir)
            hangups.forget(early)
            assert early.told == heir.told == []


async def test_a_socket_closed_before_is_left_alone():
    async with watching() as (hangups, watcher):
        with pair() as (server, _):
            pass
        hangups.watch(server, watcher, for_end=True)
        hangups.forget(watcher)
        assert watcher.told == []
