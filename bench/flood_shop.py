"""The shop of `bench.flood`, whose 30 workers share a virtual processor.

A page occupies the processor for 1 / capacity seconds, in slices, and requests in service take
turns. The shop only waits during a slice, so the flood's client cannot make the shop slower. `GET
/counts` returns the seconds of work done, for the sessions and for the flood.
"""

import asyncio
import json
import sys

WORKERS = 30
SLICES = 3
COUNTS = "/counts"
FLOOD = "flood"
"""The User-Agent of the flood."""
_PAGE = b"<h1>A page of the shop</h1>" * 40


class Shop:
    """The virtual processor, its workers, and the work that it has done."""

    def __init__(self, capacity_rps: float) -> None:
        self._slice_s = 1 / capacity_rps / SLICES
        self._turn = asyncio.Lock()
        self._workers = asyncio.Semaphore(WORKERS)
        self._in_service = 0
        self._free_s = 0.0
        self.work_s = {"sessions": 0.0, "flood": 0.0}

    async def serve(self, origin: str) -> None:
        """Do the work of one page, and count it for `origin`, which is `sessions` or `flood`."""
        async with self._workers:
            self._in_service += 1
            try:
                if self._in_service == 1:  # the processor was idle
                    self._free_s = max(self._free_s, _now_s())
                for _ in range(SLICES):
                    async with self._turn:
                        # A wait that ends late shortens the next one, so that the capacity is
                        # exact.
                        self._free_s += self._slice_s
                        await asyncio.sleep(max(0.0, self._free_s - _now_s()))
                    self.work_s[origin] += self._slice_s
            finally:
                self._in_service -= 1

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection until the proxy closes it."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                if head.split(" ", 2)[1] == COUNTS:
                    body = json.dumps(self.work_s).encode()
                else:
                    is_flood = f"user-agent: {FLOOD}\r\n" in head.lower()
                    await self.serve("flood" if is_flood else "sessions")
                    body = _PAGE
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n")
                writer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def _now_s() -> float:
    return asyncio.get_running_loop().time()


async def main(port: int, capacity_rps: float) -> None:
    """Serve on a port of this machine until the process is stopped."""
    server = await asyncio.start_server(
        Shop(capacity_rps).connected, "127.0.0.1", port, backlog=1024
    )
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
