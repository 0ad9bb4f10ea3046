"""The whole gateway on real sockets."""

import asyncio
import functools
import gzip
import random
import socket
from contextlib import suppress

import pytest

from gateway.policies import registry
from gateway.policies.registry import create
from gateway.service import Gateway
from gateway.settings import Settings, SettingsError
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import PATIENCE_S, bed, closed_port, run


def test_a_request_goes_through_and_back():
    async def scene():
        async with bed() as b:
            answer = await b.get("/books/7/", b"X-Request-Id: abc\r\nCookie: sessionid=s1\r\n")
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
            assert answer.endswith(b"you asked for /books/7/")
            assert b"X-Request-Id: abc\r\n" in answer
            ((method, target, fields, _),) = b.shop.requests
            assert (method, target, fields["host"]) == ("GET", "/books/7/", "shop")
            assert fields["x-forwarded-for"] == "127.0.0.1"
            assert fields["x-request-id"] == "abc"

    run(scene())


def test_every_response_has_a_request_id():
    async def scene():
        async with bed() as b:
            for data in (b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", b"\x00"):
                assert (await b.talk(data)).count(b"X-Request-Id: ") == 1

    run(scene())


def test_bodies_of_a_few_megabytes_both_ways():
    async def echo(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), 100_000):
            piece = body[start : start + 100_000]
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        writer.write(b"0\r\n\r\n")

    async def scene():
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

    run(scene())


def test_what_the_shop_compressed_stays_compressed():
    async def squeeze(method, target, fields, body, writer):
        content = gzip.compress(b"page" * 1000)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
            % (len(content), content)
        )

    async def scene():
        async with bed(Shop(squeeze)) as b:
            answer = await b.get("/", b"Accept-Encoding: gzip\r\n")
            assert gzip.decompress(answer.partition(b"\r\n\r\n")[2]) == b"page" * 1000
            assert b.shop.requests[0][2]["accept-encoding"] == "gzip"

    run(scene())


def test_never_more_in_service_than_workers():
    async def scene():
        async with bed(Shop(is_held=True), workers=5) as b:
            answers = asyncio.gather(*(b.get("/") for _ in range(60)))
            await b.until(lambda: (b.shop.busy, b.gateway.parts.requests) == (5, 60))
            b.shop.let_go(60)
            assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in await answers)
            assert b.shop.most_busy == 5
            assert b.shop.connections == 5

    run(scene())


def test_a_full_queue_drops_and_says_so():
    async def scene():
        async with bed(
            Shop(is_held=True), workers=1, policy="sq", policy_parameters={"capacity": 3}
        ) as b:
            answers = asyncio.gather(*(b.get("/") for _ in range(10)))
            await b.until(lambda: b.gateway.figures.counts()["Br-1"]["arrived"] == 10)
            b.shop.let_go(4)
            dropped = [a for a in await answers if b"X-Doorbuster-Verdict: dropped\r\n" in a]
            assert len(dropped) == 6
            assert all(answer.startswith(b"HTTP/1.1 503 ") for answer in dropped)
            counts = b.gateway.figures.counts()["Br-1"]
            assert (counts["arrived"], counts["answered"], counts["dropped"]) == (10, 4, 6)

    run(scene())


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


def test_who_is_turned_away_in_mid_upload_gets_the_page():
    async def scene():
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

    run(scene())


