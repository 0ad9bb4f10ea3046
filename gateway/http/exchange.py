"""An exchange: a request on its way to a worker of the shop, and its response on the way back.

`TRANSITIONS` lists the states of a request and their events. A request in service holds its worker
until the exchange has ended, even if the customer has left.

Three objects call an exchange: the customer's connection, the queue in which the request waits, and
the connection to the shop.
"""

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate
from enum import Enum
from math import ceil
from typing import Protocol

from gateway.http import forwarding, refusals
from gateway.http.connections import Connections
from gateway.http.request_reader import IDEMPOTENT, RequestHead
from gateway.http.response_reader import ResponseHead
from gateway.http.sessions import Session, Sessions
from gateway.policies.interface import Outcome, Page


class CustomerSide(Protocol):
    """The customer's connection, as an exchange sees it."""

    is_tls: bool

    def write(self, data: bytes) -> None:
        """Send parts of a response."""

    def answered(self, keeps_alive: bool) -> None:
        """End the current request because its answer is complete."""

    def cut_short(self, *, reset: bool) -> None:
        """Close the connection early, which shows the customer that the response is incomplete."""

    def resume_upload(self) -> None:
        """Continue to read the current request's body, because the shop can take more of it."""


class ShopSide(Protocol):
    """The connection to the shop, as an exchange sees it."""

    def send_body(self, data: bytes) -> None:
        """Send the next part of a request's body that is still arriving."""

    def hold_response(self) -> None:
        """Stop reading the response because the customer reads too slowly."""

    def resume_response(self) -> None:
        """Continue to read the response because the customer has caught up or left."""

    def end_requests(self) -> None:
        """End the gateway's stream, as a signal to the shop that the customer has left."""

    def stop(self) -> None:
        """Show the shop that the response is not wanted, so that the shop stops its work."""

    def reset(self) -> None:
        """Reset the connection, so that the shop sees that the request was not complete."""


class RequestQueue(Protocol):
    """The policy's queue or the queue of a bypass, in which a request waits."""

    def submit(self, exchange: "Exchange") -> None:
        """Queue a request that is ready for service; the queue later calls `start`, `dropped`,
        `rejected` or `withdrawn`.
        """

    def finished(self, exchange: "Exchange", outcome: Outcome) -> None:
        """Free the worker of a request whose service has ended."""

    def left(self, exchange: "Exchange") -> None:
        """Handle the departure of a customer whose request waits or is in service. Depending on the
        policy and the abandonment setting, call `withdrawn`, `cancel` or neither.
        """


class State(Enum):
    """The state of a request."""

    __hash__ = object.__hash__  # faster than Enum's hash, which is written in Python

    RECEIVING = "receiving"
    WAITING = "waiting"
    DOOMED = "doomed"
    IN_SERVICE = "in service"
    STOPPING = "stopping"
    OVER = "over"

    @property
    def meaning(self) -> str:
        """An explanation of the state, for the documentation."""
        return _MEANINGS[self]


class Event(Enum):
    """An event in the life of a request."""

    __hash__ = object.__hash__  # faster than Enum's hash, which is written in Python

    SUBMITTED = "submitted to its queue"
    STARTED = "given to a worker"
    REFUSED = "dropped or rejected"
    WITHDRAWN = "withdrawn from its queue"
    GIVEN_UP = "its body can no longer become complete"
    STOPPED = "its answer is no longer wanted"
    ABORTED = "stopped before the shop received all of it"
    ENDED = "the shop has answered completely"
    FAILED = "the shop has failed"


_MEANINGS: Mapping[State, str] = {
    State.RECEIVING: "The gateway is reading the request.",
    State.WAITING: "The request waits in its queue.",
    State.DOOMED: "The body of the request can no longer become complete. The request waits until "
    "its queue removes it.",
    State.IN_SERVICE: "A worker serves the request.",
    State.STOPPING: "A worker serves the request, although the gateway has shown the shop that "
    "the answer is no longer wanted.",
    State.OVER: "The request has ended.",
}

TRANSITIONS: Mapping[State, Mapping[Event, State]] = {
    State.RECEIVING: {Event.SUBMITTED: State.WAITING, Event.GIVEN_UP: State.OVER},
    State.WAITING: {
        Event.STARTED: State.IN_SERVICE,
        Event.REFUSED: State.OVER,
        Event.WITHDRAWN: State.OVER,
        Event.GIVEN_UP: State.DOOMED,
    },
    State.DOOMED: {
        Event.STARTED: State.OVER,
        Event.REFUSED: State.OVER,
        Event.WITHDRAWN: State.OVER,
        Event.GIVEN_UP: State.DOOMED,
    },
    State.IN_SERVICE: {
        Event.STOPPED: State.STOPPING,
        Event.ABORTED: State.OVER,
        Event.ENDED: State.OVER,
        Event.FAILED: State.OVER,
    },
    State.STOPPING: {
        Event.STOPPED: State.STOPPING,
        Event.ENDED: State.OVER,
        Event.FAILED: State.OVER,
    },
    # Events that arrive after the end of a request change nothing.
    State.OVER: {
        Event.GIVEN_UP: State.OVER,
        Event.STOPPED: State.OVER,
        Event.FAILED: State.OVER,
    },
}
"""The events that may happen in each state of an exchange, and the state after each event."""


