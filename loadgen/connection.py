"""A customer's connection: TCP, and over it TLS when the shop's address says so.

Owns: opening and closing it, telling whether the other side still keeps it, and the TLS session,
which outlives the connection: the next one resumes it. A connection counts as resumed only when
the handshake was one (`session_reused`), not because a ticket was shown. In TLS 1.3 the ticket
comes with the first data, so the session is taken when the connection is given up.
Must not know: HTTP, pages, patience, time scales. Durations are real seconds.
"""

import errno
import time
from collections.abc import Callable
from contextlib import suppress

from gevent import socket, ssl

from loadgen.connection_log import ConnectionKind
from loadgen.shop_address import ShopAddress

Connected = Callable[[ConnectionKind, float], None]
"""Is told how every opening of a connection ended, and how many real seconds it took."""

_ALERTS = ("SSLV3_ALERT_", "TLSV1_", "TLSV13_ALERT_")
"""How OpenSSL names an alert that came from the other side."""
_OUR_OWN = (
    errno.EADDRNOTAVAIL,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ENOMEM,
)
"""What this machine has run out of, ports or files or memory: nobody was turned away."""


class NotConnectedError(Exception):
    """No connection; `kind` is `REFUSED` or `FAILED`, the message one line."""

    def __init__(self, kind: ConnectionKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class Connection:
    """At most one open connection at a time; each opening after the first resumes if it can."""

    __slots__ = ("_address", "_began", "_connected", "_session", "_sock")

    def __init__(self, address: ShopAddress, connected: Connected | None = None) -> None:
        self._address = address
        self._connected = connected
        self._session: ssl.SSLSession | None = None
        self._sock: socket.socket | ssl.SSLSocket | None = None
        self._began: float | None = None
        """When the opening that is under way began."""

    @property
    def is_secure(self) -> bool:
        """Over TLS: whoever got through the handshake was wanted."""
        return self._address.tls is not None

    def open(self) -> None:
        """Connects, the handshake included. Raises `NotConnectedError`.

        Refused is who was turned away: no TCP connection, a TLS alert, or a connection that was
        closed in the handshake. Failed is what this side cannot do or accept: no more files or
        ports for it, a wrong certificate.
        """
        self._began = time.monotonic()
        try:
            kind = self._open()
        except OSError as error:
            refused = _is_refusal(error)
            kind = ConnectionKind.REFUSED if refused else ConnectionKind.FAILED
            self._opened(kind)
            self.close()
            raise NotConnectedError(kind, why(error)) from None
        self._opened(kind)

    def give_up(self) -> None:
        """Closes it because patience has ended, be it in the handshake."""
        if self._began is not None:
            self._opened(ConnectionKind.TIMED_OUT)
        self.close()

    def close(self) -> None:
        """Closes it now, whatever is still under way."""
        sock, self._sock = self._sock, None
        if sock is None:
            self._began = None
            return
        if isinstance(sock, ssl.SSLSocket) and self._began is None:
            self._keep_session(sock)
            sock.settimeout(0)
            # A good-bye that waits for no answer: a server that hears none may forget the session.
            with suppress(OSError, ValueError):
                sock.unwrap()
        self._began = None
        sock.close()

    def is_kept(self) -> bool:
        """False when there is no connection, or the server closed the idle one."""
        if self._sock is None:
            return False
        self._sock.settimeout(0)
        try:
            if self._address.tls is None:
                self._sock.recv(1, socket.MSG_PEEK)
            else:
                self._sock.recv(1)  # takes in what is no data, as tickets that came late
        except (BlockingIOError, ssl.SSLWantReadError):
            self._sock.settimeout(None)
            return True
        except OSError:
            pass
        # The end of the stream, or bytes nobody asked for: neither can carry the next page.
        self.close()
        return False

    def send(self, data: bytes) -> None:
        """Sends all of it."""
        assert self._sock is not None
        self._sock.sendall(data)

    def receive(self, most_bytes: int) -> bytes:
        """What has come, at least a byte; nothing at the end of the stream."""
        assert self._sock is not None
        return bytes(self._sock.recv(most_bytes))

    def _open(self) -> ConnectionKind:
        address = self._address
        sock = socket.socket(address.family, socket.SOCK_STREAM)
        self._sock = sock
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.connect(address.peer)
        if address.tls is None:
            return ConnectionKind.NEW
        secure = address.tls.wrap_socket(
            sock,
            do_handshake_on_connect=False,
            server_hostname=address.host_name,
            session=self._session,
        )
        self._sock = secure
        secure.do_handshake()
        return ConnectionKind.RESUMED if secure.session_reused else ConnectionKind.NEW

    def _opened(self, kind: ConnectionKind) -> None:
        assert self._began is not None
        took_s = time.monotonic() - self._began
        if kind in (ConnectionKind.NEW, ConnectionKind.RESUMED):
            self._began = None
        if self._connected is not None:
            self._connected(kind, took_s)

    def _keep_session(self, sock: ssl.SSLSocket) -> None:
        session = sock.session
        # Without a ticket a session of TLS 1.3 cannot be resumed; an older one may still be.
        if session is not None and (session.has_ticket or sock.version() != "TLSv1.3"):
            self._session = session


def why(error: OSError) -> str:
    """The error in one line."""
    return error.strerror or str(error)


def _is_refusal(error: OSError) -> bool:
    if not isinstance(error, ssl.SSLError):
        return error.errno not in _OUR_OWN
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return True
    return (error.reason or "").startswith(_ALERTS)
