"""TLS on a port that also answers plain HTTP. A TLS connection goes to the server. A plain HTTP
request gets one short answer: a redirect to https, or status 400."""

import asyncio
import contextlib
import re
import socket
import ssl
from collections.abc import Callable
from typing import Any

FIRST_BYTE_WITHIN_S = 10.0
HANDSHAKE_WITHIN_S = 10.0
_HANDSHAKE = b"\x16"  # the record type that a ClientHello begins with (RFC 8446, 5.1)
_MOST_HEAD_BYTES = 8192
_LEFT_UNREAD_BYTES = 65536
_OUT_OF_DESCRIPTORS_S = 0.5

_REQUEST = re.compile(rb"(?:GET|HEAD) (/[!-~]*) HTTP/1\.[01]\r\n")
_HOST = re.compile(rb"\r\nhost:[ \t]*([a-z0-9._\-:\[\]]+)[ \t]*\r\n", re.IGNORECASE)


class TlsListener:
    """A listener that accepts connections on a socket until uvicorn calls `close`."""

    def __init__(
        self, listening: socket.socket, tls: ssl.SSLContext, protocol: Callable[[], Any]
    ) -> None:
        self._listening = listening
        self._tls = tls
        self._protocol = protocol
        self._tasks: set[asyncio.Task[None]] = set()
        self._begin(self._accept())

    def close(self) -> None:
        """Stop accepting connections, and end the connections that the server has not taken
        over."""
        for task in self._tasks:
            task.cancel()

    async def wait_closed(self) -> None:
        """Wait until all connections that `close` ends are closed."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(self._listening)
            except OSError:  # no file descriptors left, or the client has left already
                await asyncio.sleep(_OUT_OF_DESCRIPTORS_S)
                continue
            self._begin(self._take(connection))

    async def _take(self, connection: socket.socket) -> None:
        served = False
        try:
            first = await asyncio.wait_for(_first_byte(connection), FIRST_BYTE_WITHIN_S)
            if first == _HANDSHAKE:
                served = True
                await asyncio.get_running_loop().connect_accepted_socket(
                    self._protocol,
                    connection,
                    ssl=self._tls,
                    ssl_handshake_timeout=HANDSHAKE_WITHIN_S,
                )
            elif first:
                await asyncio.wait_for(_answer_plainly(connection), FIRST_BYTE_WITHIN_S)
        except (OSError, TimeoutError):
            pass  # the client left, was too slow, or uses no accepted TLS
        finally:
            if not served:
                connection.close()


async def _first_byte(connection: socket.socket) -> bytes:
    """Return the client's first byte without consuming it; empty if the client ends the connection
    first."""
    connection.setblocking(False)
    while True:
        await _readable(connection)
        with contextlib.suppress(BlockingIOError):
            return connection.recv(1, socket.MSG_PEEK)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(connection)


async def _answer_plainly(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MOST_HEAD_BYTES:
        piece = await loop.sock_recv(connection, _MOST_HEAD_BYTES)
        if not piece:
            break
        head += piece
    await loop.sock_sendall(connection, plain_answer(head))
    connection.shutdown(socket.SHUT_WR)
    left = _LEFT_UNREAD_BYTES  # closing with bytes unread would reset the connection
    while left > 0 and (piece := await loop.sock_recv(connection, left)):
        left -= len(piece)


def plain_answer(head: bytes) -> bytes:
    """Return the HTTP answer to a plain request with this head."""
    request, host = _REQUEST.match(head), _HOST.search(head)
    if request and host:
        to = b"https://" + host[1] + request[1]
        return _answer(b"307 Temporary Redirect", b"The console speaks https only: " + to, to)
    return _answer(b"400 Bad Request", b"The console speaks https only; open its https:// address.")


def _answer(status: bytes, text: bytes, location: bytes = b"") -> bytes:
    fields = [
        b"HTTP/1.1 " + status,
        b"Content-Type: text/plain; charset=utf-8",
        b"Content-Length: %d" % (len(text) + 1),
        b"Cache-Control: no-store",
        b"Connection: close",
        *([b"Location: " + location] if location else []),
    ]
    return b"\r\n".join(fields) + b"\r\n\r\n" + text + b"\n"
