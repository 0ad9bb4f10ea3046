"""The whole gateway on real sockets."""

import asyncio
import functools
import random
import socket
from contextlib import suppress

import pytest

from gateway.policies import registry
from gateway.policies.registry import create
from gateway.service import Gateway
from gateway.settings import Settings, SettingsError
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import PATIENCE_S, bed, closed_port


async def test_a_request_goes_through_and_back():
    async with bed() as b:
        answer = await b.get("/books/7/", b"X-Request-Id: abc\r\nCookie: sessionid=s1\r\n")
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"you asked for /books/7/")
        assert b"X-Request-Id: abc\r\n" in answer
        ((method, target, fields, _),) = b.shop.requests
        assert (method, target, fields["host"]) == ("GET", "/books/7/", "shop")
        assert fields["x-forwarded-for"] == "127.0.0.1"
        assert fields["x-request-id"] == "abc"


async def test_bodies_of_a_few_megabytes_both_ways():
    async def echo(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 100_000):
            piece = body[start : start + 100_000]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    body = bytes(range(256)) * 12_000
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(body[n : n + 7777]), body[n : n + 7777])
        for n in range(0, len(body), 7777)
    )
    async with bed(Shop(echo)) as b:
        for framing, data in (
            (b"Content-Length: %d" % len(body), body),
            (b"Transfer-Encoding: chunked", chunks + b"0\r\n\r\n"),
        ):
            request = b"POST /checkout/login/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
            reader, writer = await b.connect()
            writer.write(request + framing + b"\r\n\r\n" + data)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            got = b""
            while size := int(await reader.readline(), 16):
                got += await reader.readexactly(size)
                await reader.readline()
            writer.close()
            assert got == body
        counts = b.gateway.figures.counts()["Tr-1"]
        assert (counts["arrived"], counts["answered"]) == (2, 2)


LARGE = b"POST /checkout/login/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"


async def answer_before_the_rest(b, until):
    """Return the answer when a client sends part of a large body, and the rest after `until()`."""
    reader, writer = await b.connect()
    writer.write(LARGE + b"a" * 300_000)
    await b.until(until)
    writer.write(b"a" * 700_000)  # onto a closed connection: a reset, and the answer were lost
    await writer.drain()
    async with asyncio.timeout(PATIENCE_S):
        answer = await reader.read()
    writer.close()
    return answer


async def test_who_is_turned_away_in_mid_upload_gets_the_page():
    given = {"workers": 1, "policy_parameters": {"capacity": 1}}
    async with bed(Shop(is_held=True), **given, linger_s=60) as b:
        others = asyncio.gather(*(b.get("/") for _ in range(2)))
        await b.until(lambda: b.gateway.parts.requests == 2)
        counts = b.gateway.figures.counts
        answer = await answer_before_the_rest(b, lambda: counts()["Tr-1"]["dropped"] == 1)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert answer.endswith(b"</html>\n")
        b.shop.let_go(2)
        await others


