"""Customers leave on real sockets, plain and TLS, in every state and in every way.

The shop stops requests without a customer, as one with a sentry does. test_leaving.py explains the
states; the whole chain down to the database is in tests/system.
"""

import asyncio
import fcntl
import socket
import ssl
import termios
from contextlib import asynccontextmanager, suppress

import psutil
import pytest

from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import PATIENCE_S, bed
from tests.gateway.tls_customers import V1_2, V1_3, make_certificate, trusting
from tests.resetting import reset

GET = b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n"
PIPELINE_BYTES = 1024  # the least that can be set
BEHIND = {"nothing": b"", "one request": GET % b"/", "more than is read": (GET % b"/") * 200}


class StoppingShop(Shop):
    """A shop that answers `/search/` at once, begins `/browse/a/`, and holds all other requests.

    It stops a request whose stream ends before its answer, and closes the connection.
    """

    def __init__(self):
        super().__init__(is_held=True)
        self.stopped = []

    async def _one(self, reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        target = head.split(b" ")[1]
        self.requests.append(target)
        if target == b"/browse/a/":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst")
        if target != b"/search/" and not await self._is_let_go(reader):
            self.stopped.append(target)
            raise ConnectionError
        if target != b"/browse/a/":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        writer.write(b"whole")

    async def _is_let_go(self, reader):
        turn, end = (asyncio.ensure_future(it) for it in (self._turns.acquire(), reader.read(1)))
        await asyncio.wait((turn, end), return_when=asyncio.FIRST_COMPLETED)
        if turn.done():
            end.cancel()
            with suppress(asyncio.CancelledError):
                await end
            return True
        turn.cancel()
        assert end.result() == b""
        return False


class Caller:
    """A customer's socket, and the data that has come on it."""

    def __init__(self, sock):
        self.sock = sock
        self._said = b""

    def send(self, data):
        self.sock.sendall(data)

    def fill(self):
        """Send until neither the gateway nor the kernel takes any more."""
        self.sock.setblocking(False)
        with suppress(BlockingIOError, ssl.SSLWantWriteError):
            while True:
                self.sock.send(GET % b"/" * 1000)

    async def hear(self, ending):
        """Wait until this text has come, and forget all that came up to its end."""
        while ending not in self._said:
            piece = await asyncio.to_thread(self.sock.recv, 65536)
            assert piece, self._said
            self._said += piece
        self._said = self._said.partition(ending)[2]

    async def heard_all(self):
        """Return whether the gateway has closed without sending any more."""
        return self._said + await asyncio.to_thread(self.sock.recv, 1) == b""

    def close(self):
        """Close with FIN; with TLS without a close_notify."""
        self.sock.close()

    def close_notify(self):
        self.sock.setblocking(False)
        with suppress(ssl.SSLWantReadError):
            self.sock.unwrap()

    def close_notify_and_close(self):
        self.close_notify()
        self.sock.close()

    def reset(self):
        reset(self.sock)


class Street:
    """A bed, and the way in which its customers come: plainly, or by TLS."""

    def __init__(self, b, port, context):
        self.bed = b
        self._port = port
        self._context = context
        self.callers = []

    async def caller(self):
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
        if self._context is not None:
            sock = await asyncio.to_thread(
                self._context.wrap_socket, sock, server_hostname="localhost"
            )
        self.callers.append(caller := Caller(sock))
        return caller

    async def expect_counts(self, **grown):
        """Wait until the pages' fates are these, and no customer is connected any more."""

        def fates():
            found = {}
            for n in self.bed.gateway.parts.pages.dispatcher.counts().values():
                found |= {fate: found.get(fate, 0) + count for fate, count in n.items()}
            return {fate: count for fate, count in found.items() if count}

        gateway = self.bed.gateway
        await self.bed.until(
            lambda: not (gateway.parts.connections.customers or gateway.parts.requests)
        )
        assert fates() == grown


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("certificate"))


