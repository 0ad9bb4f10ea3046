"""A customer's TLS connection, which `Customer` uses like an ordinary transport. Encryption and
decryption run in the event loop, because symmetric ciphers are fast.
"""

import asyncio
import contextlib
import ssl
from typing import Any, Final

from gateway.http.limits import KIB

_READ_BYTES: Final = 256 * KIB
_WRITE_BYTES: Final = 64 * KIB
# The limit on answers to key updates that the customer does not read.
_UNASKED_BYTES: Final = 64 * KIB


class TlsConnection(asyncio.Protocol, asyncio.Transport):
    """A TLS connection, which is the protocol of the TCP transport `raw` and the transport of the
    protocol `inner`.
    """

    __slots__ = (
        "_has_written_eof",
        "_incoming",
        "_inner",
        "_is_closing",
        "_is_paused",
        "_is_write_held",
        "_loop",
        "_outgoing",
        "_raw",
        "_ssl",
        "_unasked_bytes",
    )

    def __init__(
        self,
        raw: asyncio.Transport,
        ssl_object: ssl.SSLObject,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        inner: asyncio.Protocol,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Continue with an `ssl_object` whose handshake used `incoming` and `outgoing`."""
        super().__init__()
        self._raw = raw
        self._ssl = ssl_object
        self._incoming = incoming
        self._outgoing = outgoing
        self._inner = inner
        self._loop = loop
        self._has_written_eof = False
        self._is_closing = False
        self._is_paused = False
        self._is_write_held = False
        self._unasked_bytes = 0

    def begin(self, held_back: bytes) -> None:
        """Begin the connection; `held_back` are bytes that arrived during the handshake."""
        self._inner.connection_made(self)
        self.data_received(held_back)

    # ---- asyncio's calls for the TCP transport ---------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._is_deaf:
            return
        self._incoming.write(data)
        self._decrypt()

    def eof_received(self) -> bool:
        """Handle the end of the customer's stream, with or without a close_notify.

        The gateway does not support half-closed TLS connections (decision record 0011).
        """
        self._customer_left()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_closing = True
        self._end_session()
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._is_write_held = True
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._is_write_held = False
        self._unasked_bytes = 0
        self._inner.resume_writing()

    # ---- decryption ------------------------------------------------------------------------------

    @property
    def _is_deaf(self) -> bool:
        """Whether further bytes are dropped, because the gateway's stream has ended."""
        return self._is_closing or self._has_written_eof

    def _decrypt(self) -> None:
        while not (self._is_paused or self._is_deaf):
            try:
                data = self._ssl.read(_READ_BYTES)
            except ssl.SSLWantReadError:
                break
            except OSError:
                # Invalid bytes (an SSLError) or an attack; OpenSSL has an alert to send.
                self._customer_left()
                return
            if not data:  # a close_notify
                self._customer_left()
                return
            self._inner.data_received(data)
        if self._outgoing.pending and not self._is_closing:
            self._flush_unasked()

    def _flush_unasked(self) -> None:
        if self._is_write_held:
            self._unasked_bytes += self._outgoing.pending
            if self._unasked_bytes > _UNASKED_BYTES:
                self.abort()
                return
        self._raw.write(self._outgoing.read())

    def _customer_left(self) -> None:
        if self._is_closing:
            return
        self._inner.eof_received()
        # The customer will not read the rest, so the shop must not wait for it.
        if self._raw.get_write_buffer_size():
            self.abort()
        else:
            self.close()

    # ---- the transport of the customer -----------------------------------------------------------

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "sslcontext":
            return self._ssl.context
        return self._raw.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self._is_closing or self._raw.is_closing()

    def pause_reading(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        """Decrypt the bytes already received, then continue to read."""
        if not self._is_deaf:
            self._decrypt()
        if not (self._is_paused or self.is_closing()):
            self._raw.resume_reading()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._raw.set_write_buffer_limits(high=high, low=low)

    def get_write_buffer_size(self) -> int:
        return self._raw.get_write_buffer_size()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_closing:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._ssl.write(rest[:_WRITE_BYTES]) :]
                self._raw.write(self._outgoing.read())
        except ssl.SSLError:
            self.abort()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """End the gateway's stream; the customer's bytes are dropped until `close` or `abort`."""
        if not self._is_deaf:
            self._has_written_eof = True
            self._notify()
            self._raw.write_eof()

    def close(self) -> None:
        """End the connection with a close_notify once everything has been sent."""
        if not self._is_closing:
            if not self._has_written_eof:
                self._notify()
            self._is_closing = True
            self._raw.close()

    def abort(self) -> None:
        """Close the connection without a close_notify."""
        self._is_closing = True
        self._end_session()
        self._raw.abort()

    # ---- the end ---------------------------------------------------------------------------------

    def _notify(self) -> None:
        self._end_session()
        out = self._outgoing.read()
        if out and not self._raw.is_closing():
            self._raw.write(out)

    def _end_session(self) -> None:
        """Create a close_notify; otherwise OpenSSL would forget the session, which a customer who
        left abruptly may resume (RFC 5246, 7.2.1).
        """
        # An error is harmless: the customer's close_notify is missing, or TLS has already failed.
        with contextlib.suppress(OSError):
            self._ssl.unwrap()
