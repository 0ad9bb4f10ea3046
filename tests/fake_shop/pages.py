"""A shop whose pages a customer of the load generator walks through, and which can misbehave.

It remembers every request and every order.
"""

import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.fake_shop.server import CLOSE, Answer, FakeServer, Raw, Reply, Request

STEPS = ("login", "shipping", "payment", "confirm")
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"


class Seen(Request):
    """One request of a customer."""

    @property
    def page(self) -> str:
        """Return the page type of the request, or `file`."""
        if self.path == "/":
            return "Br-1"
        first, _, rest = self.path.strip("/").partition("/")
        if first == "checkout":
            return f"Tr-{STEPS.index(rest.strip('/')) + 1}"
        return {"browse": "Br-2", "search": "Br-3", "books": "Br-4", "covers": "file"}[
            first.partition("?")[0]
        ]


Manner = Callable[[Seen], str]
"""The treatment of a request: `page`, `drop`, `reject`, `error`, `hang`, `cut`, `close`, `reset`,
`page then close`, `wrong page`, `interim` (103, then the page), `interim then close`, `until close`
(a page whose length is the end of the connection)."""


class SmallShop(FakeServer):
    """A shop that answers in the manner that the test chooses; `requests` are of type Seen."""

    request_type = Seen

    def __init__(self, manner: Manner, delay_s: float, tls: ssl.SSLContext | None) -> None:
        super().__init__(self._answer, tls=tls)
        self.manner = manner
        self.delay_s = delay_s
        self.orders: dict[str, dict[str, str]] = {}

    def _answer(self, seen: Seen) -> Answer:
        if self.delay_s:
            self.is_ending.wait(self.delay_s)
        manner = self.manner(seen)
        if manner == "hang":
            seen.wait_until_it_leaves()
            return CLOSE
        if manner == "reset":
            seen.reset()
            return CLOSE
        if manner == "close":
            return CLOSE
        if manner == "interim then close":
            return Raw((HINTS,), closes=True)
        if manner == "until close":
            head = b"HTTP/1.1 200 OK\r\nX-Request-Id: request-1\r\n\r\n"
            return Raw((head + b"all of it",), closes=True)
        if manner in ("drop", "reject"):
            verdict = {"drop": "dropped", "reject": "rejected"}[manner]
            return self._reply(b"try later", 503, {"X-Doorbuster-Verdict": verdict})
        if manner == "error":
            return self._reply(b"broken", 500)
        if manner == "cut":
            return self._reply(b"half a page", length=1000, closes=True)
        if manner == "wrong page":
            return self._reply(b"<p>Nothing to see here</p>")
        if manner == "interim":
            seen.sock.sendall(HINTS)
        return self._page(seen, closes=manner == "page then close")

    def _page(self, seen: Seen, *, closes: bool) -> Reply:
        cookies = seen.headers.get("cookie", "")
        extra = {}
        if "csrftoken" not in cookies:
            cookie = f"csrftoken=secret-{seen.connection}; Path=/; SameSite=Lax"
            extra = {"Set-Cookie": cookie}
        if seen.method == "POST":
            token = re.search(r"csrftoken=([^;]+)", cookies)
            if token is None or seen.form.get("csrfmiddlewaretoken") != token[1]:
                return self._reply(b"CSRF verification failed", 403, closes=closes)
        image = {"Content-Type": "image/svg+xml"} if seen.page == "file" else {}
        return self._reply(self._body(seen, extra), 200, extra | image, closes=closes)

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
            key = f'<input type="hidden" name="idempotency_key" value="key-{seen.connection}">'
            main = _form("confirm", hidden, key, '<input name="card_number" required>')
        else:
            if seen.method == "POST":
                with self.lock:
                    self.orders[seen.form["idempotency_key"]] = seen.form
            main = '<p>Your order <strong id="order-number">1</strong> is placed</p>'
            main += '<p class="sum"><span>Total</span> <strong>€1,012.90</strong></p>'
        return f"<html>{search}{main}</html>".encode()

    def _reply(
        self,
        body: bytes,
        status: int = 200,
        extra: dict[str, str] | None = None,
        *,
        length: int | None = None,
        closes: bool = False,
    ) -> Reply:
        fields = {"Content-Type": "text/html", "X-Request-Id": f"request-{len(self.requests)}"}
        return Reply(body, status, fields | (extra or {}), length, closes)


@contextmanager
def small_shop(
    manner: Manner | None = None,
    delay_s: float = 0.0,
    tls: ssl.SSLContext | None = None,
) -> Iterator[SmallShop]:
    """Yield a shop on a free port of the loopback; at the end it is gone, with its threads."""
    with SmallShop(manner or (lambda seen: "page"), delay_s, tls).serving() as shop:
        yield shop


def _form(step: str, *inputs: str) -> str:
    return f'<form method="post" action="/checkout/{step}/">{"".join(inputs)}</form>'
