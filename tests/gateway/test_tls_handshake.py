"""Handshakes that go wrong, take long, are too many: nobody else notices, nothing stays behind."""

import asyncio
import gc
import os
import random
import socket
import ssl
import sys
import threading
from pathlib import Path

import psutil
import pytest

from gateway import settings
from gateway.__main__ import complain
from gateway.service import Gateway
from gateway.settings import Settings, SettingsError
from gateway.tls_context import AskedSSLObject
from gateway.tls_handshake import Handshake
from tests.gateway.real_sockets import PATIENCE_S, run
from tests.gateway.tls_customers import (
    ACCESS_DENIED,
    GET,
    V1_2,
    V1_3,
    alert,
    ask,
    connect,
    hello,
    make_certificate,
    record,
    refuse_new,
    says,
    tls_bed,
    trusting,
)

UNDER_WAY = {"tls_handshake_s": 3600}  # nothing here ends because somebody lost patience


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"))


def counts(b, *names):
    found = b.gateway.gate.counts()
    return tuple(found[name] for name in names)


async def quiet(b):
    """Wait until nobody is connected and no handshake is under way."""
    door = b.gateway.door
    await b.until(lambda: not (door.newcomers or door.customers))
    await b.until(lambda: counts(b, "under_way") == (0,))


async def serves(b, files):
    """A customer comes, asks and is answered."""
    answer, _, _ = await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files))
    assert answer.startswith(b"HTTP/1.1 200 ")


# ---- odd customers -----------------------------------------------------------------------------


def test_byte_by_byte(files):
    """The whole handshake and a request, each byte in a segment of its own."""

    def trickle(port):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trusting(files).wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def send():
                for byte in outgoing.read():
                    sock.sendall(bytes([byte]))

            def until_it_works(what):
                while True:
                    try:
                        return what()
                    except ssl.SSLWantReadError:
                        send()
                        incoming.write(sock.recv(65536))

            until_it_works(tls.do_handshake)
            tls.write(GET)
            send()
            return until_it_works(lambda: tls.read(65536))

    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            answer = await asyncio.to_thread(trickle, b.gateway.tls_port)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert counts(b, "new", "resumed", "handshake_failed") == (1, 0, 0)
            await quiet(b)

    run(scene())


@pytest.mark.parametrize(
    "data",
    [
        b"\x00" * 100,
        b"\xff" * 100_000,
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00" * 3,
        hello()[:60] + b"\xff" * (len(hello()) - 60),
        b"\x80\x2e\x01\x00\x02" + bytes(60),  # SSL 2
        b"\x17\x03\x03\x00\x20" + bytes(32),
        b"\x15\x03\x03\x00\x02\x02\x28",  # an alert
    ],
    ids=["zeros", "much", "half hellos", "torn hello", "SSL 2", "data", "alert"],
)
def test_no_tls_is_ended_at_once(files, data):
    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            said = await says(b.gateway.tls_port, data)
            assert said in (None, b"") or said[:1] == b"\x15"
            assert counts(b, "new", "resumed", "handshake_failed") == (0, 0, 1)
            await quiet(b)
            await serves(b, files)

    run(scene())


@pytest.mark.parametrize("rest", [b"", b"x" * 300_000], ids=["alone", "with much behind it"])
def test_plain_http_is_told_to_come_by_https(files, rest):
    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            said = await says(b.gateway.tls_port, GET + rest)
            assert said is not None
            assert said.startswith(b"HTTP/1.1 400 ")
            assert b"HTTPS" in said
            assert counts(b, "new", "resumed", "handshake_failed") == (0, 0, 1)
            assert b.gateway.door.refusals[400] == 1
            await quiet(b)
            await serves(b, files)

    run(scene())


def test_the_gateway_names_both_of_its_doors(files):
    async def scene():
        async with tls_bed(files) as b:
            assert b.gateway.addresses == [
                f"http://127.0.0.1:{b.gateway.port}",
                f"https://127.0.0.1:{b.gateway.tls_port}",
            ]

    run(scene())


def test_a_hello_without_end_is_ended(files):
    """A record after the other, none of which completes anything OpenSSL would refuse by itself."""
    rest = b"\x16\x03\x03\x40\x00" + bytes(16 * 1024)
    first = b"\x16\x03\x03\x40\x00" + b"\x01\x01\xff\xff" + bytes(16 * 1024 - 4)

    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            said = await says(b.gateway.tls_port, first + rest * 100)
            assert said in (None, b"") or said[:1] == b"\x15"
            assert counts(b, "handshake_failed") == (1,)
            await quiet(b)

    run(scene())


