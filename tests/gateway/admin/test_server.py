"""The admin API's connections: sizes, faults, times, on real sockets."""

import asyncio
import json
from contextlib import asynccontextmanager

from gateway.admin.api import LARGEST_CALL_BYTES, Answer
from gateway.admin.server import AdminConnection, AdminConnections
from gateway.http.connections import NEVER, Deadlines
from tests.gateway.real_sockets import PATIENCE_S


@asynccontextmanager
async def called(answer):
    """Yield the two ends of a connection whose calls are answered by `answer` (head, body)."""
    loop = asyncio.get_running_loop()
    ours, deadlines = [], Deadlines(loop)

    def connection():
        ours.append(AdminConnection(deadlines, answer, AdminConnections()))
        return ours[0]

    server = await loop.create_server(connection, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    try:
        yield reader, writer, ours
    finally:
        writer.close()
        while deadlines.watched:
            await asyncio.sleep(0)  # until it has heard of it
        server.close()


def put(length_bytes):
    return b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length_bytes


async def said(reader):
    """Return (status, decoded body) of the next answer."""
    async with asyncio.timeout(PATIENCE_S):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
        return int(head.split()[1]), json.loads(await reader.readexactly(length))


async def test_the_largest_call_comes_whole():
    async with called(lambda head, body: Answer(200, b"%d" % len(body))) as (reader, writer, _):
        for _ in range(2):
            writer.write(put(LARGEST_CALL_BYTES) + b"x" * LARGEST_CALL_BYTES)
            assert await said(reader) == (200, LARGEST_CALL_BYTES)


async def test_a_call_that_is_too_large_is_told_so_while_it_is_being_sent():
    length = LARGEST_CALL_BYTES + 1

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


async def test_a_fault_in_a_call_gets_an_answer_and_the_connection_goes_on(caplog):
    def answer(head, body):
        if body == b"x":
            raise RuntimeError("two\nlines")
        return Answer(200, body)

    async with called(answer) as (reader, writer, _):
        writer.write(put(1) + b"x" + put(1) + b"7")
        words = "the gateway could not carry out the call: RuntimeError: two lines"
        assert await said(reader) == (500, {"error": words})
        assert await said(reader) == (200, 7)
    assert [record.exc_info[0] for record in caplog.records] == [RuntimeError]


async def test_a_slow_call_has_no_deadline_and_its_caller_cannot_fill_the_memory():
    """While the gateway works on a call, the connection is not read."""
    is_asked, may_end = asyncio.Event(), asyncio.Event()

    async def answer(head, body):
        is_asked.set()
        await may_end.wait()
        return Answer(200, body)

    async with called(answer) as (reader, writer, ours):
        writer.write(put(1) + b"1" + put(1))
        await is_asked.wait()
        assert ours[0].deadline_s == NEVER
        writer.write(b"2" + b"x" * (1 << 24))
        for _ in range(100):
            await asyncio.sleep(0)
        assert writer.transport.get_write_buffer_size() > 1 << 20  # the gateway has not read it
        assert ours[0].deadline_s == NEVER
        may_end.set()
        assert [await said(reader) for _ in range(2)] == [(200, 1), (200, 2)]
        assert ours[0].deadline_s < NEVER


async def test_options_for_no_further_hop_have_an_answer_without_a_body():
    """RFC 9110, 8.6: an answer with status 204 has no Content-Length either."""
    async with called(lambda head, body: Answer(200, b"1")) as (reader, writer, _):
        writer.write(b"OPTIONS * HTTP/1.1\r\nHost: x\r\nMax-Forwards: 0\r\n\r\n")
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert answer.endswith(b"\r\n\r\n")
        assert b"\r\nAllow: " in answer
        assert b"Content-Length" not in answer
