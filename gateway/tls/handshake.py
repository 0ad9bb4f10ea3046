"""TLS handshakes, computed in threads so that the event loop does not wait for them, and their
limited places.

A handshake owns its connection until the handshake ends or its deadline passes. While a thread uses
the SSLObject, the event loop holds the customer's bytes back, up to a limit.

When all places are taken, a new handshake replaces a handshake that waits for its customer.
Handshakes without a complete ClientHello are replaced first, then handshakes of new sessions, then
those of resumed sessions. In each group, the oldest is replaced first. So a client that sends only
one byte cannot block a place. A handshake keeps its place while one of its steps is being computed
or queued.
"""

import asyncio
import ssl
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum, IntEnum, auto
from typing import Any, Final, cast

from gateway.http import hangups
from gateway.http.customer import Customer, Frontend
from gateway.http.limits import KIB
from gateway.tls.client_hello import begins_session
from gateway.tls.connection import TlsConnection
from gateway.tls.context import REFUSAL, AskedSSLObject
from gateway.tls.gate import ConnectionGate

# OpenSSL accepts a ClientHello of up to 128 KiB; without client certificates, all other messages
# are shorter.
_HANDSHAKE_BYTES: Final = 192 * KIB
_HELD_BACK_BYTES: Final = 64 * KIB
_REFUSAL_RECORD: Final = b"\x15\x03\x03\x00\x02\x02" + bytes([REFUSAL])
"""A record with a fatal alert, as OpenSSL writes it for TLS 1.2 and 1.3."""


class Step(Enum):
    """The state of a handshake after a step."""

    MORE = auto()  # the customer has to send more
    DONE = auto()
    FAILED = auto()
    PLAIN = auto()  # the customer sent HTTP without TLS


class Known(IntEnum):
    """The groups of handshakes; a handshake of the lowest group gives way first."""

    NOTHING = 0  # the ClientHello is incomplete
    NEW = 1
    RESUMED = 2


class HandshakePlaces:
    """A set of at most `most` places. The gate counts the taken places, and the handshakes that
    got no place.
    """

    def __init__(self, gate: ConnectionGate, most: int) -> None:
        self._gate = gate
        self._most = most
        # Each group is in the order in which its handshakes joined it.
        self._taken: dict[Known, dict[Handshake, None]] = {known: {} for known in Known}

    def take(self, handshake: "Handshake") -> bool:
        """Take a place and return True; if none is available, count the handshake as turned away
        and return False.
        """
        if self._gate.under_way >= self._most:
            waiting = (
                one for group in self._taken.values() for one in group if one.waits_for_customer
            )
            other = next(waiting, None)
            if other is None:
                self._gate.count("turned_away")
                return False
            other.give_way()
        self._taken[handshake.known][handshake] = None
        self._gate.under_way += 1
        return True

    def learn(self, handshake: "Handshake", known: Known) -> None:
        """Move a handshake to another group because more is known about it."""
        del self._taken[handshake.known][handshake]
        self._taken[known][handshake] = None
        handshake.known = known

    def leave(self, handshake: "Handshake") -> None:
        """Free the place of a finished handshake."""
        del self._taken[handshake.known][handshake]
        self._gate.under_way -= 1

    def taken(self) -> "dict[Known, list[Handshake]]":
        """Return the handshakes that have a place, in the order in which they would give way."""
        return {known: list(handshakes) for known, handshakes in self._taken.items()}