def test_who_says_nothing_is_ended_in_time_and_holds_no_place_of_a_handshake(files):
    async def scene():
        async with tls_bed(files, tls_handshake_s=0.2, tls_waiting=1) as b:
            said = await asyncio.gather(*(says(b.gateway.tls_port, b"") for _ in range(3)))
            assert set(said) <= {b"", None}
            assert counts(b, "handshake_timed_out", "turned_away") == (3, 0)
            await quiet(b)

    run(scene())


def test_who_stops_in_the_middle_is_ended_in_time(files):
    async def scene():
        async with tls_bed(files, tls_handshake_s=0.5) as b:
            said = await says(b.gateway.tls_port, hello()[:50])
            assert said in (b"", None)
            await says(b.gateway.tls_port, hello())  # and never a Finished
            assert counts(b, "handshake_timed_out", "new") == (2, 1)
            await quiet(b)

    run(scene())


@pytest.mark.parametrize("how", ["FIN", "RST"])
@pytest.mark.parametrize(
    ("sends", "hears"),
    [(b"", False), (hello()[:5], False), (hello()[:-1], False), (hello(), False), (hello(), True),
     (hello(V1_2), True), (hello() + b"\x14\x03\x03\x00\x01\x01" + b"\x17", True)],
    ids=["nothing", "a head", "but a byte", "a hello", "heard", "heard, 1.2", "begun to finish"],
)  # fmt: skip
def test_leaving_in_mid_handshake(files, sends, hears, how):
    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
            writer.write(sends)
            if hears:
                await record(reader)
            else:
                await b.until(lambda: b.gateway.door.newcomers)
            if how == "RST":
                writer.transport.abort()
            else:
                writer.write_eof()
                async with asyncio.timeout(PATIENCE_S):
                    await reader.read()
                writer.close()
            await quiet(b)
            # Who goes at once may be gone before anything was heard of them.
            assert counts(b, "handshake_failed") in ([(1,)] if hears else [(0,), (1,)])
            await serves(b, files)

    run(scene())


def test_who_leaves_while_the_handshake_is_computed(files):
    """And another one while it waits for its turn: that is never computed."""
    may_go_on, asked = threading.Event(), []
    already = len(alive(AskedSSLObject))

    def slow(resumed):
        asked.append(resumed)
        may_go_on.wait(PATIENCE_S)
        return True

    async def scene():
        async with tls_bed(files, tls_handshakes=1, **UNDER_WAY) as b:
            b.gateway.gate.connection = slow
            b.gateway._handshakes.context.sni_callback = _asking(slow)
            try:
                for number in (1, 2):
                    _, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
                    writer.write(hello())
                    await b.until(lambda: counts(b, "under_way") == (1,))
                    await b.until(lambda: len(asked) == 1)
                    writer.transport.abort()
                    await b.until(lambda n=number: counts(b, "handshake_failed") == (n,))
                    assert counts(b, "under_way") == (0,)
                assert len(asked) == 1
            finally:
                may_go_on.set()
            await b.until(lambda: len(alive(AskedSSLObject)) <= already)
            assert len(asked) == 1

    run(scene())


def _asking(ask):
    def decide(ssl_object, name, context):
        ssl_object.asked_as_resumed = False
        ssl_object.is_accepted = ask(False)

    return decide


def alive(kind):
    gc.collect()
    return [one for one in gc.get_objects() if isinstance(one, kind)]


# ---- the loop goes on --------------------------------------------------------------------------


def test_others_are_answered_while_a_handshake_is_computed(files):
    """Both plainly and by TLS, though the one thread there is has much to do."""
    may_go_on, asked = threading.Event(), threading.Event()

    def slow(resumed):
        asked.set()
        may_go_on.wait(PATIENCE_S)
        return True

    async def scene():
        async with tls_bed(files, tls_handshakes=1, **UNDER_WAY) as b:
            port = b.gateway.tls_port
            with await asyncio.to_thread(connect, port, trusting(files)) as customer:
                b.gateway._handshakes.context.sni_callback = _asking(slow)
                newcomer = asyncio.ensure_future(asyncio.to_thread(ask, port, trusting(files)))
                try:
                    await b.until(asked.is_set)
                    assert (await b.get("/")).endswith(b"you asked for /")
                    customer.sendall(GET)
                    assert (await asyncio.to_thread(customer.recv, 65536))[:13] == b"HTTP/1.1 200 "
                    assert not newcomer.done()
                finally:
                    may_go_on.set()
                assert (await newcomer)[0].startswith(b"HTTP/1.1 200 ")

    run(scene())


