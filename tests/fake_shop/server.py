"""An HTTP server in threads that answers each request by the test's function."""

import json
import os
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import parse_qs

from tests.resetting import will_reset

PATIENCE_S = 120.0


@dataclass
class Request:
    """One request as the server saw it; times are `time.monotonic()`."""

    method: str
    path: str
    headers: dict[str, str]
    """The header fields, with names in lower case."""
    body: bytes
    connection: int
    """The number of its connection, from 1."""
    sock: socket.socket = field(repr=False)
    came: float = field(default_factory=time.monotonic)
    left: float | None = None
    """The time when the client closed the connection, if `wait_until_it_leaves` was called."""

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @cached_property
    def form(self) -> dict[str, str]:
        """The fields of a form, the first value of each."""
        return {name: values[0] for name, values in parse_qs(self.body.decode("ascii")).items()}

    def wait_until_it_leaves(self) -> None:
        """Wait until the client closes the connection, and note the time."""
        self.sock.recv(1)
        self.left = time.monotonic()

    def reset(self) -> None:
        """End the connection with a reset."""
        will_reset(self.sock)
        os.close(self.sock.detach())  # past socketserver, which would send a FIN first


@dataclass(frozen=True)
class Reply:
    """An answer; `length` and `closes` make a bad one."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    length: int | None = None
    """The Content-Length of the answer; None for the body's length."""
    closes: bool = False
    """Whether the connection is closed after the answer."""


@dataclass(frozen=True)
class Raw:
    """Bytes that are sent unchanged, in several parts `pause_s` apart."""

    parts: tuple[bytes, ...]
    closes: bool = False
    pause_s: float = 0.0


CLOSE = Raw((), closes=True)
"""No answer: the connection is closed."""
Answer = Reply | Raw | bytes | dict[str, Any] | list[Any]
"""An answer: bytes are the body of a page; a dictionary or a list is sent as JSON."""


class FakeServer(socketserver.ThreadingTCPServer):
    """The server's address, its requests and its answers."""

    request_queue_size = 512
    allow_reuse_address = True
    request_type: type[Request] = Request

    def __init__(
        self, answer: Callable[[Request], Answer], port: int = 0, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self.answer = answer
        """The function that answers; a test may replace it at any time."""
        self.port: int = self.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self.tls = tls
        """The context for TLS; a test may replace it between two connections."""
        self.requests: list[Request] = []
        self.connections = 0
        self.lock = threading.Lock()
        self.is_ending = threading.Event()
        self._open: set[socket.socket] = set()

    def hang_up(self) -> None:
        """End all connections; new ones are taken."""
        with self.lock:
            for sock in self._open:
                with suppress(OSError):  # the client has just left
                    sock.shutdown(socket.SHUT_RDWR)

    def connected(self, sock: socket.socket) -> int:
        """Remember a connection and return its number."""
        with self.lock:
            self._open.add(sock)
            self.connections += 1
            return self.connections

    def disconnected(self, sock: socket.socket) -> None:
        """Forget a connection."""
        with self.lock:
            self._open.discard(sock)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its thread: the handshake, if there is one, and the requests."""
        if self.tls is None:
            super().finish_request(request, client_address)
            return
        try:
            secure = self.tls.wrap_socket(request, server_side=True)
        except OSError:
            return  # turned away, or the client left
        with secure:
            super().finish_request(secure, client_address)
            secure.settimeout(0)
            with suppress(OSError, ValueError):
                secure.unwrap()  # says good-bye, and waits for no answer

    @contextmanager
    def serving(self) -> Iterator[Self]:
        """Serve until the block ends; then no connection is open."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.is_ending.set()
            self.shutdown()
            self.hang_up()
            self.server_close()
            thread.join()


@contextmanager
def fake_server(
    answer: Callable[[Request], Answer], port: int = 0, tls: ssl.SSLContext | None = None
) -> Iterator[FakeServer]:
    """Run a server on this port of the loopback, or on a free one, until the block ends."""
    with FakeServer(answer, port, tls).serving() as server:
        yield server


class HoldingServer(FakeServer):
    """A server that answers with a page once the test lets it, and `/quick/` at once."""

    def __init__(self, page: Answer, *, is_held: bool = True) -> None:
        super().__init__(self._page)
        self._content = page
        self._opens = threading.Event()
        if not is_held:
            self.let_go()

    def _page(self, request: Request) -> Answer:
        if "quick" not in request.path:
            self._opens.wait(PATIENCE_S)
        return self._content

    def let_go(self) -> None:
        """Answer all requests, also later ones."""
        self._opens.set()

    def hold(self) -> None:
        """Answer no more requests."""
        self._opens.clear()

    def shutdown(self) -> None:
        """Stop, without holding any request back."""
        self.let_go()
        super().shutdown()


class _Connection(socketserver.StreamRequestHandler):
    server: FakeServer
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.number = self.server.connected(self.connection)

    def finish(self) -> None:
        self.server.disconnected(self.connection)
        with suppress(OSError):  # the client may have left first
            super().finish()

    def handle(self) -> None:
        with suppress(OSError):  # the client left
            while (request := self._read()) is not None:
                if self._send(request, self.server.answer(request)):
                    return

    def _read(self) -> Request | None:
        line = self.rfile.readline().decode("latin-1")
        if not line.strip():
            return None
        method, path, _ = line.split()
        headers = {}
        while (line := self.rfile.readline().decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = self._body(headers)
        request = self.server.request_type(
            method, path, headers, body, self.number, self.connection
        )
        with self.server.lock:
            self.server.requests.append(request)
        return request

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, request: Request, answer: Answer) -> bool:
        """Send the answer; return whether the connection must be closed."""
        if isinstance(answer, Raw):
            for part in answer.parts:
                self.connection.sendall(part)
                if answer.pause_s and self.server.is_ending.wait(answer.pause_s):
                    return True
            return answer.closes
        if isinstance(answer, dict | list):
            answer = Reply(
                json.dumps(answer).encode(), headers={"Content-Type": "application/json"}
            )
        elif isinstance(answer, bytes):
            answer = Reply(answer)
        length = len(answer.body) if answer.length is None else answer.length
        fields = {"Content-Length": str(length), **answer.headers}
        head = [f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}"]
        head += [f"{name}: {value}" for name, value in fields.items()]
        body = b"" if request.method == "HEAD" else answer.body
        self.connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        return answer.closes or request.headers.get("connection", "").lower() == "close"
