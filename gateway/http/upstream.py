"""The connections to the shop, which are opened on demand and kept for later requests, and the
balancer, which chooses one of the shop's processes for each request.

A connection serves one request at a time. Connecting, answers and idle times have time limits.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from operator import attrgetter
from typing import Any, cast

from gateway.http import hangups
from gateway.http.connections import NEVER, Deadlines
from gateway.http.exchange import Exchange
from gateway.http.framing import END
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.response_reader import BadResponseError, ResponseReader


@dataclass(frozen=True, slots=True)
class ShopAddress:
    """The address of a process of the shop or of the ad server, and the time limits, in real
    seconds, of connections to this process.

    `idle_s` must be shorter than the shop's keep-alive limit. Otherwise the shop could close a
    connection just when the gateway sends a request on it.
    """

    host: str
    port: int
    connect_s: float
    response_s: float
    idle_s: float
    cancel_s: float


class Pool:
    """A pool of connections to one process, for all queues whose requests the process serves. Each
    request in service uses one connection; the other connections are idle.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        address: ShopAddress,
        deadlines: Deadlines,
        head_limits: HeadLimits,
        body_limits: BodyLimits,
    ) -> None:
        self.loop = loop
        self.address = address
        self.head_limits = head_limits
        self.body_limits = body_limits
        self.deadlines = deadlines
        self._idle: list[ShopConnection] = []
        self._open: set[ShopConnection] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self.overdue = 0
        """The number of requests that the shop did not end within `cancel_s`, although no answer
        was wanted.
        """

    @property
    def open_connections(self) -> int:
        """The number of connections that exist, including idle connections."""
        return len(self._open)

    @property
    def in_service(self) -> int:
        """The number of requests in service in the shop or on their way to it."""
        return len(self._connecting) + len(self._open) - len(self._idle)

    def serve(self, exchange: Exchange) -> None:
        """Send the request of `exchange` to the shop on the most recently used idle connection, or
        on a new connection.
        """
        now_s = self.loop.time()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable and connection.deadline_s > now_s:
                connection.serve(exchange)
                return
            connection.abort()
        self.serve_afresh(exchange)

    def serve_afresh(self, exchange: Exchange) -> None:
        """Send the request of `exchange` to the shop on a new connection."""
        task = self.loop.create_task(self._connect(exchange))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self, exchange: Exchange) -> None:
        address = self.address
        try:
            async with asyncio.timeout(address.connect_s):
                _, connection = await self.loop.create_connection(
                    lambda: ShopConnection(self), address.host, address.port
                )
        except TimeoutError:
            exchange.shop_failed(504, "the shop could not be reached in time")
        except OSError:
            exchange.shop_failed(502, "the shop could not be reached")
        else:
            if exchange.is_over:
                connection.abort()  # an idle connection would hold a thread of the shop
            elif not connection.is_usable:
                exchange.shop_failed(502, "the shop broke the connection")
            else:
                connection.serve(exchange)

    def opened(self, connection: "ShopConnection") -> None:
        self._open.add(connection)
        self.deadlines.watched.add(connection)

    def keep(self, connection: "ShopConnection") -> None:
        """Keep a connection that is ready for its next request."""
        connection.deadline_s = self.loop.time() + self.address.idle_s
        self._idle.append(connection)

    def forget(self, connection: "ShopConnection") -> None:
        """Remove a connection that must not be used again; repeated calls are harmless."""
        self._open.discard(connection)
        self.deadlines.watched.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    def close(self) -> None:
        """Close all connections at once."""
        for task in list(self._connecting):
            task.cancel()
        for connection in list(self._open):
            connection.abort()