def test_a_dear_key_does_not_block_the_loop(tmp_path):
    """Sixty signatures of RSA-4096 in one thread, and a plain request goes before nearly all."""
    files = make_certificate(tmp_path, "rsa-4096")
    many = 60

    async def scene():
        async with tls_bed(files, tls_handshakes=1, **UNDER_WAY) as b:
            said = []

            async def shake_hands():
                reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
                writer.write(hello(V1_2))
                said.append(await record(reader))
                writer.transport.abort()

            tasks = [asyncio.ensure_future(shake_hands()) for _ in range(many)]
            await b.until(lambda: counts(b, "under_way") == (many,) or said)
            assert (await b.get("/")).endswith(b"you asked for /")
            assert len(said) < many
            await asyncio.gather(*tasks)
            await quiet(b)

    run(scene())


# ---- limits ------------------------------------------------------------------------------------


def test_one_handshake_too_many_is_reset_and_counted(files):
    async def scene():
        async with tls_bed(files, tls_waiting=2, **UNDER_WAY) as b:
            begun = []
            for _ in range(2):
                reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
                writer.write(hello())
                await record(reader)
                begun.append(writer)
            assert await says(b.gateway.tls_port, hello()) is None  # reset
            with pytest.raises(OSError, match=r"(?i)reset|EOF"):
                await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files))
            assert counts(b, "turned_away", "under_way", "new") == (2, 2, 2)
            begun[0].transport.abort()
            await b.until(lambda: counts(b, "under_way") == (1,))
            await serves(b, files)
            begun[1].transport.abort()
            await quiet(b)

    run(scene())


def test_connections_count_from_the_moment_they_are_accepted(files):
    async def scene():
        async with tls_bed(files, max_connections=3, **UNDER_WAY) as b:
            customer = await asyncio.to_thread(connect, b.gateway.tls_port, trusting(files))
            _, silent = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
            _, plain = await asyncio.open_connection("127.0.0.1", b.gateway.port)
            door = b.gateway.door
            await b.until(lambda: (len(door.customers), len(door.newcomers)) == (2, 1))
            for port in (b.gateway.port, b.gateway.tls_port):
                assert await says(port, b"") in (b"", None)
            assert door.turned_away == 2
            silent.transport.abort()
            await b.until(lambda: not door.newcomers)
            await serves(b, files)
            plain.transport.abort()
            customer.close()

    run(scene())


def test_draining_ends_handshakes_and_takes_leave_of_customers(files):
    async def scene():
        async with tls_bed(files, drain_s=PATIENCE_S, **UNDER_WAY) as b:
            port = b.gateway.tls_port
            customer = await asyncio.to_thread(connect, port, trusting(files, V1_2))
            _, silent = await asyncio.open_connection("127.0.0.1", port)
            reader, half = await asyncio.open_connection("127.0.0.1", port)
            half.write(hello())
            await record(reader)
            door = b.gateway.door
            await b.until(lambda: (len(door.customers), len(door.newcomers)) == (1, 2))
            assert await b.gateway.drain() is True
            # A close_notify: else it would be an SSLEOFError.
            assert await asyncio.to_thread(customer.recv, 1) == b""
            customer.close()
            silent.transport.abort()
            half.transport.abort()
            assert counts(b, "under_way") == (0,)
            await b.until(lambda: not _handshake_threads())

    run(scene())


def test_who_was_accepted_just_before_the_door_closed_does_not_outlive_it(files):
    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            b.gateway.door.drain()  # the listening sockets are still open
            assert await says(b.gateway.tls_port, b"") in (None, b"")
            assert await says(b.gateway.tls_port, hello()) in (None, b"")
            assert counts(b, "under_way", "new") == (0, 0)
            await quiet(b)

    run(scene())


def _handshake_threads():
    return [one for one in threading.enumerate() if one.name.startswith("handshake")]


def test_a_server_name_that_is_no_name_is_refused_without_a_word_in_the_log(files, monkeypatch):
    """Python itself complains of it where nobody can catch it."""
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complain)
    monkeypatch.setattr(sys, "__unraisablehook__", complaints.append)

    async def scene():
        async with tls_bed(files, **UNDER_WAY) as b:
            assert alert(await says(b.gateway.tls_port, hello(name=b"\xff\xfe")))
            assert counts(b, "new", "handshake_failed") == (0, 1)
            await serves(b, files)

    run(scene())
    assert complaints == []


# ---- storms ------------------------------------------------------------------------------------


class Storm:
    """New connections, so many at a time, each with a hello of its own."""

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
    """(open files, threads, RSS in bytes) of this process."""
    gc.collect()
    me = psutil.Process()
    return len(os.listdir("/proc/self/fd")), threading.active_count(), me.memory_info().rss


async def storm_of_refused(files, connections, most_growth_bytes):
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
        found = b.gateway.gate.counts()
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
    run(storm_of_refused(files, 1500, 24 * 2**20))


@pytest.mark.long
def test_a_storm_of_ten_thousand(files):
    run(storm_of_refused(files, 10_000, 32 * 2**20))