def test_a_shop_that_answers_in_mid_upload_is_heard():
    class Early(Shop):
        async def _one(self, reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly")
            while await reader.read(65536):
                pass
            raise ConnectionError

    async def scene():
        async with bed(Early(), linger_s=60) as b:
            counts = b.gateway.figures.counts
            answer = await answer_before_the_rest(b, lambda: counts()["Tr-1"]["answered"] == 1)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert answer.endswith(b"early")

    run(scene())


async def one_in_service_one_gone(b):
    """Return the first request's answer to come; a second has waited behind it and left."""
    first = asyncio.ensure_future(b.get("/"))
    await b.until(lambda: b.shop.busy == 1)
    _, writer = await b.connect()
    writer.write(b"GET /books/1/ HTTP/1.1\r\nHost: x\r\n\r\n")
    await b.until(lambda: b.gateway.parts.pages.dispatcher.waiting == 1)
    writer.transport.abort()
    return first


def test_leaving_the_queue_is_a_real_close_and_makes_an_orphan():
    async def scene():
        async with bed(Shop(is_held=True), workers=1) as b:
            first = await one_in_service_one_gone(b)
            await b.until(lambda: b.gateway.figures.counts()["Br-4"]["abandoned_waiting"] == 1)
            assert b.gateway.parts.pages.dispatcher.waiting == 1
            b.shop.let_go(2)
            await first
            await b.until(lambda: b.gateway.figures.counts()["Br-4"]["orphaned"] == 1)
            assert b.shop.finished == 2

    run(scene())


def test_a_shell_pipe_gets_its_answer():
    async def scene():
        async with bed(Shop(is_held=True)) as b:
            request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
            answer = asyncio.ensure_future(b.talk(request * 2, half_close=True))
            await b.until(lambda: b.shop.busy == 1)
            (customer,) = b.gateway.parts.connections.customers
            await b.until(lambda: customer.has_sent_eof)
            b.shop.let_go(2)
            said = await answer
            assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
            assert said.count(b"you asked for /") == 2
            assert b.gateway.figures.counts()["Br-1"]["answered"] == 2

    run(scene())


def test_a_shop_that_is_away_is_a_502_and_its_return_is_noticed():
    async def scene():
        async with bed(shop_port=closed_port()) as b:
            assert (await b.get("/")).startswith(b"HTTP/1.1 502 ")
            assert b.gateway.figures.counts()["Br-1"]["failed"] == 1
            assert b.gateway.parts.pages.dispatcher.in_service == 0

    run(scene())


def test_a_shop_that_breaks_off_is_shown():
    async def break_off(method, target, fields, body, writer):
        if target == "/":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        await writer.drain()
        writer.close()

    async def scene():
        async with bed(Shop(break_off)) as b:
            for target in ("/", "/search/"):
                answer = await b.get(target)
                assert b"half" in answer
                assert not answer.endswith(b"0\r\n\r\n")
            assert b.gateway.figures.counts()["Br-1"]["failed"] == 1

    run(scene())


def test_an_old_customer_sees_a_reset_where_nothing_else_could_tell():
    go_on = asyncio.Event()

    async def break_off(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
        await writer.drain()
        await go_on.wait()
        writer.transport.abort()

    async def scene():
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

    run(scene())


def test_a_slow_reader_does_not_keep_the_worker_of_an_ordinary_page():
    async def page(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n" + b"x" * 500_000)

    async def scene():
        async with bed(Shop(page), workers=1) as b:
            _, slow = await b.connect()
            slow.transport.pause_reading()
            slow.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await b.until(lambda: b.gateway.figures.counts()["Br-1"]["answered"] == 1)
            assert len(await b.get("/")) > 500_000
            slow.transport.abort()

    run(scene())


def test_a_slow_reader_of_something_large_holds_the_shop_back_then_is_cut_off():
    async def page(method, target, fields, body, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 40000000\r\n\r\n")
        for _ in range(400):
            writer.write(b"x" * 100_000)
            await writer.drain()

    async def scene():
        async with bed(Shop(page), workers=1, write_s=0.3) as b:
            _, slow = await b.connect()
            slow.transport.pause_reading()
            slow.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await b.until(lambda: b.shop.busy == 1)
            (customer,) = b.gateway.parts.connections.customers
            await b.until(lambda: customer.is_write_held)
            assert customer.buffered_response_bytes < 2_000_000
            await b.until(lambda: b.gateway.figures.counts()["Br-1"]["orphaned"] == 1)
            assert b.shop.finished == 1  # executed in full, read away
            slow.transport.abort()

    run(scene())


def has_finished(shop, requests):
    return shop.finished == requests


def test_switching_policies_under_load_loses_no_request():
    names = ["8q-lifo-pri", "always-lifo", "8q-af", "lifo-at-overload", "always-fifo", "sq"]

    async def scene():
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

    run(scene())


@pytest.mark.parametrize(
    ("fails_at", "in_force"), [("adopt", "sq"), ("abandonment", "always-lifo")]
)
def test_after_a_switch_that_failed_it_says_what_is_in_force(fails_at, in_force, monkeypatch):
    def fails(*_):
        raise RuntimeError("a fault of its own")

    def faulty(name, *chosen):
        policy = create(name, *chosen)
        setattr(policy, fails_at, fails)
        return policy

    async def scene():
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

    run(scene())


def test_draining_finishes_what_is_there_and_accepts_nobody():
    async def scene():
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

    run(scene())


def test_draining_ends_at_its_deadline():
    async def scene():
        async with bed(Shop(is_held=True), drain_s=0.1) as b:
            answer = asyncio.ensure_future(b.get("/"))
            await b.until(lambda: b.shop.busy == 1)
            assert await b.gateway.drain() is False
            assert await answer == b""

    run(scene())


@pytest.mark.parametrize("abandonment", ["ignore", "drop-queued", "cancel"])
def test_a_wild_crowd_before_a_wild_shop_leaves_nothing_behind(abandonment):
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

    async def scene():
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

    run(scene())


def test_who_finds_it_healthy_finds_the_door_open():
    """The admin API, which answers health checks, listens last."""

    async def scene():
        admin_port = closed_port("admin")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            given = {"port": taken.getsockname()[1], "admin_port": admin_port}
            gateway = Gateway(Settings(**given), asyncio.get_running_loop())
            with pytest.raises(SettingsError, match="DOORBUSTER_GATEWAY_PORT"):
                await gateway.start()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", admin_port)

    run(scene())