class ShopConnection(asyncio.Protocol):
    """One connection to the shop, which serves at most one exchange at a time."""

    __slots__ = (
        "_answered",
        "_exchange",
        "_has_ended",
        "_is_held",
        "_pool",
        "_reader",
        "_transport",
        "_used",
        "deadline_s",
    )

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._reader = ResponseReader(pool.head_limits, pool.body_limits)
        self._exchange: Exchange | None = None
        self._has_ended = False
        self._is_held = False
        self._used = False
        self._answered = False
        self.deadline_s = NEVER
        self._transport = cast(asyncio.Transport, None)

    @property
    def is_usable(self) -> bool:
        """Whether the connection works. After a failure, this is False even before asyncio calls
        `connection_lost`.
        """
        return not self._transport.is_closing()

    # ---- calls of the exchange -----------------------------------------------------------------

    def serve(self, exchange: Exchange) -> None:
        """Send the request; the exchange receives the response piece by piece."""
        self._exchange = exchange
        self._answered = False
        self._reader.expect(exchange.head.method)
        self.deadline_s = self._pool.loop.time() + self._pool.address.response_s
        exchange.connection = self
        self._transport.write(exchange.request_bytes())
        if exchange.has_left:
            self.end_requests()

    def send_body(self, data: bytes) -> None:
        if not self._is_held:  # then the customer causes the wait
            self._allow_time()
        if self.is_usable and not self._has_ended:
            self._transport.write(data)

    def hold_response(self) -> None:
        self.deadline_s = NEVER
        if self.is_usable:
            self._is_held = True
            self._transport.pause_reading()

    def resume_response(self) -> None:
        if self._is_held and self.is_usable:
            self._is_held = False
            self._allow_time()
            self._transport.resume_reading()

    def end_requests(self) -> None:
        """End the gateway's stream (SHUT_WR), as a signal to the shop that the customer has left.

        The gateway still reads the response. The shop has finished when the response or the shop's
        stream ends. The connection is not used again.
        """
        if not self._has_ended and self.is_usable:
            self._has_ended = True
            self._transport.write_eof()

    def stop(self) -> None:
        """Give the shop `cancel_s` to stop its work on an unwanted response."""
        self.end_requests()
        self.resume_response()
        self._allow_time()

    def abort(self) -> None:
        """Close the connection without calling the exchange."""
        self._exchange = None
        self._pool.forget(self)
        self._transport.abort()

    def reset(self) -> None:
        self._exchange = None
        self._pool.forget(self)
        hangups.reset(self._transport)

    # ---- asyncio's calls -----------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._pool.opened(self)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:  # the bytes must not become the answer to the next request
            self.abort()
            return
        self._answered = True
        self._reader.receive(data)
        self._pass_on(exchange)

    def _pass_on(self, exchange: Exchange) -> None:
        out: list[bytes] = []
        pull = self._reader.pull
        try:
            event = pull()
            while event is not None and event is not END:
                if type(event) is bytes:
                    exchange.encode(event, out)
                else:
                    out.append(exchange.begin(event))  # type: ignore[arg-type]
                event = pull()
        except BadResponseError as error:
            self._fail(502, str(error))
            return
        if event is None:
            if not exchange.is_stopped:
                self._allow_time()
            if out:
                exchange.write(out)
            return
        self._exchange = None
        is_clean = self._reader.keeps_alive and not self._reader.buffered_bytes
        if is_clean and exchange.is_sent and not self._has_ended:
            self._used = True
            self._pool.keep(self)
        else:
            self._pool.forget(self)
            self._transport.close()
        exchange.end(out)

    def eof_received(self) -> None:
        exchange = self._exchange
        if exchange is None:
            self.abort()
            return
        try:
            self._reader.receive_eof()
        except BadResponseError as error:
            # After the gateway has ended its stream, the shop's sentry may stop the work and end
            # the shop's stream. A second attempt would then execute the request twice.
            self._fail(502, str(error), may_be_stale=not self._has_ended)
        else:
            self._pass_on(exchange)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pool.forget(self)
        if self._exchange is not None:
            self._fail(502, "the shop broke the connection")

    def pause_writing(self) -> None:
        if self._exchange is not None:
            self._exchange.hold_upload()

    def resume_writing(self) -> None:
        if self._exchange is not None:
            self._exchange.resume_upload()

    def deadline_passed(self) -> None:
        if self._exchange is None:
            self.abort()
        else:
            if self._exchange.is_stopped:
                self._pool.overdue += 1
            self._fail(504, "the shop did not answer in time")

    def _allow_time(self) -> None:
        """Restart the time limit for the next part of the shop's answer."""
        address = self._pool.address
        is_stopped = self._exchange is not None and self._exchange.is_stopped
        wait_s = address.cancel_s if is_stopped else address.response_s
        self.deadline_s = self._pool.loop.time() + wait_s

    def _fail(self, status: int, reason: str, *, may_be_stale: bool = True) -> None:
        """Give up this connection; then repeat the request once or end the exchange with a failure.

        The shop may have closed a kept connection just before the request arrived. The gateway
        therefore repeats an idempotent request that got no answer (RFC 9110, 9.2.2).
        """
        exchange = self._exchange
        assert exchange is not None
        is_stale = self._used and not self._answered and status == 502 and may_be_stale
        self.abort()
        if is_stale and exchange.may_repeat():
            exchange.connection = None
            self._pool.serve_afresh(exchange)
        else:
            exchange.shop_failed(status, reason)


class Processors:
    """The shop's present number of processors, in an object that all its balancers share."""

    def __init__(self) -> None:
        self.assigned: float | None = None
        """The number of processors (0, 0.5, 1, …). It is None before the CPU manager's first
        assignment, and without a manager; every process then gets requests.
        """

    def taking_part(self, processes: int) -> int:
        """Return the number of processes, at most `processes`, that get requests now."""
        if self.assigned is None:
            return processes
        return min(processes, max(1, ceil(self.assigned)))


class Balance:
    """A balancer that sends each request to the process with the fewest requests in service, or to
    the first of several such processes. A Python process uses at most one processor, so the number
    of processes that get requests follows the shop's present number of processors; the other
    processes stay ready.
    """

    def __init__(self, pools: Sequence[Pool], processors: Processors) -> None:
        self.pools = tuple(pools)
        self._processors = processors

    def serve(self, exchange: Exchange) -> None:
        """Send the request of `exchange` to one of the processes that get requests now."""
        if len(self.pools) == 1:
            self.pools[0].serve(exchange)
            return
        among = self.pools[: self._processors.taking_part(len(self.pools))]
        min(among, key=attrgetter("in_service")).serve(exchange)
