"""A whole gateway on real sockets before a shop that a test writes, in one event loop."""

import asyncio
import functools
import json
import socket
import time
from contextlib import asynccontextmanager, suppress

import uvloop

from gateway.service import Gateway
from gateway.settings import Settings

run = uvloop.run

PATIENCE_S = 240.0  # for what takes milliseconds, on a machine that has much else to do


@functools.cache
def closed_port(service="shop"):
    """A port that refuses connections and stays taken, so that no other socket is given it."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))  # bound, never listening
    port = sock.getsockname()[1]
    sock.detach()  # open until the tests end
    return port


class Shop:
    """A small real HTTP server: counts what it gets, answers as told by `answer`.

    `answer` is a coroutine (method, target, fields, body, writer) → None. A shop that is held
    answers only as many requests as it is told to by `let_go`.
    """

    def __init__(self, answer=None, *, is_held=False):
        self.requests = []
        self.busy = 0
        self.most_busy = 0
        self.finished = 0
        self.connections = 0
        self._turns = asyncio.Semaphore(0) if is_held else None
        self._answer = answer or self._plain
        self._serving = set()

    async def _plain(self, method, target, fields, body, writer):
        content = b"" if method == "HEAD" else b"you asked for %b" % target.encode()
        length = len(b"you asked for ") + len(target)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (length, content))

    def let_go(self, requests):
        """So many requests, of those that are held or yet to come, are answered."""
        for _ in range(requests):
            self._turns.release()

    async def serve(self, reader, writer):
        self.connections += 1
        self._serving.add(asyncio.current_task())
        left = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with suppress(*left, RuntimeError):  # uvloop on a closed connection
            while True:
                await self._one(reader, writer)
        writer.close()

    async def stop(self):
        """Ends what is still being served."""
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving)

    async def _one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head[:-4].split("\r\n")
        method, target, _ = line.split(" ")
        fields = [tuple(field.split(": ", 1)) for field in rest]
        known = {name.lower(): value for name, value in fields}
        body = b""
        if "content-length" in known:
            body = await reader.readexactly(int(known["content-length"]))
        elif known.get("transfer-encoding") == "chunked":
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        self.requests.append((method, target, known, body))
        self.busy += 1
        self.most_busy = max(self.most_busy, self.busy)
        try:
            if self._turns is not None:
                await self._turns.acquire()
            await self._answer(method, target, known, body, writer)
            await writer.drain()
            self.finished += 1
        finally:
            self.busy -= 1


class Bed:
    """A running gateway and what a test needs to talk to it."""

    def __init__(self, gateway, shop):
        self.gateway = gateway
        self.shop = shop

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.gateway.port)

    async def talk(self, data, *, half_close=False):
        """Everything the gateway sends until it closes."""
        reader, writer = await self.connect()
        writer.write(data)
        if half_close:
            writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
        return answer

    async def get(self, target="/", fields=b"", method=b"GET"):
        """The whole answer to one request on a connection of its own."""
        head = b"%b %b HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n" % (method, target.encode())
        return await self.talk(head + fields + b"\r\n")

    async def admin(self, method, path, call=None, fields=b""):
        """(status, decoded body) of a call to the admin API; bytes are sent as they are."""
        port = self.gateway.admin_port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = (
            call if isinstance(call, bytes) else b"" if call is None else json.dumps(call).encode()
        )
        if b"Host" not in fields:
            fields += b"Host: 127.0.0.1:%d\r\n" % port
        if call is not None and b"Content-Type" not in fields:
            fields += b"Content-Type: application/json\r\n"
        writer.write(
            b"%b %b HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n%b\r\n%b"
            % (method.encode(), path.encode(), len(body), fields, body)
        )
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
        head, _, content = answer.partition(b"\r\n\r\n")
        status = int(head.split(b" ")[1])
        if b"application/json" in head:
            return status, json.loads(content)
        return status, content.decode()

    async def until(self, condition, limit_s=PATIENCE_S):
        """Waits until `condition()` holds; fails the test if it never does."""
        deadline_s = time.monotonic() + limit_s
        while not condition():
            assert time.monotonic() < deadline_s, "it never came true"
            await asyncio.sleep(0.002)


@asynccontextmanager
async def bed(shop=None, **settings):
    """A gateway before `shop`, torn down afterwards; settings override quick defaults."""
    shop = shop or Shop()
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(shop.serve, "127.0.0.1", 0)
    given = {
        "port": 0,
        "admin_port": 0,
        "shop_port": server.sockets[0].getsockname()[1],
        "shop_controller_port": closed_port("controller"),
        "drain_s": 0.05,
    } | settings
    gateway = Gateway(Settings(**given), loop)
    await gateway.start()
    try:
        yield Bed(gateway, shop)
    finally:
        await gateway.drain()
        server.close()
        await shop.stop()
