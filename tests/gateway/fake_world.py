"""A gateway without sockets: real connections, queues and policy over transports that record.

Time stands still until a test moves it; callbacks run when a test calls `run`.
"""

import asyncio
import heapq
from collections import deque

from gateway.clock import PaperClock
from gateway.http.connections import Connections, Deadlines
from gateway.http.customer import Customer, Frontend
from gateway.http.exchange import ResponseContext
from gateway.http.hangups import Hangups
from gateway.http.limits import BodyLimits, CustomerLimits, HeadLimits
from gateway.http.pages import load
from gateway.http.session_cookie import SessionCookie
from gateway.http.sessions import Sessions
from gateway.http.upstream import Pool, ShopAddress, ShopConnection
from gateway.policies.admission import Combination
from gateway.policies.registry import create
from gateway.queues.request_queues import BypassQueue, PolicyQueue
from gateway.queues.routing import OTHER, Bypass, Router


class FakeLoop:
    """An event loop with call_soon, call_later and a clock that a test moves."""

    def __init__(self):
        self.now_s = 1000.0
        self._soon = deque()
        self._later = []
        self._order = 0

    def time(self):
        return self.now_s

    def call_soon(self, callback, *args):
        self._soon.append((callback, args))

    def call_later(self, delay_s, callback, *args):
        self._order += 1
        handle = FakeHandle()
        heapq.heappush(self._later, (self.now_s + delay_s, self._order, handle, callback, args))
        return handle

    def run(self):
        """Run everything that is due now."""
        while self._soon:
            callback, args = self._soon.popleft()
            callback(*args)

    def advance(self, seconds):
        """Move the clock, and run what comes due on the way."""
        end_s = self.now_s + seconds
        self.run()
        while self._later and self._later[0][0] <= end_s:
            due_s, _, handle, callback, args = heapq.heappop(self._later)
            self.now_s = max(self.now_s, due_s)
            if not handle.is_cancelled:
                callback(*args)
            self.run()
        self.now_s = end_s


class FakeHandle:
    is_cancelled = False

    def cancel(self):
        self.is_cancelled = True


class FakeTransport(asyncio.Transport):
    """A transport that records; `unsent_bytes` is what a slow reader has not taken."""

    def __init__(self, loop, protocol=None):
        super().__init__()
        self.loop = loop
        self.protocol = protocol
        self.written = b""
        self.is_open = True
        self.was_aborted = False
        self.has_eof = False
        self.is_reading = True
        self.unsent_bytes = 0
        self.high_water_bytes = 0
        self.on_write = None

    def get_extra_info(self, name, default=None):
        return ("192.0.2.7", 4711) if name == "peername" else default

    def set_write_buffer_limits(self, high=None, low=None):
        self.high_water_bytes = high

    def get_write_buffer_size(self):
        return self.unsent_bytes

    def write(self, data):
        assert self.is_open, "written to after the end"
        assert not self.has_eof, "written to after the end of our stream"
        self.written += data
        if self.on_write is not None:
            self.on_write(data)

    def can_write_eof(self):
        return True

    def write_eof(self):
        self.has_eof = True

    def pause_reading(self):
        self.is_reading = False

    def resume_reading(self):
        self.is_reading = True

    def is_closing(self):
        return not self.is_open

    def close(self):
        if self.is_open:
            self.is_open = False
            self.loop.call_soon(self.protocol.connection_lost, None)

    def abort(self):
        self.was_aborted = True
        self.close()


class FakePool(Pool):
    """A pool whose connections are ready at once; it records each request to the shop."""

    def __init__(self, world):
        address = ShopAddress("shop", 80, 5, 60, 1, 10)
        super().__init__(world.loop, address, world.deadlines, HeadLimits(), BodyLimits())
        self.world = world
        self.connections = []
        self.served = []
        self.body_bytes = []
        self.is_down = False

    def serve(self, exchange):
        self.served.append((exchange.head.method.decode(), exchange.head.target.decode()))
        self.body_bytes.append(exchange.body_bytes)
        super().serve(exchange)

    def serve_afresh(self, exchange):
        if self.is_down:
            self.loop.call_soon(exchange.shop_failed, 502, "the shop could not be reached")
            return
        connection = ShopConnection(self)
        transport = FakeTransport(self.loop, connection)
        if self.world.answer is not None:
            transport.on_write = lambda data: self.loop.call_soon(
                self.world.reply, connection, transport
            )
        connection.connection_made(transport)
        self.connections.append((connection, transport))
        connection.serve(exchange)


class World:
    """One gateway. `answer` is the shop's reply to every request, None for no reply yet."""

    def __init__(
        self,
        *,
        answer=None,
        policy="sq",
        parameters=None,
        admission=None,
        workers=30,
        abandonment="ignore",
        other_queue=2,
        **limits,
    ):
        """Make the gateway; `admission` is an admission policy in front of the queueing policy."""
        self.loop = FakeLoop()
        self.deadlines = Deadlines(self.loop)
        self.answer = answer
        self.pool = FakePool(self)
        self.fates = []
        self.clock = PaperClock(10, self.loop.time)
        queueing = create(policy, parameters or {})
        self.queue = PolicyQueue(
            self.loop,
            self.clock,
            queueing if admission is None else Combination(admission, queueing),
            workers=workers,
            serve=self.pool.serve,
            observe=self._observe,
            abandonment=abandonment,
        )
        self.other = BypassQueue(
            self.clock,
            limit=2,
            capacity=other_queue,
            serve=self.pool.serve,
            observe=self._observe,
            abandonment=abandonment,
        )
        self.sessions = Sessions(
            SessionCookie(b"k" * 32),
            self.clock,
            shop_cookie="sessionid",
            timeout_s=1800,
            is_guarded=admission is not None,
            wall_s=self.wall_s,
        )
        self.connections = Connections(self.deadlines, most=100)
        self.context = ResponseContext(self.sessions, self.connections, wall_s=self.wall_s)
        self.context.own_hosts |= {b"http": b"own.example:8080", b"https": b"own.example:8443"}
        bypasses = [Bypass(OTHER, b"", self.other)]
        self.front = Frontend(
            self.loop,
            self.connections,
            self.context,
            Hangups(self.loop),
            HeadLimits(),
            BodyLimits(),
            CustomerLimits(**limits),
            self._exchange_of,
        )
        self._router = Router(load(), self.context, self.queue, bypasses)
        self.exchanges = []
        """All exchanges, in the order in which they began."""
        self.deadlines.start()

    def wall_s(self):
        """Return the seconds since 1970 by the world's clock."""
        return self.loop.now_s + 1_000_000_000

    def _exchange_of(self, customer, head, peer):
        self.exchanges.append(self._router.exchange_of(customer, head, peer))
        return self.exchanges[-1]

    def _observe(self, exchange, fate):
        self.fates.append(fate)

    def reply(self, connection, transport):
        """Answer after a write to the shop; the shop of these tests needs no parser."""
        if transport.is_open:
            connection.data_received(self.answer)

    def connect(self, data=b""):
        """Return a new customer and its transport, after the customer has sent `data`."""
        customer = Customer(self.front)
        transport = FakeTransport(self.loop, customer)
        customer.connection_made(transport)
        if data:
            customer.data_received(data)
            self.loop.run()
        return customer, transport

    @property
    def at_shop(self):
        """Return everything that the shop ever received."""
        return b"".join(transport.written for _, transport in self.pool.connections)

    def counts(self, page="Br-1"):
        return {k: v for k, v in self.queue.dispatcher.counts()[page].items() if v}