class Handshakes:
    """The objects that all handshakes of a listening socket share; call `close` once at the end."""

    def __init__(
        self,
        front: Frontend,
        gate: ConnectionGate,
        context: ssl.SSLContext,
        *,
        threads: int,
        most_under_way: int,
        deadline_s: float,
    ) -> None:
        """Start the threads; `context` is the result of `server_context` for this `gate`."""
        self.front = front
        self.gate = gate
        self.context = context
        self.deadline_s = deadline_s
        self.allows_1_2 = context.minimum_version <= ssl.TLSVersion.TLSv1_2
        self.places = HandshakePlaces(gate, most_under_way)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="handshake")

    def compute(self, handshake: "Handshake") -> "Future[None]":
        """Compute the next step in a thread, then call `stepped` in the event loop."""
        return self._threads.submit(self._compute, handshake)

    def close(self) -> None:
        """End the threads without waiting for handshakes in progress."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _compute(self, handshake: "Handshake") -> None:
        step = handshake.step()
        with suppress(RuntimeError):  # the loop has been closed in the meantime
            self.front.loop.call_soon_threadsafe(handshake.stepped, step)


class Handshake(asyncio.Protocol):
    """The protocol of one connection until its handshake is complete."""

    __slots__ = (
        "_computation",
        "_has_answered",
        "_has_begun",
        "_has_ended",
        "_held_back",
        "_incoming",
        "_is_held",
        "_is_over",
        "_outgoing",
        "_raw",
        "_shared",
        "_ssl",
        "deadline_s",
        "fed_bytes",
        "known",
    )

    def __init__(self, shared: Handshakes) -> None:
        self._shared = shared
        self._raw = cast(asyncio.Transport, None)
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._ssl: AskedSSLObject | None = None  # created in a thread, because that is expensive
        self._computation: Future[None] | None = None
        self._held_back = bytearray()
        self.fed_bytes = 0
        self._has_answered = False
        self._has_begun = False
        self._has_ended = False
        self._is_held = False
        self._is_over = False
        self.known = Known.NOTHING
        self.deadline_s = shared.front.loop.time() + shared.deadline_s

    # ---- asyncio's calls -------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._raw = transport
        self._shared.front.connections.shaking_hands(self)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        if not self._has_begun:
            if not self._shared.places.take(self):
                self._is_over = True
                hangups.reset(self._raw)
                return
            self._has_begun = True
            if begins_session(data, allows_1_2=self._shared.allows_1_2):
                if not self._shared.gate.connection(resumed=False):
                    self._raw.write(_REFUSAL_RECORD)
                    self._end()
                    self._raw.close()
                    return
                self._shared.places.learn(self, Known.NEW)
        self._held_back += data
        if self._computation is None:
            self._go_on()
        elif len(self._held_back) > _HELD_BACK_BYTES and not self._is_held:
            self._is_held = True
            self._raw.pause_reading()

    def eof_received(self) -> bool:
        """Handle the customer's departure; a step in a thread may still complete the handshake."""
        if self._is_over:
            return False
        if self._has_answered and self._computation is not None:
            self._has_ended = True
            return True  # `stepped` handles this
        self._fail("handshake_failed")
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._is_over:
            self._fail("handshake_failed")
        self._shared.front.connections.handshake_over(self)

    def deadline_passed(self) -> None:
        """Abort the connection because the handshake, or its closing, has taken too long."""
        if not self._is_over:
            self._fail("handshake_timed_out")
        self._raw.abort()

    @property
    def waits_for_customer(self) -> bool:
        """Whether no step of the handshake is being computed or queued."""
        return self._computation is None

    def give_way(self) -> None:
        """End the handshake because another one gets its place."""
        self._fail("evicted")
        hangups.reset(self._raw)

    def abort(self) -> None:
        """End the handshake because there are too many connections or the gateway is draining."""
        if not self._is_over:
            self._end()
        self._raw.abort()

    # ---- a step ----------------------------------------------------------------------------------

    def step(self) -> Step:
        """Continue the handshake as far as possible, in a thread that alone uses the SSLObject."""
        try:
            if self._ssl is None:
                made = self._shared.context.wrap_bio(
                    self._incoming, self._outgoing, server_side=True
                )
                self._ssl = cast(AskedSSLObject, made)
                if self.known is Known.NEW:  # the gate has accepted it
                    self._ssl.asked_as_resumed, self._ssl.is_accepted = False, True
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return Step.MORE
        except (OSError, ValueError) as error:  # SSLError is an OSError
            is_plain = getattr(error, "reason", None) == "HTTP_REQUEST"
            return Step.PLAIN if is_plain else Step.FAILED
        return Step.DONE

    def stepped(self, step: Step) -> None:
        """Continue in the event loop after a step in a thread."""
        self._computation = None
        if self._is_over:  # the customer has already left
            self._forget()
            return
        out = self._outgoing.read()
        if out and step is not Step.PLAIN:  # a client without TLS cannot read an alert
            self._raw.write(out)
            self._has_answered = True
        if self._ssl is not None and self._ssl.asked_as_resumed is not None:
            known = Known.RESUMED if self._ssl.asked_as_resumed else Known.NEW
            if known is not self.known:
                self._shared.places.learn(self, known)
        if step is Step.DONE and self._ssl is not None and self._ssl.is_as_asked:
            self._hand_over(self._ssl)
        elif (
            step is Step.MORE
            and self.fed_bytes <= _HANDSHAKE_BYTES
            and (self._held_back or not self._has_ended)
        ):
            if self._is_held:
                self._is_held = False
                self._raw.resume_reading()
            if self._held_back:
                self._go_on()
        else:
            # The gate has already counted a refused connection.
            if self._ssl is None or not self._ssl.is_refused:
                self._shared.gate.count("handshake_failed")
            if step is Step.PLAIN:
                self._answer_plainly()
            else:
                self._end()
                self._raw.close()

    def _go_on(self) -> None:
        self.fed_bytes += self._incoming.write(self._held_back)
        self._held_back.clear()
        self._computation = self._shared.compute(self)

    def _hand_over(self, ssl_object: AskedSSLObject) -> None:
        front, held_back = self._shared.front, bytes(self._held_back)
        connection = TlsConnection(
            self._raw, ssl_object, self._incoming, self._outgoing, Customer(front), front.loop
        )
        self._leave_to(connection)
        connection.begin(held_back)
        if self._has_ended:
            connection.eof_received()

    def _answer_plainly(self) -> None:
        customer = Customer(self._shared.front)
        self._leave_to(customer)
        customer.connection_made(self._raw)
        customer.came_without_tls()

    def _leave_to(self, protocol: asyncio.BaseProtocol) -> None:
        """End the handshake, and let `protocol` use the connection from now on."""
        self._end()
        self._shared.front.connections.handshake_over(self)
        self._raw.set_protocol(protocol)
        if self._is_held:
            self._raw.resume_reading()

    # ---- the end ---------------------------------------------------------------------------------

    def _fail(self, how: str) -> None:
        if self._has_begun or how == "handshake_timed_out":
            self._shared.gate.count(how)
        self._end()

    def _end(self) -> None:
        self._is_over = True
        if self._has_begun:
            self._shared.places.leave(self)
        if self._computation is None or self._computation.cancel():
            self._forget()

    def _forget(self) -> None:
        self._ssl = None
        self._held_back = bytearray()