# With TLS 1.3 a client that closes over a ticket it has not read sends a reset; with 1.2 an end.
WIRES = {"tls": V1_2, "tls-1.3": V1_3}
PLAIN = [("plain", "close"), ("plain", "reset")]
TLS = [
    (wire, way)
    for wire in WIRES
    for way in ("close", "close_notify", "close_notify_and_close", "reset")
]
WAYS = PLAIN + TLS
everyone = pytest.mark.parametrize(("wire", "way"), WAYS)
behind = pytest.mark.parametrize("rest", BEHIND.values(), ids=BEHIND)
# A close_notify is data: behind what is not read nobody can see it. Closing is seen.
NOTICED = [
    pytest.param(wire, way, rest, id=f"{wire}-{way}-{name}")
    for wire, way in WAYS
    for name, rest in BEHIND.items()
    if way != "close_notify" or len(rest) <= PIPELINE_BYTES
]
everyone_behind = pytest.mark.parametrize(("wire", "way", "rest"), NOTICED)


@pytest.fixture
def street(request, wire, caplog):
    """Return a context manager: a gateway with one worker that cancels, and a shop that stops.

    The event loop must have nothing to report.
    """
    files = request.getfixturevalue("made") if wire in WIRES else None

    @asynccontextmanager
    async def street(**settings):
        given = {
            "workers": 1, "abandonment": "cancel", "pipeline_bytes": PIPELINE_BYTES,
            "cancel_s": 3600, "response_s": 3600,
        } | settings  # fmt: skip
        if files is not None:
            given |= {"tls_port": 0, "tls_certificate": files.server, "tls_key": files.key}
        async with bed(StoppingShop(), **given) as b:
            port, context = b.gateway.port, None
            if files is not None:
                port, context = b.gateway.tls_port, trusting(files, WIRES[wire])
            come = Street(b, port, context)
            try:
                yield come
            finally:
                for caller in come.callers:
                    caller.sock.close()

    yield street
    assert [record.message for record in caplog.records if record.name == "asyncio"] == []


async def in_service(street, target=b"/", rest=b"", before=False):
    """Return a caller whose request is at the shop."""
    caller = await street.caller()
    if before:
        caller.send(GET % b"/search/")
        await caller.hear(b"\r\n\r\nwhole")
    caller.send(GET % target + rest)
    await street.bed.until(lambda: street.bed.shop.requests[-1:] == [target])
    return caller


@pytest.mark.parametrize("wire", ["plain"])
async def test_who_leaves_before_there_is_a_connection_to_the_shop_leaves_none_behind(street):
    """A silent connection would hold a thread of the shop (Gunicorn's waits 5 s for a word)."""

    async with street(workers=20, half_close="leave", shop_idle_s=3600) as s:
        for _ in range(20):
            caller = await s.caller()
            caller.send(GET % b"/")
            caller.close()
        dispatcher = s.bed.gateway.parts.pages.dispatcher
        await s.bed.until(lambda: dispatcher.counts()["Br-1"]["arrived"] == 20)
        await s.expect_counts(arrived=20, dispatched=20, cancelled=20)
        await s.bed.until(lambda: not s.bed.gateway.parts.pools[0].open_connections)


@pytest.mark.parametrize("before", [False, True], ids=["fresh", "kept"])
@everyone_behind
async def test_in_service(street, way, rest, before):
    async with street() as s:
        caller = await in_service(s, rest=rest, before=before)
        getattr(caller, way)()
        await s.bed.until(lambda: s.bed.shop.stopped == [b"/"])
        more = {"answered": 1} if before else {}
        await s.expect_counts(arrived=1 + before, dispatched=1 + before, cancelled=1, **more)


@everyone_behind
async def test_streaming(street, way, rest):
    async with street() as s:
        caller = await in_service(s, b"/browse/a/", rest)
        await caller.hear(b"\r\n\r\nfirst")
        getattr(caller, way)()
        await s.bed.until(lambda: s.bed.shop.stopped == [b"/browse/a/"])
        await s.expect_counts(arrived=1, dispatched=1, cancelled=1)


