"""A whole gateway on real sockets with a fake shop, in one event loop."""

import asyncio
import functools
import json
import socket
from contextlib import asynccontextmanager

import uvloop

from gateway.service import Gateway
from gateway.settings import Settings
from tests.fake_shop.in_loop import Shop
from tests.waiting import until_in_loop

run = uvloop.run

PATIENCE_S = 240.0  # for what takes milliseconds, on a machine that has much else to do


@functools.cache
def closed_port(service="shop"):
    """Return a port that refuses connections and stays taken, so that no other socket gets it."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))  # bound, never listening
    port = sock.getsockname()[1]
    sock.detach()  # open until the tests end
    return port


class Bed:
    """A running gateway, and the calls that a test needs."""

    def __init__(self, gateway, shop):
        self.gateway = gateway
        self.shop = shop

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.gateway.port)

    async def talk(self, data, *, half_close=False):
        """Return everything the gateway sends until it closes."""
        reader, writer = await self.connect()
        writer.write(data)
        if half_close:
            writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
        writer.close()
        return answer

    async def get(self, target="/", fields=b"", method=b"GET"):
        """Return the whole answer to one request on a separate connection."""
        head = b"%b %b HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n" % (method, target.encode())
        return await self.talk(head + fields + b"\r\n")

    async def admin(self, method, path, call=None, fields=b""):
        """Return (status, decoded body) of a call to the admin API; bytes are sent unchanged."""
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
        """Wait until `condition()` holds; fail the test if it never does."""
        await until_in_loop(condition, limit_s)


@asynccontextmanager
async def bed(shop=None, **settings):
    """Run a gateway with `shop`; settings override quick defaults."""
    shop = shop or Shop()
    loop = asyncio.get_running_loop()
    await shop.start()
    given = {
        "port": 0,
        "admin_port": 0,
        "shop_port": shop.port,
        "shop_controller_port": closed_port("controller"),
        "drain_s": 0.05,
    } | settings
    try:  # a loop that closes with a listening shop would wait for ever
        gateway = Gateway(Settings(**given), loop)
        await gateway.start()
        try:
            yield Bed(gateway, shop)
        finally:
            await gateway.drain()
    finally:
        await shop.stop()
