"""The admin API's connections: sizes, faults, times, on real sockets."""

import asyncio
import json
from contextlib import asynccontextmanager

from gateway.admin import LARGEST_CALL_BYTES, Answer
from gateway.admin_server import AdminConnection
from gateway.deadlines import Deadlines
from tests.gateway.real_sockets import PATIENCE_S, run


@asynccontextmanager
async def called(answer):
    """The two ends of a connection whose calls are answered by `answer` (head, body)."""
    loop = asyncio.get_running_loop()
    ours = []

    def connection():
        ours.append(AdminConnection(Deadlines(loop), answer))
        return ours[0]

    server = await loop.create_server(connection, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer, ours
    finally:
        writer.close()
        while ours[0]._deadlines.watched:
            await asyncio.sleep(0)  # until it has heard of it
        server.close()


def put(length_bytes):
    return b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length_bytes


async def said(reader):
    """(status, decoded body) of the next answer."""
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
        return int(head.split()[1]), json.loads(await reader.readexactly(length))


def test_the_largest_call_comes_whole():
    async def scene():
        async with called(lambda head, body: Answer(200, b"%d" % len(body))) as (reader, writer, _):
            for _ in range(2):
                writer.write(put(LARGEST_CALL_BYTES) + b"x" * LARGEST_CALL_BYTES)
                assert await said(reader) == (200, LARGEST_CALL_BYTES)

    run(scene())


def test_a_call_that_is_too_large_is_told_so_while_it_is_being_sent():
    length = LARGEST_CALL_BYTES + 1

    async def scene():
        async with called(lambda head, body: Answer(200, b"1")) as (reader, writer, _):
            writer.write(put(length))
            answer = asyncio.ensure_future(said(reader))
            for _ in range(10):
                writer.write(b"x" * (length // 10))
                await writer.drain()
            status, answer = await answer
            assert status == 413
            words = f"the body of {length} bytes exceeds {LARGEST_CALL_BYTES} bytes"
            assert answer["error"] == words
            assert await reader.read() == b""

    run(scene())
