"""A shop in the event loop of the gateway under test; it counts and may hold requests."""

import asyncio
from contextlib import asynccontextmanager, suppress


class Shop:
    """A small real HTTP server that counts its requests and answers by `answer`.

    `answer` is a coroutine (method, target, fields, body, writer) → None. A shop that is held
    answers only as many requests as `let_go` allows.
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
        self._server = None

    async def _plain(self, method, target, fields, body, writer):
        content = b"" if method == "HEAD" else b"you asked for %b" % target.encode()
        length = len(b"you asked for ") + len(target)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (length, content))

    def let_go(self, requests):
        """Answer this many requests, of those that are held or yet to come."""
        for _ in range(requests):
            self._turns.release()

    async def start(self, port=0):
        """Listen on this port of the loopback, or on a free one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    @property
    def port(self):
        """Return the port where the shop listens."""
        return self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        self.connections += 1
        self._serving.add(asyncio.current_task())
        left = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with suppress(*left, RuntimeError):  # uvloop on a closed connection
            while True:
                await self._one(reader, writer)
        writer.close()

    def stop_listening(self):
        """Take no more connections; open ones go on."""
        self._server.close()

    def hang_up(self):
        """End all connections."""
        for task in self._serving:
            task.cancel()

    async def stop(self):
        """Stop listening, and end the requests that are still being served."""
        self.stop_listening()
        self.hang_up()
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


@asynccontextmanager
async def serving(shop):
    """Let a shop listen until the block ends."""
    await shop.start()
    try:
        yield shop
    finally:
        await shop.stop()
