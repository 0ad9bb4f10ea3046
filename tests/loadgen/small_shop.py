"""A small real HTTP server with the shop's addresses, which can be told to misbehave.

It speaks HTTP over real sockets from threads of its own and remembers every request, when its
connection was closed by the customer, and every order.
"""

import os
import re
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import parse_qs

from tests.resetting import will_reset

STEPS = ("login", "shipping", "payment", "confirm")


@dataclass
class Seen:
    """One request as the server saw it; times are `time.monotonic()`."""

    method: str
    path: str
    headers: dict[str, str]
    form: dict[str, str]
    connection: int
    came: float
    left: float | None = None
    """When the customer closed the connection while the request was hanging."""

    @property
    def page(self) -> str:
        if self.path == "/":
            return "Br-1"
        first, _, rest = self.path.strip("/").partition("/")
        if first == "checkout":
            return f"Tr-{STEPS.index(rest.strip('/')) + 1}"
        return {"browse": "Br-2", "search": "Br-3", "books": "Br-4", "covers": "file"}[
            first.partition("?")[0]
        ]


Manner = Callable[[Seen], str]
"""What to do with a request: `page`, `drop`, `reject`, `error`, `hang`, `cut`, `close`, `reset`,
`page then close`, `wrong page`, `interim` (103, then the page), `interim then close`,
`until close` (a page whose length is the end of the connection)."""


@dataclass
class SmallShop:
    url: str
    port: int
    manner: Manner = lambda seen: "page"
    delay_s: float = 0.0
    tls: ssl.SSLContext | None = None
    """Speaks TLS with it; another one may be put here between two connections."""
    seen: list[Seen] = field(default_factory=list)
    orders: dict[str, dict[str, str]] = field(default_factory=dict)
    connections: int = 0


@contextmanager
def small_shop(
    manner: Manner | None = None,
    delay_s: float = 0.0,
    tls: ssl.SSLContext | None = None,
) -> Iterator[SmallShop]:
    """A shop on a free port of the loopback; gone, with its threads, at the end."""
    server = _Server(("127.0.0.1", 0), _Connection)
    port = server.server_address[1]
    url = f"{'http' if tls is None else 'https'}://127.0.0.1:{port}"
    server.shop = SmallShop(url, port, delay_s=delay_s, tls=tls)
    if manner is not None:
        server.shop.manner = manner
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server.shop
    finally:
        server.shutdown()
        server.leave_all()
        server.server_close()
        thread.join()


class _Server(socketserver.ThreadingTCPServer):
    request_queue_size = 512
    allow_reuse_address = True
    shop: SmallShop

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.lock = threading.Lock()
        self.open: set[socket.socket] = set()

    def finish_request(self, request: socket.socket, client_address: object) -> None:
        """In the connection's own thread: the handshake, if there is one, and what follows."""
        if self.shop.tls is None:
            super().finish_request(request, client_address)
            return
        try:
            secure = self.shop.tls.wrap_socket(request, server_side=True)
        except OSError:
            return  # turned away, or the customer left
        with secure:
            super().finish_request(secure, client_address)
            secure.settimeout(0)
            with suppress(OSError, ValueError):
                secure.unwrap()  # says good-bye, and waits for no answer

    def leave_all(self) -> None:
        with self.lock:
            for sock in self.open:
                with suppress(OSError):  # the customer has just left
                    sock.shutdown(socket.SHUT_RDWR)