async def test_a_shop_that_answers_in_mid_upload_is_heard():
    class Early(Shop):
        async def _one(self, reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
            while await reader.read(65536):
                pass
            raise ConnectionError

    async with bed(Early(), linger_s=60) as b:
        counts = b.gateway.figures.counts
        answer = await answer_before_the_rest(b, lambda: counts()["Tr-1"]["answered"] == 1)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert answer.endswith(b"early")


async def one_in_service_one_gone(b):
    """Return the first request's answer to come; a second has waited behind it and left."""
    first = asyncio.ensure_future(b.get("/"))
    await b.until(lambda: b.shop.busy == 1)
    _, writer = await b.connect()
    writer.write(b"GET /books/1/ HTTP/1.1\r\nHost: x\r\n\r\n")
    await b.until(lambda: b.gateway.parts.pages.dispatcher.waiting == 1)
    writer.transport.abort()
    return first


async def test_a_shop_that_is_away_is_a_502_and_its_return_is_noticed():
    async with bed(shop_port=closed_port()) as b:
        assert (await b.get("/")).startswith(b"HTTP/1.1 502 ")
        assert b.gateway.figures.counts()["Br-1"]["failed"] == 1
        assert b.gateway.parts.pages.dispatcher.in_service == 0


async def test_an_old_customer_sees_a_reset_where_nothing_else_could_tell():
    go_on = asyncio.Event()

    async def break_off(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        await writer.drain()
        await go_on.wait()
        writer.transport.abort()

    async with bed(Shop(break_off)) as b:
        reader, writer = await b.connect()
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        assert (await reader.readuntil(b"half")).endswith(b"half")
        go_on.set()
        try:
            await reader.read()
        except ConnectionResetError:
            pass
        else:
            raise AssertionError("the cut looks like a whole response")
        writer.close()


def has_finished(shop, requests):
    return shop.finished == requests


async def test_switching_policies_under_load_loses_no_request():
    names = ["8q-lifo-pri", "always-lifo", "8q-af", "lifo-at-overload", "always-fifo", "sq"]

    async with bed(Shop(is_held=True), workers=3) as b:
        targets = ["/", "/search/", "/books/1/", "/browse/a/", "/checkout/login/"]
        waiting = [asyncio.ensure_future(b.get(targets[n % 5])) for n in range(90)]
        await b.until(lambda: b.gateway.parts.requests == 90)
        for name in names:
            status, policy = await b.admin("PUT", "/policy", {"name": name})
            assert (status, policy["name"]) == (200, name)
            assert b.gateway.parts.pages.dispatcher.waiting > 0
            in_all = b.shop.finished + 10
            b.shop.let_go(10)
            await b.until(functools.partial(has_finished, b.shop, in_all))
        b.shop.let_go(30)
        answers = await asyncio.gather(*waiting)
        assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
        counts = b.gateway.figures.counts().values()
        assert sum(page["arrived"] for page in counts) == 90
        assert sum(page["answered"] for page in counts) == 90
        assert b.shop.most_busy == 3


@pytest.mark.parametrize(
    ("fails_at", "in_force"), [("adopt", "sq"), ("abandonment", "always-lifo")]
)
async def test_after_a_switch_that_failed_it_says_what_is_in_force(fails_at, in_force, monkeypatch):
    def fails(*_):
        raise RuntimeError("a fault of its own")

    def faulty(name, *chosen):
        policy = create(name, *chosen)
        setattr(policy, fails_at, fails)
        return policy

    async with bed(Shop(is_held=True), workers=1) as b:
        first = await one_in_service_one_gone(b)
        await b.until(lambda: b.gateway.figures.abandonment()["left_waiting"] == 1)
        monkeypatch.setattr(registry, "create", faulty)
        status, answer = await b.admin("PUT", "/policy", {"name": "always-lifo"})
        assert (status, "a fault of its own" in answer["error"]) == (500, True)
        _, snapshot = await b.admin("GET", "/snapshot")
        assert snapshot["policy"]["name"] == in_force
        assert b.gateway.parts.pages.dispatcher.policy.name == in_force
        b.shop.let_go(2)
        assert (await first).startswith(b"HTTP/1.1 200 ")


async def test_draining_finishes_what_is_there_and_accepts_nobody():
    async with bed(Shop(is_held=True), workers=1, drain_s=60) as b:
        answers = [asyncio.ensure_future(b.get("/")) for _ in range(4)]
        await b.until(lambda: b.gateway.parts.requests == 4)
        port = b.gateway.port
        draining = asyncio.ensure_future(b.gateway.drain())
        await asyncio.sleep(0)
        assert await b.admin("GET", "/health") == (503, {"status": "draining"})
        try:
            await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            pass
        else:
            raise AssertionError("a new connection was accepted")
        b.shop.let_go(4)
        assert all(a.endswith(b"you asked for /") for a in await asyncio.gather(*answers))
        assert await draining is True


@pytest.mark.parametrize("abandonment", ["ignore", "drop-queued", "cancel"])
async def test_a_wild_crowd_before_a_wild_shop_leaves_nothing_behind(abandonment):
    """Customers send slowly, pipeline, break off, leave; the shop breaks rules, breaks off, is
    slow."""
    dice = random.Random(4)
    faults = []

    async def wild(method, target, fields, body, writer):
        await asyncio.sleep(dice.random() * 0.02)
        match dice.randrange(9):
            case 0:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")
                await writer.drain()
                writer.close()
            case 1:
                writer.transport.abort()
            case 2:
                writer.write(b"nonsense\r\n\r\n")
            case 3:
                writer.write(b"HTTP/1.1 200 OK\r\n\r\nends with the connection")
                await writer.drain()
                writer.close()
            case 4:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(3):
                    writer.write(b"2710\r\n" + b"x" * 10_000 + b"\r\n")
                    await asyncio.sleep(0)
                writer.write(b"0\r\n\r\n")
            case _:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")

    async def customer(b):
        reader, writer = await b.connect()
        target = dice.choice([b"/", b"/search/", b"/static/x", b"/checkout/login/"])
        body = b"x" * dice.choice([0, 10, 200_000])
        data = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (
            target, len(body), body,
        )  # fmt: skip
        data = data * dice.choice([1, 1, 1, 4])
        with suppress(OSError, RuntimeError, TimeoutError):  # uvloop on a closed connection
            for _ in range(dice.choice([1, 1, 5])):
                cut = dice.randrange(len(data))
                writer.write(data[:cut])
                await asyncio.sleep(dice.random() * 0.01)
                writer.write(data[cut:] if dice.random() < 0.8 else b"\x00")
                if dice.random() < 0.3:
                    writer.write_eof()
                    break
            async with asyncio.timeout(dice.choice([0.005, 0.05, 0.2])):
                await reader.read(dice.choice([1, 100, 1 << 20]))
        writer.transport.abort()

    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    given = {"workers": 4, "policy": "8q-lifo-pri", "response_s": 1}
    async with bed(Shop(wild), abandonment=abandonment, **given) as b:
        for _ in range(6):
            await asyncio.gather(*(customer(b) for _ in range(60)))
        driver = b.gateway.parts.pages.dispatcher
        await b.until(
            lambda: b.gateway.parts.requests == 0 and not b.gateway.parts.connections.customers
        )
        assert (driver.in_service, driver.waiting, b.gateway.parts.requests) == (0, 0, 0)
        for page, fates in b.gateway.figures.counts().items():
            refused = ("dropped", "rejected", "withdrawn")
            ends = (*refused, "answered", "orphaned", "failed", "cancelled")
            assert fates["arrived"] == sum(fates[end] for end in ends), page
        while not (await b.get()).endswith(b"whole"):
            pass  # it goes on serving, as well as such a shop can
        assert b.gateway.parts.pools[0].open_connections <= 4
    ours = [fault for fault in faults if "gateway/" in str(fault) or "Gateway" in str(fault)]
    assert ours == []


async def test_who_finds_it_healthy_finds_the_door_open():
    """The admin API, which answers health checks, listens last."""

    admin_port = closed_port("admin")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        given = {"port": taken.getsockname()[1], "admin_port": admin_port}
        gateway = Gateway(Settings(**given), asyncio.get_running_loop())
        with pytest.raises(SettingsError, match="DOORBUSTER_GATEWAY_PORT"):
            await gateway.start()
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", admin_port)
