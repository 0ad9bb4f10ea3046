"""A customer's connection to the shop: TCP, with TLS if the shop's URL is https.

If possible, the next connection resumes the TLS session of the previous one. In TLS 1.3, the ticket
arrives with the first data, so the session is saved when the connection is closed.
"""

import errno
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gevent import socket, ssl

from loadgen.records.connection_log import ConnectionKind

Connected = Callable[[ConnectionKind, float], None]
"""A callback after every attempt to connect; it gets the kind and the duration in real seconds."""

_ALERTS = ("SSLV3_ALERT_", "TLSV1_", "TLSV13_ALERT_")
"""The prefixes of OpenSSL's names for alerts from the server."""
_OUR_OWN = (
    errno.EADDRNOTAVAIL,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ENOMEM,
)
"""The errors that this machine causes, for example by too many open files. They do not count as
refusals.
"""


class HostError(ValueError):
    """The error for an unusable shop URL or certificate authority; the message is one line."""


@dataclass(frozen=True, slots=True)
class ShopAddress:
    """The shop's address, the `Host` header, and the identity that the certificate must have."""

    family: int
    peer: tuple[Any, ...]
    """The address as `getaddrinfo` returns it."""
    host_field: str
    host_name: str = ""
    """The name or address for which the certificate must be valid."""
    tls: ssl.SSLContext | None = None
    """The TLS context that all customers share, or None for plain HTTP."""

    @property
    def scheme(self) -> str:
        return "http" if self.tls is None else "https"

    @classmethod
    def from_url(cls, url: str, authority: Path | None = None) -> "ShopAddress":
        """Resolve `http[s]://host[:port]`, once for all customers.

        `authority` is a PEM file with the trusted certificates for https; without it, the
        certificates that the system trusts are used. Raises `HostError` for an invalid URL, a name
        without an address, or an unusable PEM file.
        """
        fix = "give http://host:port or https://host:port, e.g. http://127.0.0.1:8080"
        try:
            parts = urlsplit(url)
            port = parts.port or {"https": 443}.get(parts.scheme, 80)
        except ValueError as error:
            raise HostError(f"--host {url}: {error}; {fix}") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
            raise HostError(f"--host {url}: not an address of the shop; {fix}")
        if authority is not None and parts.scheme != "https":
            raise HostError(
                f"--authority: {url} uses no certificate; give an https:// URL as --host"
            )
        try:
            found = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise HostError(f"--host {url}: {error.strerror or error}; {fix}") from None
        family, _, _, _, peer = found[0]
        tls = _trusting(authority) if parts.scheme == "https" else None
        return cls(family, peer, parts.netloc.rpartition("@")[2], parts.hostname, tls)


def _trusting(authority: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if authority is None:
        context.load_default_certs()
        return context
    try:
        context.load_verify_locations(authority)
    except ssl.SSLError:
        raise HostError(
            f"--authority {authority}: the file contains no certificate; give a PEM file with "
            f"certificates"
        ) from None
    except OSError as error:
        raise HostError(
            f"--authority {authority}: {error.strerror}; give a PEM file with certificates"
        ) from None
    return context


class NotConnectedError(Exception):
    """The error for a connection that could not be opened; `kind` is `REFUSED` or `FAILED`, and the
    message is one line.
    """

    def __init__(self, kind: ConnectionKind, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class Connection:
    """A connection that can be opened several times. From the second time on, it resumes its TLS
    session if possible.
    """

    __slots__ = ("_address", "_began", "_connected", "_session", "_sock")

    def __init__(self, address: ShopAddress, connected: Connected | None = None) -> None:
        self._address = address
        self._connected = connected
        self._session: ssl.SSLSession | None = None
        self._sock: socket.socket | ssl.SSLSocket | None = None
        self._began: float | None = None
        """The time at which the present attempt to connect started."""

    @property
    def is_secure(self) -> bool:
        return self._address.tls is not None

    def open(self) -> None:
        """Connect, including the TLS handshake; raise `NotConnectedError` if that fails.

        `REFUSED`: the server turned the customer away, because it accepted no TCP connection, sent
        a TLS alert, or closed the connection during the handshake. `FAILED`: this machine has no
        more files or ports, or does not accept the certificate.
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
        """Close the connection, even during the handshake, because the customer's patience has
        ended.
        """
        if self._began is not None:
            self._opened(ConnectionKind.TIMED_OUT)
        self.close()

    def close(self) -> None:
        sock, self._sock = self._sock, None
        if sock is None:
            self._began = None
            return
        if isinstance(sock, ssl.SSLSocket) and self._began is None:
            self._keep_session(sock)
            sock.settimeout(0)
            # Send close_notify without waiting for the answer; otherwise, the server may forget the
            # session.
            with suppress(OSError, ValueError):
                sock.unwrap()
        self._began = None
        sock.close()

    def fileno(self) -> int:
        return -1 if self._sock is None else int(self._sock.fileno())

    def is_kept(self) -> bool:
        """Return whether the connection of the last page is still open."""
        if self._sock is None:
            return False
        self._sock.settimeout(0)
        try:
            if self._address.tls is None:
                self._sock.recv(1, socket.MSG_PEEK)
            else:
                self._sock.recv(1)  # also reads protocol messages, such as late tickets
        except (BlockingIOError, ssl.SSLWantReadError):
            self._sock.settimeout(None)
            return True
        except OSError:
            pass
        # After the end of the stream or unexpected bytes, the connection is unusable.
        self.close()
        return False

    def send(self, data: bytes) -> None:
        assert self._sock is not None
        self._sock.sendall(data)

    def receive(self, most_bytes: int) -> bytes:
        """Wait for bytes and return them; empty bytes mean the end of the stream."""
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
        # Without a ticket, a TLS 1.3 session cannot be resumed, but a TLS 1.2 session may be.
        if session is not None and (session.has_ticket or sock.version() != "TLSv1.3"):
            self._session = session


def why(error: OSError) -> str:
    return error.strerror or str(error)


def _is_refusal(error: OSError) -> bool:
    if not isinstance(error, ssl.SSLError):
        return error.errno not in _OUR_OWN
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return True
    return (error.reason or "").startswith(_ALERTS)
