"""Handshakes that go wrong or take long: other customers are not affected, nothing stays behind."""

import asyncio
import socket
import ssl
import sys
import threading

import pytest

from gateway.__main__ import complain
from gateway.tls.context import AskedSSLObject
from tests.gateway.real_sockets import PATIENCE_S
from tests.gateway.tls_customers import (
    GET,
    UNDER_WAY,
    V1_2,
    alert,
    alive,
    ask,
    asking,
    connect,
    counts,
    hello,
    make_certificate,
    quiet,
    record,
    says,
    serves,
    tls_bed,
    trusting,
)


async def test_byte_by_byte(files):
    """The whole handshake and a request arrive with each byte in a separate segment."""

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

    async with tls_bed(files, **UNDER_WAY) as b:
        answer = await asyncio.to_thread(trickle, b.gateway.tls_port)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert counts(b, "new", "resumed", "handshake_failed") == (1, 0, 0)
        await quiet(b)


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
async def test_no_tls_is_ended_at_once(files, data):
    async with tls_bed(files, **UNDER_WAY) as b:
        said = await says(b.gateway.tls_port, data)
        assert said in (None, b"") or said[:1] == b"\x15"
        assert counts(b, "new", "resumed", "handshake_failed") == (0, 0, 1)
        await quiet(b)
        await serves(b, files)


@pytest.mark.parametrize("rest", [b"", b"x" * 300_000], ids=["alone", "with much behind it"])
async def test_plain_http_is_told_to_come_by_https(files, rest):
    async with tls_bed(files, **UNDER_WAY) as b:
        said = await says(b.gateway.tls_port, GET + rest)
        assert said is not None
        assert said.startswith(b"HTTP/1.1 400 ")
        assert b"HTTPS" in said
        assert counts(b, "new", "resumed", "handshake_failed") == (0, 0, 1)
        assert b.gateway.parts.context.refusals[400] == 1
        await quiet(b)
        await serves(b, files)


async def test_the_gateway_names_both_of_its_doors(files):
    async with tls_bed(files) as b:
        assert b.gateway.addresses == [
            f"http://127.0.0.1:{b.gateway.port}",
            f"https://127.0.0.1:{b.gateway.tls_port}",
        ]


async def test_a_hello_without_end_is_ended(files):
    """Each record leaves the hello incomplete, so OpenSSL alone would never refuse."""
    rest = b"\x16\x03\x03\x40\x00" + bytes(16 * 1024)
    first = b"\x16\x03\x03\x40\x00" + b"\x01\x01\xff\xff" + bytes(16 * 1024 - 4)

    async with tls_bed(files, **UNDER_WAY) as b:
        said = await says(b.gateway.tls_port, first + rest * 100)
        assert said in (None, b"") or said[:1] == b"\x15"
        assert counts(b, "handshake_failed") == (1,)
        await quiet(b)


async def test_who_says_nothing_is_ended_in_time_and_holds_no_place_of_a_handshake(files):
    async with tls_bed(files, tls_handshake_s=0.2, tls_waiting=1) as b:
        said = await asyncio.gather(*(says(b.gateway.tls_port, b"") for _ in range(3)))
        assert set(said) <= {b"", None}
        assert counts(b, "handshake_timed_out", "turned_away") == (3, 0)
        await quiet(b)


async def test_who_stops_in_the_middle_is_ended_in_time(files):
    async with tls_bed(files, tls_handshake_s=0.5) as b:
        said = await says(b.gateway.tls_port, hello()[:50])
        assert said in (b"", None)
        await says(b.gateway.tls_port, hello())  # and never a Finished
        assert counts(b, "handshake_timed_out", "new") == (2, 1)
        await quiet(b)


@pytest.mark.parametrize("how", ["FIN", "RST"])
@pytest.mark.parametrize(
    ("sends", "hears"),
    [(b"", False), (hello()[:5], False), (hello()[:-1], False), (hello(), False), (hello(), True),
     (hello(V1_2), True), (hello() + b"\x14\x03\x03\x00\x01\x01" + b"\x17", True)],
    ids=["nothing", "a head", "but a byte", "a hello", "heard", "heard, 1.2", "begun to finish"],
)  # fmt: skip
async def test_leaving_in_mid_handshake(files, sends, hears, how):
    async with tls_bed(files, **UNDER_WAY) as b:
        reader, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
        writer.write(sends)
        if hears:
            await record(reader)
        else:
            await b.until(lambda: b.gateway.parts.connections.newcomers)
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


async def test_who_leaves_while_the_handshake_is_computed(files):
    """Another customer leaves while it waits for its turn: that handshake is never computed."""
    may_go_on, asked = threading.Event(), []
    already = len(alive(AskedSSLObject))

    def slow(resumed):
        asked.append(resumed)
        may_go_on.wait(PATIENCE_S)
        return True

    async with tls_bed(files, tls_handshakes=1, **UNDER_WAY) as b:
        b.gateway.parts.gate.connection = slow
        b.gateway.parts.handshakes.context.sni_callback = asking(slow)
        try:
            for number in (1, 2):
                _, writer = await asyncio.open_connection("127.0.0.1", b.gateway.tls_port)
                writer.write(hello(psk=b"t" * 192))  # the gate is asked in the thread
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


async def test_others_are_answered_while_a_handshake_is_computed(files):
    """Plain and TLS requests are answered, though the only thread has much work."""
    may_go_on, asked = threading.Event(), threading.Event()

    def slow(resumed):
        asked.set()
        may_go_on.wait(PATIENCE_S)
        return True

    async with tls_bed(files, tls_handshakes=1, **UNDER_WAY) as b:
        port = b.gateway.tls_port
        with await asyncio.to_thread(connect, port, trusting(files)) as customer:
            b.gateway.parts.handshakes.context.sni_callback = asking(slow)
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


async def test_a_dear_key_does_not_block_the_loop(tmp_path):
    """Sixty signatures of RSA-4096 fill one thread; a plain request is answered before
    nearly all."""
    files = make_certificate(tmp_path, "rsa-4096")
    many = 60

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


async def test_a_server_name_that_is_no_name_is_refused_without_a_word_in_the_log(
    files, monkeypatch
):
    """Python itself reports it where no caller can catch it."""
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complain)
    monkeypatch.setattr(sys, "__unraisablehook__", complaints.append)

    async with tls_bed(files, **UNDER_WAY) as b:
        assert alert(await says(b.gateway.tls_port, hello(name=b"\xff\xfe")))
        assert counts(b, "new", "handshake_failed") == (1, 1)
        await serves(b, files)
    assert complaints == []
