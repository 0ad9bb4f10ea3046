"""A customer's connection, which handles one request at a time and answers the requests in order.

The connection supports keep-alive and pipelining, and has time limits. When the response buffer of
a slow customer is full, the gateway stops reading the shop's response for a while.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from gateway.http import hangups, refusals
from gateway.http.connections import NEVER, Connections
from gateway.http.exchange import CustomerSide, Exchange, ResponseContext
from gateway.http.framing import END
from gateway.http.hangups import Hangups
from gateway.http.limits import KIB, BodyLimits, CustomerLimits, HeadLimits
from gateway.http.refusals import RefusedError
from gateway.http.request_reader import RequestHead, RequestReader

# A customer that reads less than this within `write_s` is cut off; otherwise it could hold a worker
# for ever.
_LEAST_TAKEN_BYTES = 64 * KIB
# An HTTP/1.1 client skips interim responses (RFC 9110, 15.2), so this one also serves as a probe: a
# closed socket answers it with a reset.
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Frontend:
    """The objects that all customers' connections share, with or without TLS."""

    loop: asyncio.AbstractEventLoop
    connections: Connections
    context: ResponseContext
    hangups: Hangups
    head_limits: HeadLimits
    body_limits: BodyLimits
    customer_limits: CustomerLimits
    exchange_of: Callable[[CustomerSide, RequestHead, bytes], Exchange]
    """A function that creates the exchange of a request; its last argument is the customer's
    address.
    """


