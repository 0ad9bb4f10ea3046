"""HTTP over TLS works as plain HTTP: keep-alive, pipelining, large bodies,
back-pressure, endings."""

import asyncio
import contextlib
import socket
import ssl
import subprocess

import pytest

from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import PATIENCE_S
from tests.gateway.tls_customers import (
    GET,
    V1_2,
    V1_3,
    ask,
    connect,
    tls_bed,
    trusting,
)
from tests.skips import needs

versions = pytest.mark.parametrize("version", [V1_2, V1_3], ids=["1.2", "1.3"])


def hear_all(sock):
    """Return all that the gateway sends until its close_notify."""
    said = bytearray()
    while piece := sock.recv(65536):
        said += piece
    return bytes(said)


async def customer(b, files, version=None):
    return await asyncio.to_thread(connect, b.gateway.tls_port, trusting(files, version))


@versions
async def test_kept_and_pipelined_and_ended_by_a_close_notify(files, version):
    async with tls_bed(files) as b:
        with await customer(b, files, version) as sock:
            last = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            sock.sendall(GET * 20 + last)
            said = await asyncio.to_thread(hear_all, sock)  # SSLEOFError without close_notify
            assert said.count(b"HTTP/1.1 200 ") == 21
            assert said.endswith(b"you asked for /last")


@versions
async def test_large_bodies_both_ways(files, version):
    async def echo(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)

    body = bytes(range(256)) * 12_000
    async with tls_bed(files, Shop(echo)) as b:
        with await customer(b, files, version) as sock:
            head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            # One after the other: OpenSSL's connections are not for two threads at once.
            await asyncio.to_thread(sock.sendall, head % len(body) + body)
            said = await asyncio.to_thread(hear_all, sock)
            assert said.partition(b"\r\n\r\n")[2] == body


async def test_a_slow_reader_holds_the_shop_back_and_is_not_forgotten(files):
    async def page(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 40000000\r\n\r\n")
        for _ in range(400):
            writer.write(b"x" * 100_000)
            await writer.drain()

    async with tls_bed(files, Shop(page), workers=1, write_s=3600) as b:
        with await customer(b, files) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            await b.until(lambda: b.shop.busy == 1)
            (one,) = b.gateway.parts.connections.customers
            await b.until(lambda: one.is_write_held)
            assert one.buffered_response_bytes < 2_000_000
            assert b.shop.finished == 0
            said = await asyncio.to_thread(hear_all, sock)
            assert len(said.partition(b"\r\n\r\n")[2]) == 40_000_000


async def test_who_pipelines_without_end_is_not_read_for_ever(files):
    async with tls_bed(files, Shop(is_held=True), pipeline_bytes=1024) as b:
        # Sends and hears at once, which a blocking connection of OpenSSL's cannot.
        reader, writer = await asyncio.open_connection(
            "127.0.0.1",
            b.gateway.tls_port,
            ssl=trusting(files, None),
            server_hostname="localhost",
        )
        writer.write(GET)
        await b.until(lambda: b.shop.busy == 1)
        (one,) = b.gateway.parts.connections.customers
        many = 4000
        writer.write(GET * (many - 1))
        await b.until(lambda: one.is_held)
        assert one.unread_bytes <= 1024 + 16 * 1024  # a record at most
        b.shop.let_go(many)
        said = b""
        while said.count(b"you asked for /") < many:
            piece = await reader.read(65536)
            assert piece
            said += piece
        writer.close()
        with contextlib.suppress(OSError):  # the gateway may have closed first
            await writer.wait_closed()


async def test_a_refusal_is_not_lost_to_what_the_customer_still_sends(files):
    async with tls_bed(files) as b:
        with await customer(b, files) as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n")
            sock.sendall(b"x" * 100_000)
            said = await asyncio.to_thread(hear_all, sock)
            assert said.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("spoilt", [0, 5, -1], ids=["type", "start", "tag"])
async def test_a_record_that_was_tampered_with_ends_the_connection(files, spoilt):
    async with tls_bed(files, Shop(is_held=True)) as b:
        ours, theirs = socket.socketpair()
        raw = socket.create_connection(("127.0.0.1", b.gateway.tls_port), timeout=PATIENCE_S)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trusting(files).wrap_bio(incoming, outgoing, server_hostname="localhost")

        def handshake():
            while True:
                try:
                    tls.do_handshake()
                except ssl.SSLWantReadError:
                    raw.sendall(outgoing.read())
                    incoming.write(raw.recv(65536))
                else:
                    return raw.sendall(outgoing.read())

        await asyncio.to_thread(handshake)
        tls.write(GET)
        raw.sendall(outgoing.read())
        await b.until(lambda: b.shop.busy == 1)
        tls.write(GET)
        record = bytearray(outgoing.read())
        record[spoilt] ^= 0xFF
        raw.sendall(record)
        await b.until(lambda: not b.gateway.parts.connections.customers)
        assert len(b.shop.requests) == 1
        for sock in (ours, theirs, raw):
            sock.close()
        b.shop.let_go(1)


@needs("openssl")
@pytest.mark.parametrize("version", ["-tls1_3", "-tls1_2"])
async def test_new_keys_and_renegotiation_do_no_harm(files, version):
    """`K` of s_client asks for new keys on both sides (1.3), `R` for a renegotiation (1.2)."""

    async with tls_bed(files) as b:
        process = await asyncio.create_subprocess_exec(
            "openssl", "s_client", "-connect", f"127.0.0.1:{b.gateway.tls_port}", version,
            "-CAfile", str(files.authority), "-crlf",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

        async def request():
            process.stdin.write(b"GET / HTTP/1.1\nHost: x\n\n")
            await process.stdin.drain()
            async with asyncio.timeout(PATIENCE_S):
                return await process.stdout.readuntil(b"you asked for /")

        await request()
        process.stdin.write(b"K\n" if version == "-tls1_3" else b"R\n")
        await process.stdin.drain()
        if version == "-tls1_3":
            async with asyncio.timeout(PATIENCE_S):
                await process.stdout.readuntil(b"KEYUPDATE")
            for _ in range(3):
                await request()
        process.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            await process.stdout.read()
            await process.wait()
        said, *_ = await asyncio.to_thread(ask, b.gateway.tls_port, trusting(files))
        assert b"you asked for /" in said  # it goes on serving
        await b.until(lambda: not b.gateway.parts.connections.customers)


async def test_http_1_0_without_a_host_gets_the_name_of_this_door(files):
    async with tls_bed(files) as b:
        with await customer(b, files) as sock:
            sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
            await asyncio.to_thread(hear_all, sock)
        with await customer(b, files) as sock:
            sock.sendall(b"GET https://shop.example/a HTTP/1.1\r\nHost: shop.example\r\n"
                         b"X-Forwarded-Proto: http\r\nConnection: close\r\n\r\n")  # fmt: skip
            await asyncio.to_thread(hear_all, sock)
        first, second = (fields for _, _, fields, _ in b.shop.requests)
        assert first["host"] == f"127.0.0.1:{b.gateway.tls_port}"
        assert first["x-forwarded-proto"] == second["x-forwarded-proto"] == "https"
        assert second["host"] == "shop.example"