class _Connection(socketserver.StreamRequestHandler):
    server: _Server
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.open.add(self.connection)
            self.server.shop.connections += 1
            self.number = self.server.shop.connections

    def finish(self) -> None:
        with self.server.lock:
            self.server.open.discard(self.connection)
        with suppress(OSError):  # the customer may have left first
            super().finish()

    def handle(self) -> None:
        try:
            while (seen := self._read()) is not None:
                if not self._answer(seen):
                    return
        except OSError:
            pass  # the customer left

    def _read(self) -> Seen | None:
        line = self.rfile.readline().decode("latin-1")
        if not line:
            return None
        method, path, _ = line.split()
        headers = {}
        while (line := self.rfile.readline().decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = self.rfile.read(int(headers.get("content-length", 0))).decode("ascii")
        form = {name: values[0] for name, values in parse_qs(body).items()}
        seen = Seen(method, path, headers, form, self.number, time.monotonic())
        with self.server.lock:
            self.server.shop.seen.append(seen)
        return seen

    def _answer(self, seen: Seen) -> bool:
        """Answers in the shop's manner; False when the connection is to be closed."""
        if self.server.shop.delay_s:
            time.sleep(self.server.shop.delay_s)
        manner = self.server.shop.manner(seen)
        if manner == "hang":
            self.connection.recv(1)
            seen.left = time.monotonic()
            return False
        if manner == "reset":
            will_reset(self.connection)
            os.close(self.connection.detach())  # past socketserver, which would send a FIN first
            return False
        if manner == "close":
            return False
        if manner.startswith("interim"):
            self.connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n")
            if manner == "interim then close":
                return False
        if manner == "until close":
            self.connection.sendall(b"HTTP/1.1 200 OK\r\nX-Request-Id: request-1\r\n\r\nall of it")
            return False
        if manner in ("drop", "reject"):
            verdict = {"drop": "dropped", "reject": "rejected"}[manner]
            self._send(503, b"try later", {"X-Doorbuster-Verdict": verdict})
        elif manner == "error":
            self._send(500, b"broken")
        elif manner == "cut":
            self._send(200, b"half a page", length=1000)
            return False
        elif manner == "wrong page":
            self._send(200, b"<p>Nothing to see here</p>")
        else:
            self._send_page(seen)
        return manner != "page then close"

    def _send_page(self, seen: Seen) -> None:
        cookies = seen.headers.get("cookie", "")
        extra = {}
        if "csrftoken" not in cookies:
            extra = {"Set-Cookie": f"csrftoken=secret-{self.number}; Path=/; SameSite=Lax"}
        if seen.method == "POST":
            token = re.search(r"csrftoken=([^;]+)", cookies)
            if token is None or seen.form.get("csrfmiddlewaretoken") != token[1]:
                self._send(403, b"CSRF verification failed")
                return
        image = {"Content-Type": "image/svg+xml"} if seen.page == "file" else {}
        self._send(200, self._body(seen, extra), extra | image)

    def _body(self, seen: Seen, extra: dict[str, str]) -> bytes:
        if seen.page == "file":
            return b'<svg xmlns="http://www.w3.org/2000/svg"><title>A book</title></svg>'
        links = '<a href="/browse/poetry/">P</a> <a href="/browse/travel/">T</a>'
        token = re.search(r"csrftoken=([^;]+)", f"{extra} {seen.headers.get('cookie', '')}")
        assert token is not None
        hidden = f'<input type="hidden" name="csrfmiddlewaretoken" value="{token[1]}">'
        search = '<form action="/search/" method="get"><input name="q"></form>'
        page = seen.page
        if page == "Br-1":
            main = links
        elif page in ("Br-2", "Br-3"):
            main = "".join(
                f'<li><a href="/books/{book}/"><img src="/covers/{book}.svg">A book</a>{mark}</li>'
                for book, mark in ((17, ""), (97, '<span class="gone">none</span>'), (4309, ""))
            )
        elif page == "Br-4":
            book = seen.path.split("/")[2]
            main = links + _form(
                "login", hidden, f'<input type="hidden" name="book" value="{book}">'
            )
        elif page == "Tr-1":
            main = _form("shipping", hidden, '<input name="username"><input name="password">')
        elif page == "Tr-2":
            main = _form("payment", hidden, '<input name="street" required>')
        elif page == "Tr-3":
            key = f'<input type="hidden" name="idempotency_key" value="key-{self.number}">'
            main = _form("confirm", hidden, key, '<input name="card_number" required>')
        else:
            if seen.method == "POST":
                with self.server.lock:
                    self.server.shop.orders[seen.form["idempotency_key"]] = seen.form
            main = '<p>Your order <strong id="order-number">1</strong> is placed</p>'
            main += '<p class="sum"><span>Total</span> <strong>€1,012.90</strong></p>'
        return f"<html>{search}{main}</html>".encode()

    def _send(
        self,
        status: int,
        body: bytes,
        extra: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        fields = {"Content-Length": str(length or len(body)), "Content-Type": "text/html"}
        fields["X-Request-Id"] = f"request-{len(self.server.shop.seen)}"
        head += [f"{name}: {value}" for name, value in (fields | (extra or {})).items()]
        self.connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)


def _form(step: str, *inputs: str) -> str:
    return f'<form method="post" action="/checkout/{step}/">{"".join(inputs)}</form>'
