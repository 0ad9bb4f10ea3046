"""The HTTP server of the admin API, which uses the gateway's request reader. The server handles the
calls of a connection one after another, limits the size of a call, and closes idle connections.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, cast

from gateway.admin.api import LARGEST_CALL_BYTES, OPEN, Answer, failed
from gateway.http.connections import NEVER, Deadlines
from gateway.http.framing import END
from gateway.http.limits import BodyLimits, HeadLimits
from gateway.http.refusals import RefusedError
from gateway.http.request_reader import RequestHead, RequestReader

_IDLE_S: Final = 60.0
_IDLE_BEFORE_A_CALL_S: Final = 30.0
"""The time, in real seconds, in which an unknown caller must complete a call."""
_LINGER_S: Final = 2.0
MOST_CONNECTIONS: Final = 64

log = logging.getLogger("gateway.admin")


class AdminConnections:
    """The open connections, at most MOST_CONNECTIONS. If all places are taken, a new connection
    replaces the oldest connection whose caller is unknown and has no slow call in progress. If
    there is no such connection, the new connection gets no place.
    """

    def __init__(self) -> None:
        self._open: dict[AdminConnection, None] = {}

    def enter(self, connection: "AdminConnection") -> bool:
        """Give this connection a place; return False if every other connection must keep
        its place.
        """
        if len(self._open) >= MOST_CONNECTIONS:
            oldest = next((one for one in self._open if one.may_give_way), None)
            if oldest is None:
                return False
            del self._open[oldest]
            oldest.abort()
        self._open[connection] = None
        return True

    def leave(self, connection: "AdminConnection") -> None:
        self._open.pop(connection, None)


class AdminConnection(asyncio.Protocol):
    """The connection of one caller of the admin API."""

    def __init__(
        self,
        deadlines: Deadlines,
        answer: Callable[[RequestHead, bytes], Answer | Awaitable[Answer]],
        places: AdminConnections,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadlines = deadlines
        self._answer = answer
        self._places = places
        self._reader = RequestReader(HeadLimits(), BodyLimits(body_bytes=LARGEST_CALL_BYTES))
        self._head: RequestHead | None = None
        self._body: list[bytes] = []
        self._is_refused = False
        self._is_known = False
        """Whether the caller is known: it has sent an accepted call that needs the token. The
        connection then keeps its place.
        """
        self._awaited: asyncio.Future[Answer] | None = None
        """The task of a slow call; further calls on this connection wait for its answer."""
        self._transport = cast(asyncio.Transport, None)
        self.deadline_s = self._loop.time() + _IDLE_BEFORE_A_CALL_S

    @property
    def may_give_way(self) -> bool:
        """Whether a new connection may replace this connection."""
        return not self._is_known and self._awaited is None

    def abort(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if self._places.enter(self):
            self._deadlines.watched.add(self)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadlines.watched.discard(self)
        self._places.leave(self)

    def deadline_passed(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_refused or self._transport.is_closing():
            return
        self._reader.receive(data)
        if self._awaited is None:
            if self._is_known:  # an unknown caller must not extend the deadline
                self.deadline_s = self._loop.time() + _IDLE_S
            self._pull()

    def _pull(self) -> None:
        try:
            while not self._transport.is_closing() and self._awaited is None:
                event = self._reader.pull()
                if event is None:
                    break
                if type(event) is RequestHead:
                    self._head, self._body = event, []
                    if event.expects_continue:
                        self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                    if not event.has_body:
                        self._call()
                elif event is END:
                    self._call()
                else:
                    self._body.append(cast(bytes, event))
        except RefusedError as refusal:
            self._refuse(refusal)

    def _refuse(self, refusal: RefusedError) -> None:
        """Send the reason, then read for a moment. Closing a connection with unread bytes would
        reset it, and the caller might lose the answer.
        """
        text = json.dumps({"error": refusal.reason}).encode() + b"\n"
        answer = Answer(refusal.status, text, headers=refusal.headers)
        self._write(answer, keeps_alive=False, is_head=refusal.status == 204)
        self._is_refused = True
        self.deadline_s = self._loop.time() + _LINGER_S
        self._transport.write_eof()

    def _call(self) -> None:
        head = self._head
        assert head is not None
        body, self._body = b"".join(self._body), []
        try:
            answer = self._answer(head, body)
        except Exception as fault:
            answer = _of_fault(fault)
        if isinstance(answer, Answer):
            self._say(head, answer)
        else:
            self.deadline_s = NEVER  # the gateway causes the wait, not the caller
            self._transport.pause_reading()  # a caller could fill the memory meanwhile
            self._awaited = asyncio.ensure_future(answer)
            self._awaited.add_done_callback(lambda done: self._answered(head, done))

    def _answered(self, head: RequestHead, done: asyncio.Future[Answer]) -> None:
        self._awaited = None
        if done.cancelled():  # the gateway is stopping
            return
        try:
            answer = done.result()
        except Exception as fault:
            answer = _of_fault(fault)
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._say(head, answer)
            self._pull()

    def _say(self, head: RequestHead, answer: Answer) -> None:
        if answer.status < 400 and head.target.partition(b"?")[0] not in OPEN:
            self._is_known = True
        self.deadline_s = self._loop.time() + (_IDLE_S if self._is_known else _IDLE_BEFORE_A_CALL_S)
        self._write(answer, keeps_alive=head.keeps_alive, is_head=head.method == b"HEAD")
        if not head.keeps_alive:
            self._transport.close()

    def _write(self, answer: Answer, *, keeps_alive: bool, is_head: bool) -> None:
        lines = [
            b"HTTP/1.1 %d %b" % (answer.status, HTTPStatus(answer.status).phrase.encode()),
            b"Content-Type: " + answer.content_type,
            *(() if answer.status == 204 else (b"Content-Length: %d" % len(answer.body),)),
            b"Cache-Control: no-store",
            b"X-Content-Type-Options: nosniff",
            *(b"%b: %b" % header for header in answer.headers),
            b"Connection: keep-alive" if keeps_alive else b"Connection: close",
        ]
        head = b"\r\n".join(lines) + b"\r\n\r\n"
        self._transport.write(head if is_head else head + answer.body)


def _of_fault(fault: Exception) -> Answer:
    """Log the exception that is being handled, and return the answer to the call."""
    log.exception("a call to the admin API failed")
    return failed(fault)