class Customer(asyncio.Protocol):
    """A customer's connection, as an asyncio protocol."""

    __slots__ = (
        "_awaits_head",
        "_body_mark_bytes",
        "_exchange",
        "_front",
        "_is_closing",
        "_loop",
        "_peer",
        "_reader",
        "_transport",
        "_unsent_bytes",
        "deadline_s",
        "has_sent_eof",
        "is_held",
        "is_tls",
        "is_write_held",
    )

    def __init__(self, front: Frontend) -> None:
        self._front = front
        self._loop = front.loop
        self._reader = RequestReader(front.head_limits, front.body_limits)
        self._transport = cast(asyncio.Transport, None)
        self._peer = b"unknown"
        self._exchange: Exchange | None = None
        self._awaits_head = False
        self._body_mark_bytes = 0
        self.has_sent_eof = False
        self._is_closing = False
        self.is_held = False
        self.is_write_held = False
        self._unsent_bytes = 0
        self.deadline_s = NEVER
        self.is_tls = False  # the end of a TLS stream means that the customer has left

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress, and no part of a request has arrived."""
        return self._exchange is None and not self._reader.buffered_bytes

    @property
    def unread_bytes(self) -> int:
        """The number of received bytes that the gateway has not processed."""
        return self._reader.buffered_bytes

    @property
    def buffered_response_bytes(self) -> int:
        """The number of response bytes that the transport has not sent yet."""
        return self._transport.get_write_buffer_size()

    # ---- asyncio's calls -----------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.is_tls = transport.get_extra_info("sslcontext") is not None
        limits = self._front.customer_limits
        transport.set_write_buffer_limits(high=limits.response_buffer_bytes)
        peer = transport.get_extra_info("peername")
        if peer:
            self._peer = peer[0].encode()
        self.deadline_s = self._loop.time() + limits.idle_s
        self._front.connections.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._is_closing:
            return  # the bytes are read and discarded, because unread bytes would cause a reset
        self._reader.receive(data)
        exchange = self._exchange
        if exchange is None:
            self._advance()
        elif not exchange.body_is_complete:
            self._take_body(exchange)
        if self._reader.buffered_bytes > self._front.customer_limits.pipeline_bytes or self.is_held:
            self._update_reading()

    def eof_received(self) -> bool:
        """Handle the end of the customer's stream: the customer has left, or has only finished
        sending.

        Return True to keep the gateway's stream open.
        """
        self.has_sent_eof = True
        if self._is_closing:
            return False
        exchange = self._exchange
        if exchange is None:
            self._advance()  # pipelined requests before the end are still answered
        elif not exchange.body_is_complete and not exchange.upload_is_held:
            return False  # the rest of the body will never come
        elif not self.is_tls:
            self._ended_sending(exchange)
        return not self.is_tls

    def ended_unread(self) -> None:
        if self._exchange is None or self._is_closing:
            return
        if self.is_tls:
            self.abort()
        else:
            self._ended_sending(self._exchange)

    def hung_up(self) -> None:
        self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._front.connections.closed(self)
        self._front.hangups.forget(self)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.customer_gone()

    def pause_writing(self) -> None:
        self.is_write_held = True
        self._watch_writing()
        if self._exchange is not None:
            self._exchange.hold_response()

    def resume_writing(self) -> None:
        self.is_write_held = False
        if self._is_closing:
            return
        self.deadline_s = NEVER
        exchange = self._exchange
        if exchange is not None:
            if not exchange.body_is_complete and not exchange.upload_is_held:
                self.deadline_s = self._loop.time() + self._front.customer_limits.body_s
            exchange.resume_response()
        else:
            self._await_next()

    def deadline_passed(self) -> None:
        limits = self._front.customer_limits
        unsent = self._transport.get_write_buffer_size()
        if unsent and self._unsent_bytes - unsent >= _LEAST_TAKEN_BYTES:  # a slow customer
            self._watch_writing()
        elif self._is_closing or unsent:
            self._transport.abort()
        elif self._exchange is not None:
            few = f"fewer than {limits.buffered_body_bytes} bytes of the body"
            self._refuse(RefusedError(408, f"{few} came within {limits.body_s:g} s"))
        elif self._awaits_head:
            self._refuse(RefusedError(408, f"the head took longer than {limits.head_s:g} s"))
        else:
            self._close()

    # ---- calls of an exchange ------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def answered(self, keeps_alive: bool) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None and not exchange.body_is_complete:
            self._linger()  # the rest of the body is on its way
        elif not keeps_alive:
            self._close()
        elif not self._is_closing:
            self._await_next()

    def cut_short(self, *, reset: bool) -> None:
        self._exchange = None
        if self._transport.is_closing():
            return
        self._is_closing = True
        if reset:
            # If a body ends with its connection, only a reset shows that it has been cut short.
            hangups.reset(self._transport)
        else:
            self._set_close_deadline()
            self._transport.close()

    def resume_upload(self) -> None:
        self._loop.call_soon(self._go_on_with_body)

    def came_without_tls(self) -> None:
        """Refuse a customer whose first bytes on the HTTPS port are plain HTTP."""
        self._refuse(
            RefusedError(400, "this port accepts only HTTPS; use the address with https://")
        )

    def retire(self) -> None:
        if self.is_idle and not self._is_closing:
            self._close()

    def abort(self) -> None:
        self._transport.abort()

    # ---- requests ------------------------------------------------------------------------------

    def _advance(self) -> None:
        if self._exchange is not None or self._is_closing or self.is_write_held:
            return
        try:
            head = self._reader.pull()
        except RefusedError as refusal:
            self._refuse(refusal)
            return
        if type(head) is RequestHead:
            self._begin(head)
        elif self.has_sent_eof or self._front.connections.is_draining:
            self._close()
        elif self._reader.buffered_bytes and not self._awaits_head:
            self._awaits_head = True
            self.deadline_s = self._loop.time() + self._front.customer_limits.head_s
            if self.is_held:
                self._update_reading()

    def _begin(self, head: RequestHead) -> None:
        self._awaits_head = False
        self.deadline_s = NEVER
        exchange = self._exchange = self._front.exchange_of(self, head, self._peer)
        if exchange.body_is_complete:
            exchange.submit()
            if self.has_sent_eof and self._exchange is exchange:
                self._ended_sending(exchange)
            return
        if head.expects_continue and not self._reader.buffered_bytes:
            self.write(_CONTINUE)
        self._body_mark_bytes = 0
        self.deadline_s = self._loop.time() + self._front.customer_limits.body_s
        self._take_body(exchange)

    def _take_body(self, exchange: Exchange) -> None:
        limits = self._front.customer_limits
        while not exchange.upload_is_held and not exchange.body_is_complete:
            try:
                event = self._reader.pull()
            except RefusedError as refusal:
                self._refuse(refusal)
                return
            if event is None:
                if self.has_sent_eof:  # the rest of the body will never come
                    self._exchange = None
                    exchange.customer_gone()
                    self._close()
                    return
                break
            if event is END:
                self.deadline_s = NEVER
                exchange.end_body()
                if not exchange.is_streamed:
                    exchange.submit()
                break
            assert type(event) is bytes
            exchange.take_body(event)
            if exchange.body_bytes - self._body_mark_bytes >= limits.buffered_body_bytes:
                self._body_mark_bytes = exchange.body_bytes
                self.deadline_s = self._loop.time() + limits.body_s
            if exchange.body_bytes > limits.buffered_body_bytes and not exchange.is_streamed:
                exchange.submit()
        if self._exchange is not exchange:
            return
        if exchange.upload_is_held:
            self.deadline_s = NEVER  # the customer does not cause this wait
        self._update_reading()

    def _go_on_with_body(self) -> None:
        exchange = self._exchange
        if exchange is not None and not exchange.body_is_complete and not self._is_closing:
            self.deadline_s = self._loop.time() + self._front.customer_limits.body_s
            self._take_body(exchange)

    def _await_next(self) -> None:
        if self._reader.buffered_bytes or self.has_sent_eof or self._front.connections.is_draining:
            # With direct calls, a burst of pipelined requests would grow the stack and overtake
            # other customers.
            self._loop.call_soon(self._advance)
        self.deadline_s = self._loop.time() + self._front.customer_limits.idle_s
        self._unsent_bytes = self._transport.get_write_buffer_size()
        if self.is_held:
            self._update_reading()

    # ---- reading and writing -------------------------------------------------------------------

    def _ended_sending(self, exchange: Exchange) -> None:
        """Treat the end of the customer's stream as `half_close` requires. Until the gateway sends
        something, TCP does not show whether the customer still waits. With `probe`, a customer who
        ends the stream after the answer has begun counts as having left.
        """
        how = self._front.customer_limits.half_close
        if how == "leave" or (how == "probe" and exchange.has_begun):
            self.abort()
            return
        if how == "probe" and exchange.head.minor_version == 1:
            self.write(_CONTINUE)
        self._watch_hangup(for_end=False)

    def _watch_hangup(self, *, for_end: bool) -> None:
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            self._front.hangups.watch(sock, self, for_end=for_end)

    def _update_reading(self) -> None:
        exchange = self._exchange
        pipeline_bytes = self._front.customer_limits.pipeline_bytes
        # An incomplete head has a separate limit, and needs further bytes to become complete.
        is_full = self._reader.buffered_bytes > pipeline_bytes and not self._awaits_head
        holds = is_full or (
            exchange is not None and exchange.upload_is_held and not exchange.body_is_complete
        )
        if holds == self.is_held or self._is_closing or self._transport.is_closing():
            return
        self.is_held = holds
        if holds:
            self._transport.pause_reading()
            self._watch_hangup(for_end=not self.has_sent_eof)
        elif not self.has_sent_eof:  # otherwise the end would be reported twice
            self._front.hangups.forget(self)
            self._transport.resume_reading()

    def _watch_writing(self) -> None:
        self._unsent_bytes = self._transport.get_write_buffer_size()
        self.deadline_s = self._loop.time() + self._front.customer_limits.write_s

    # ---- the end -------------------------------------------------------------------------------

    def _refuse(self, refusal: RefusedError) -> None:
        """Refuse a request, and close the connection, because its later bytes cannot be trusted."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.refused()
            if exchange.ends_with_connection:
                self.cut_short(reset=True)
                return
            if exchange.has_begun:
                self._close()
                return
        self._front.context.refusals[refusal.status] += 1
        request_id = (
            exchange.request_id if exchange is not None else self._front.context.new_request_id()
        )
        self.write(
            refusals.response(
                refusal.status,
                refusals.page(refusal.status, refusal.reason),
                request_id=request_id,
                date=self._front.context.date(),
                keep_alive=False,
                is_head=exchange is not None and exchange.head.method == b"HEAD",
                headers=refusal.headers,
            )
        )
        self._linger()

    def _linger(self) -> None:
        """End the gateway's stream, then read for a moment. Closing a connection with unread bytes
        would reset it, and the customer might lose the answer (RFC 9112, 9.6).
        """
        if self._is_closing or self._transport.is_closing():
            return
        self._is_closing = True
        self._set_close_deadline()
        if self.has_sent_eof or not self._transport.can_write_eof():
            self._transport.close()
            return
        if self.is_held:
            self.is_held = False
            # Otherwise the end of both streams would look like a reset, and the answer would be
            # lost.
            self._front.hangups.forget(self)
            self._transport.resume_reading()
        self._transport.write_eof()

    def _close(self) -> None:
        if self._is_closing:
            return
        if self._reader.buffered_bytes or self.is_held:
            self._linger()
            return
        self._is_closing = True
        self._set_close_deadline()
        self._transport.close()

    def _set_close_deadline(self) -> None:
        limits = self._front.customer_limits
        unsent = self._unsent_bytes = self._transport.get_write_buffer_size()
        self.deadline_s = self._loop.time() + (limits.write_s if unsent else limits.linger_s)