@everyone_behind
async def test_queued(street, way, rest):
    async with street() as s:
        first = await in_service(s)
        caller = await s.caller()
        caller.send(GET % b"/books/7/" + rest)
        await s.bed.until(lambda: s.bed.gateway.parts.pages.dispatcher.waiting == 1)
        getattr(caller, way)()
        await s.bed.until(lambda: s.bed.gateway.parts.pages.dispatcher.waiting == 0)
        s.bed.shop.let_go(1)
        await first.hear(b"\r\n\r\nwhole")
        first.close()
        await s.expect_counts(arrived=2, dispatched=1, answered=1, abandoned_waiting=1, withdrawn=1)
        assert s.bed.shop.requests == [b"/"]


@pytest.mark.parametrize(
    "data",
    [b"", b"GET / HTTP/1.1\r\nHo", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"],
    ids=["nothing", "head", "body"],
)
@everyone
async def test_being_read(street, way, data):
    async with street() as s:
        caller = await s.caller()
        caller.send(data)
        await s.bed.until(lambda: len(s.bed.gateway.parts.connections.customers) == 1)
        getattr(caller, way)()
        await s.expect_counts()
        assert s.bed.shop.requests == []


@pytest.mark.parametrize("wire", ["plain", *WIRES])
async def test_a_reset_is_noticed_however_much_is_unread(street):
    """An end of the stream would wait behind unread data, as TCP's ends always do."""

    async with street() as s:
        caller = await in_service(s, rest=BEHIND["more than is read"])
        (customer,) = s.bed.gateway.parts.connections.customers
        await s.bed.until(lambda: customer.is_held)
        caller.fill()
        caller.reset()
        await s.bed.until(lambda: s.bed.shop.stopped == [b"/"])
        await s.expect_counts(arrived=1, dispatched=1, cancelled=1)


@pytest.mark.parametrize("how", ["probe", "wait"])
@pytest.mark.parametrize("way", ["close", "close_notify_and_close"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("is_far", [False, True], ids=["read", "unread"])
async def test_the_end_of_tls_is_the_customers_whatever_half_a_close_means(
    street, way, how, is_far
):
    """The same holds if only the kernel knows of it, because TLS does not read on either."""

    def unread_bytes(caller):
        (descriptor,) = (
            one.fd
            for one in psutil.Process().net_connections("tcp")
            if one.raddr == caller.sock.getsockname()
        )
        return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), "little")

    async with street(half_close=how) as s:
        caller = await in_service(s)
        while is_far and not unread_bytes(caller):
            caller.send((GET % b"/") * 500)
            await asyncio.sleep(0.01)  # time to be read
        getattr(caller, way)()
        await s.bed.until(lambda: s.bed.shop.stopped == [b"/"])
        await s.expect_counts(arrived=1, dispatched=1, cancelled=1)


async def test_the_end_of_a_stream_is_told_once():
    """The end is behind a body that waits for its worker, for which reading pauses and resumes."""

    async with bed(Shop(is_held=True), workers=1, buffered_body_bytes=1024) as b:
        reader, writer = await b.connect()
        writer.write(GET % b"/")
        upload = b"POST /checkout/login/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n"
        writer.write(upload + b"x" * 3000)
        writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            await reader.readuntil(b"HTTP/1.1 100 Continue\r\n\r\n")
            other = asyncio.ensure_future(b.get("/"))
            await b.until(lambda: b.gateway.parts.pages.dispatcher.waiting == 1)
            b.shop.let_go(1)
            await b.until(lambda: b.gateway.figures.counts()["Tr-1"]["arrived"] == 1)
            b.shop.let_go(2)
            said = await reader.read()
            await other
        writer.close()
        assert said.count(b"you asked for /") == 2
        assert b"100 Continue" not in said


@pytest.mark.parametrize("wire", ["plain"])
@behind
async def test_who_ends_the_stream_and_waits_is_answered(street, rest):
    async with street() as s:
        caller = await in_service(s, rest=rest)
        caller.sock.shutdown(socket.SHUT_WR)
        await caller.hear(b"HTTP/1.1 100 Continue\r\n\r\n")
        s.bed.shop.let_go(1 + rest.count(b"GET"))
        for _ in range(1 + rest.count(b"GET")):
            await caller.hear(b"\r\n\r\nwhole")
        assert await caller.heard_all()
        caller.close()
        answered = 1 + rest.count(b"GET")
        await s.expect_counts(arrived=answered, dispatched=answered, answered=answered)