class IllegalMoveError(RuntimeError):
    """The error for an event that the present state does not allow; the gateway is at fault."""


class ResponseContext:
    """The state that all exchanges of a gateway share."""

    def __init__(
        self,
        sessions: Sessions,
        connections: Connections,
        *,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Create the state with all counts at 0."""
        self.sessions = sessions
        self.connections = connections
        self.own_hosts: dict[bytes, bytes] = {}
        """The authority that replaces a missing Host, for each scheme on which the gateway listens.
        """
        self.wall_s = wall_s
        self.refusals: Counter[int] = Counter()
        """The number of the gateway's own answers, for each status."""
        self.left_in_service = 0
        """The number of served requests whose customers left during the service or before it."""
        self._ids = itertools.count(1)
        self._id_prefix = os.urandom(4).hex().encode()
        self._date_s = 0
        self._date = b""

    def new_request_id(self) -> bytes:
        """Return a request id that is unique in this gateway."""
        return b"%b-%x" % (self._id_prefix, next(self._ids))

    def date(self) -> bytes:
        """Return the present time as an HTTP date (RFC 9110, 5.6.7)."""
        now_s = int(self.wall_s())
        if now_s != self._date_s:
            self._date_s = now_s
            self._date = formatdate(now_s, usegmt=True).encode()
        return self._date


class Exchange:
    """One request and its response. `customer` becomes None when the customer has been answered or
    disconnected. `has_left` is true if the customer left before the end of the answer.
    """

    __slots__ = (
        "_body",
        "_context",
        "_is_chunked",
        "_is_repeated",
        "_keeps_alive",
        "_state",
        "arrived_s",
        "body_bytes",
        "body_is_complete",
        "connection",
        "customer",
        "ends_with_connection",
        "has_begun",
        "has_left",
        "head",
        "id",
        "is_sent",
        "is_streamed",
        "page",
        "peer",
        "queue",
        "request_id",
        "scheme",
        "session",
        "traceparent",
        "upload_is_held",
    )

    def __init__(
        self,
        context: ResponseContext,
        customer: CustomerSide,
        head: RequestHead,
        *,
        peer: bytes,
        queue: RequestQueue,
        request_id: bytes,
    ) -> None:
        self._context = context
        self.customer: CustomerSide | None = customer
        self.head = head
        self.peer = peer
        self.scheme = b"https" if customer.is_tls else b"http"
        self.queue = queue
        self.page: Page | None = None
        self.session: Session | None = None  # only for the eight pages
        self.request_id = request_id
        self.traceparent: bytes | None = None  # only of a traced request
        self.id = 0  # set by the queue
        self.arrived_s = 0.0  # set by the queue
        self.connection: ShopSide | None = None
        self.body_bytes = 0
        self.body_is_complete = not head.has_body
        self.is_sent = False
        self.has_left = False
        self.upload_is_held = False
        self._body: list[bytes] = []
        self._state = State.RECEIVING
        self.has_begun = False
        # How the customer recognises the end of the answer, if not by its length.
        self._is_chunked = False
        self.ends_with_connection = False
        self.is_streamed = False
        self._is_repeated = False
        self._keeps_alive = False

    @property
    def is_over(self) -> bool:
        return self._state is State.OVER

    @property
    def is_stopped(self) -> bool:
        """Whether the shop should stop its work on the request."""
        return self._state is State.STOPPING

    @property
    def _is_served(self) -> bool:
        return self._state in (State.IN_SERVICE, State.STOPPING)

    def __repr__(self) -> str:
        head = self.head
        return (
            f"<Exchange {self.id} {head.method.decode()} {head.target.decode('latin-1')}: "
            f"{self._state.value}>"
        )

    # ---- calls of the customer's connection ----------------------------------------------------

    def submit(self) -> None:
        """Pass the request to its queue; a body that is still incomplete is streamed later."""
        self._move(Event.SUBMITTED)
        if not self.body_is_complete:
            self.is_streamed = self.upload_is_held = True
        self.queue.submit(self)

    def take_body(self, piece: bytes) -> None:
        self.body_bytes += len(piece)
        if self.is_streamed and self.connection is not None:
            if self.head.is_chunked:
                piece = b"%x\r\n%b\r\n" % (len(piece), piece)
            self.connection.send_body(piece)
        else:
            self._body.append(piece)

    def end_body(self) -> None:
        """Record that the request's body is complete."""
        self.body_is_complete = True
        if self.is_streamed and self.connection is not None:
            self.is_sent = True
            if self.head.is_chunked:
                self.connection.send_body(b"0\r\n\r\n")

    def customer_gone(self) -> None:
        """Handle the end of the customer's connection.

        If the request is complete, the gateway ends its stream to the shop, whatever the
        abandonment setting is. The shop's sentry then stops the work, or only counts the work as
        wasted. An incomplete request is stopped.
        """
        self.customer = None
        self.has_left = True
        if self._is_served:
            self._context.left_in_service += 1
        if self._state not in (State.RECEIVING, State.OVER):
            self.queue.left(self)
        if not self.body_is_complete:
            self.give_up()
        elif self.connection is not None and self._state is not State.STOPPING:
            self.connection.end_requests()
            self.connection.resume_response()

    def refused(self) -> None:
        """End a request that the gateway has refused; the rest of its body is discarded."""
        self.customer = None
        self.give_up()

    def give_up(self) -> None:
        """Stop the work on a request that can never be completed."""
        if self._is_served:
            self._stop()
        else:
            self._move(Event.GIVEN_UP)

    def hold_response(self) -> None:
        if self.connection is not None:
            self.connection.hold_response()

    def resume_response(self) -> None:
        if self.connection is not None:
            self.connection.resume_response()

    # ---- calls of the queue --------------------------------------------------------------------

    def start(self) -> bool:
        """Let a free worker serve the request; return False if it no longer needs service."""
        if self._move(Event.STARTED) is State.DOOMED:
            self.queue.finished(self, Outcome.CANCELLED)
            return False
        if self.has_left:
            self._context.left_in_service += 1
        return True

    def dropped(self, reason: str) -> None:
        """Answer a dropped request with status 503 and the reason."""
        self._move(Event.REFUSED)
        page = refusals.page(503, reason)
        self._answer(503, page, ((b"X-Doorbuster-Verdict", b"dropped"),))

    def withdrawn(self) -> None:
        """End a request that its queue has removed because the customer has left."""
        self._move(Event.WITHDRAWN)

    def rejected(self, reason: str, retry_after_s: float) -> None:
        """Answer a rejected request; the customer should come back after `retry_after_s` real
        seconds.
        """
        self._move(Event.REFUSED)
        wait_s = max(1, ceil(retry_after_s))
        page = refusals.rejection_page(reason, wait_s, self._context.wall_s())
        retry_after = (b"Retry-After", b"%d" % wait_s)
        self._answer(503, page, ((b"X-Doorbuster-Verdict", b"rejected"), retry_after))

    def cancel(self) -> None:
        """Stop a request in service because the policy cancelled it or the customer left."""
        if self._state is State.IN_SERVICE:
            self._fail_customer(503, "the request was stopped")
            self._stop()

    def break_off(self) -> None:
        """Close the connections to the customer and to the shop after a fault in the gateway."""
        self._state = State.OVER
        customer, self.customer = self.customer, None
        connection, self.connection = self.connection, None
        if customer is not None:
            customer.cut_short(reset=True)
        if connection is not None:
            connection.reset()

    # ---- calls of the connection to the shop ---------------------------------------------------

    def request_bytes(self) -> bytes:
        """Return the request's head and the available part of its body, for the shop."""
        is_streamed = self.is_streamed
        self.is_sent = not is_streamed
        head = forwarding.request_head(
            self.head,
            self._context.sessions.cookie,
            peer=self.peer,
            scheme=self.scheme,
            own_host=self._context.own_hosts[self.scheme],
            request_id=self.request_id,
            traceparent=self.traceparent,
            buffered_length_bytes=None if is_streamed else self.body_bytes,
        )
        if not self._body:
            return head
        body = b"".join(self._body)
        if is_streamed:
            self._body.clear()
            if self.head.is_chunked:
                body = b"%x\r\n%b\r\n" % (len(body), body)
            self.resume_upload()
        return head + body

    def hold_upload(self) -> None:
        """Pause the upload, because the shop reads the body too slowly."""
        if not self.body_is_complete:
            self.upload_is_held = True

    def resume_upload(self) -> None:
        """Resume the upload, because the shop can read more of the body."""
        if not self.body_is_complete:
            self.upload_is_held = False
            if self.customer is not None:
                self.customer.resume_upload()

    def may_repeat(self) -> bool:
        """Return whether the request can safely be sent again; return True at most once."""
        is_wanted = not (self._is_repeated or self._state is State.STOPPING)
        if not is_wanted or self.is_streamed or self.head.method not in IDEMPOTENT:
            return False
        self._is_repeated = True
        return True

    def begin(self, head: ResponseHead) -> bytes:
        """Return the response's head for the customer; the caller sends it with `write`."""
        is_1_0 = self.head.minor_version == 0
        has_unknown_length = head.has_body and head.length_bytes is None
        self._is_chunked = has_unknown_length and not is_1_0
        self.ends_with_connection = has_unknown_length and is_1_0
        self._keeps_alive = (
            self.head.keeps_alive
            and self.body_is_complete
            and not self.ends_with_connection
            and not self._context.connections.is_draining
        )
        context = self._context
        session = self.session
        return forwarding.response_head(
            head,
            context.sessions.cookie,
            request_id=self.request_id,
            date=context.date,
            is_chunked=self._is_chunked,
            keeps_alive=self._keeps_alive,
            to_http_1_0=is_1_0,
            set_cookie=context.sessions.set_cookie(session) if session is not None else None,
        )

    def encode(self, piece: bytes, out: list[bytes]) -> None:
        """Add a piece of the response's body to `out`, in the form that the customer gets."""
        if self._is_chunked:
            out.append(b"%x\r\n" % len(piece))
            out.append(piece)
            out.append(b"\r\n")
        else:
            out.append(piece)

    def write(self, out: list[bytes]) -> None:
        """Pass parts of the response to the customer's connection, if it still exists."""
        self.has_begun = True
        if self.customer is not None:
            self.customer.write(b"".join(out) if len(out) > 1 else out[0])

    def end(self, out: list[bytes]) -> None:
        """End the exchange after a complete response; `out` is its last part."""
        self.connection = None
        if self._is_chunked:
            out.append(b"0\r\n\r\n")
        if out:
            self.write(out)
        customer, self.customer = self.customer, None
        if customer is not None:
            customer.answered(self._keeps_alive and self.body_is_complete)
            outcome = Outcome.ANSWERED
        else:
            outcome = Outcome.ORPHANED if self.has_left else Outcome.CANCELLED
        self._finish(Event.ENDED, outcome)

    def shop_failed(self, status: int, reason: str) -> None:
        """End the exchange because the shop gave no complete response; a customer who has received
        nothing yet gets `status`.
        """
        if not self._is_served:
            self._move(Event.FAILED)
            return
        self.connection = None
        self._fail_customer(status, reason)
        is_unwanted = self._state is State.STOPPING or self.has_left
        self._finish(Event.FAILED, Outcome.CANCELLED if is_unwanted else Outcome.FAILED)

    # ---- the machinery -------------------------------------------------------------------------

    def _fail_customer(self, status: int, reason: str) -> None:
        if not self.has_begun:
            self._answer(status, refusals.page(status, reason), refusals.RETRY_SOON)
        elif self.customer is not None:
            customer, self.customer = self.customer, None
            customer.cut_short(reset=self.ends_with_connection)

    def _answer(self, status: int, page: bytes, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        customer, self.customer = self.customer, None
        if customer is None:
            return
        keeps_alive = (
            self.head.keeps_alive
            and self.body_is_complete
            and not self._context.connections.is_draining
        )
        self._context.refusals[status] += 1
        customer.write(
            refusals.response(
                status,
                page,
                request_id=self.request_id,
                date=self._context.date(),
                keep_alive=keeps_alive,
                is_head=self.head.method == b"HEAD",
                headers=headers,
            )
        )
        customer.answered(keeps_alive)

    def _stop(self) -> None:
        """Show the shop, by the end of the stream or a reset, that the answer is no longer
        wanted.
        """
        connection = self.connection
        if self._state is State.STOPPING or (connection is not None and self.body_is_complete):
            is_new = self._move(Event.STOPPED) is not State.STOPPING
            if is_new and connection is not None:
                connection.stop()
            return
        self.connection = None
        if connection is not None:
            # A reset, not only the end of the stream: the shop must see that the body is
            # incomplete.
            connection.reset()
        # otherwise no connection has sent the request yet
        self._finish(Event.ABORTED, Outcome.CANCELLED)

    def _finish(self, event: Event, outcome: Outcome) -> None:
        self._move(event)
        self.queue.finished(self, outcome)

    def _move(self, event: Event) -> State:
        """Change to the state that `event` leads to, and return the previous state; raise
        IllegalMoveError if the event is not allowed in the present state.
        """
        before = self._state
        following = TRANSITIONS[before].get(event)
        if following is None:
            raise IllegalMoveError(f"{self!r}: {event.value}")
        self._state = following
        return before