def test_a_storm_that_is_let_in_is_held_at_the_limit(files):
    """More at once than may be under way: they are reset at once, and then all is as before."""

    async def scene():
        already = len(alive((Handshake, AskedSSLObject)))
        async with tls_bed(files, tls_waiting=20, tls_handshake_s=2, shop_idle_s=0.2) as b:
            port = b.gateway.tls_port
            before = resources()
            begun = []
            for _ in range(20):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(hello())
                await record(reader)
                begun.append(writer)
            storm = Storm(port, at_once=100)
            task = asyncio.ensure_future(storm(500))
            await b.until(lambda: counts(b, "turned_away")[0] > 0 or task.done())
            for writer in begun:
                writer.transport.abort()
            await task
            await quiet(b)
            found = b.gateway.gate.counts()
            assert found["turned_away"] == storm.said.count(None) > 0
            assert found["new"] + found["turned_away"] == 520
            await serves(b, files)
            await b.until(lambda: len(alive((Handshake, AskedSSLObject))) <= already)
            await b.until(lambda: resources()[0] <= before[0])

    run(scene())


# ---- files and ports ---------------------------------------------------------------------------


async def refusal(files, **settings):
    """The one line with which a gateway does not start."""
    given = {
        "port": 0,
        "admin_port": 0,
        "tls_port": 0,
        "tls_certificate": files.server,
        "tls_key": files.key,
    } | settings
    made = []

    async def start():
        made.append(Gateway(Settings(**given), asyncio.get_running_loop()))
        await made[0].start()

    try:
        with pytest.raises(SettingsError, match=r"\A[^\n]+\Z") as caught:
            await start()
    finally:
        for gateway in made:
            await gateway.drain()
    return str(caught.value)


def test_files_that_cannot_be_used_name_the_setting(files, tmp_path):
    other = make_certificate(tmp_path / "other")
    rubbish = tmp_path / "rubbish"
    rubbish.write_text("rubbish")
    encrypted = tmp_path / "encrypted"
    encrypted.write_bytes(_encrypted(files.key))
    certificate, key = "DOORBUSTER_GATEWAY_TLS_CERTIFICATE: ", "DOORBUSTER_GATEWAY_TLS_KEY: "

    async def scene():
        for given, words in (
            ({"tls_certificate": tmp_path / "no"}, (certificate, "No such file")),
            ({"tls_key": tmp_path / "no"}, (key, "No such file")),
            ({"tls_key": tmp_path}, (key, "directory")),
            ({"tls_certificate": rubbish}, (certificate, "is no certificate in PEM form")),
            ({"tls_key": rubbish}, (key, "is no unencrypted private key")),
            ({"tls_key": encrypted}, (key, "is no unencrypted private key")),
            ({"tls_key": other.key}, (key, "is not the key of the certificate")),
            ({"tls_certificate": files.key}, (certificate, "is no certificate in PEM form")),
        ):
            said = await refusal(files, **given)
            assert all(word in said for word in words), said

    run(scene())


def _encrypted(key: Path) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_private_key(key.read_bytes(), None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )


def test_a_port_that_is_taken_names_the_setting(files):
    async def scene():
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            said = await refusal(files, tls_port=port)
            assert f"cannot listen on 127.0.0.1:{port}" in said
            assert "DOORBUSTER_GATEWAY_TLS_PORT" in said

    run(scene())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tls_port": "1", "tls_certificate": "c"}, "tls_port needs tls_key; `make certs`"),
        ({"tls_port": "1", "tls_key": "k"}, "tls_port needs tls_certificate; `make certs`"),
        ({"tls_port": "8080"}, "port and tls_port are both 8080"),
        ({"tls_port": "8082"}, "tls_port and shop_port are both 8082"),
        ({"tls_minimum": "1.1"}, "--tls-minimum: Input should be '1.2' or '1.3'"),
        ({"tls_handshakes": "0"}, "--tls-handshakes: Input should be greater than or equal to 1"),
        ({"tls_waiting": "0"}, "--tls-waiting: Input should be greater than or equal to 1"),
        ({"connection_admission_parameters": "x"}, "--connection-admission-parameters: must be"),
    ],
)
def test_settings_that_cannot_be(options, words):
    with pytest.raises(SettingsError) as caught:
        settings.read({}, options)
    assert words in str(caught.value)


def test_without_a_port_there_is_no_tls_and_no_thread(files):
    async def scene():
        async with tls_bed(files, tls_port=None) as b:
            assert (await b.get("/")).endswith(b"you asked for /")
            assert not _handshake_threads()
            _, snapshot = await b.admin("GET", "/snapshot")
            assert snapshot["connections"]["under_way"] == 0

    run(scene())
