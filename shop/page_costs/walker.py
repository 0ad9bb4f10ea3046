"""Walks through the shop from the home page to a confirmed order, with cookies and hidden form
fields, as in a browser.
"""

import http.client
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from typing import NamedTuple, Self
from urllib.parse import urlencode, urlsplit

from common import seeded_shop
from common.page_types import PAGE_TYPES

ADDRESS = {
    "full_name": "Ada Penrose",
    "street": "3 Lantern Street",
    "postal_code": "1010",
    "city": "Vienna",
    "country": "AT",
}
PAYMENT = {
    "card_name": "Ada Penrose",
    "card_number": "4242 4242 4242 4242",
    "card_expiry": "12/39",
    "card_code": "123",
}
_TIMEOUT_S = 60


class WalkFailed(Exception):  # noqa: N818
    """The error for an unexpected page; its message names the page or the missing form."""


class Visit(NamedTuple):
    """A visited page: its type, status and HTML, and the response time in real seconds."""

    page: str
    status: int
    html: str
    response_s: float


@dataclass(slots=True)
class Form:
    """A form of a page, with its filled fields."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag == "form":
            self.forms.append(Form(values.get("action") or ""))
        elif tag == "input" and self.forms and values.get("name"):
            self.forms[-1].fields[str(values["name"])] = values.get("value") or ""


def form(html: str, action: str) -> Form:
    """Return the page's first form with this `action`. Raises WalkFailed if there is none."""
    parser = _Forms()
    parser.feed(html)
    for found in parser.forms:
        if found.action == action:
            return found
    raise WalkFailed(f"the page has no form that is sent to {action}")


class Walker:
    """A simulated customer with separate cookies and one connection, which stays open.

    `tls` has the trusted certificate authorities for an https URL; by default, these are the
    system's authorities.
    """

    def __init__(self, url: str, tls: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        host = parts.hostname or "127.0.0.1"
        self._connection = (
            http.client.HTTPSConnection(host, parts.port or 443, timeout=_TIMEOUT_S, context=tls)
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, parts.port or 80, timeout=_TIMEOUT_S)
        )
        self._url = url.rstrip("/")
        self._page = ""
        self.cookies: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def request(self, path: str, fields: dict[str, str] | None = None) -> tuple[int, str, float]:
        """Send a GET request, or a POST request if `fields` is given; return the status, the body
        and the response time in real seconds.
        """
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        if self._page:
            headers["Referer"] = self._page  # without it, the shop refuses forms over https
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        started_s = time.perf_counter()
        self._connection.request(
            "GET" if fields is None else "POST",
            path,
            None if fields is None else urlencode(fields),
            headers,
        )
        response = self._connection.getresponse()
        html = response.read().decode()
        response_s = time.perf_counter() - started_s
        self._page = self._url + path
        for header in response.headers.get_all("Set-Cookie") or ():
            for name, morsel in SimpleCookie(header).items():
                self.cookies[name] = morsel.value
        return response.status, html, response_s

    def walk(self, shelf: str, words: str, book: int, username: str) -> Iterator[Visit]:
        """Visit the pages Br-1 to Tr-4 in order: open a shelf, search for a book, and buy `book`.

        Raises WalkFailed if a page is not as expected, and OSError or HTTPException if the
        connection fails.
        """
        filled = {
            "Tr-1": {},
            "Tr-2": {"username": username, "password": seeded_shop.PASSWORD},
            "Tr-3": ADDRESS,
            "Tr-4": PAYMENT,
        }
        html = ""
        for page in PAGE_TYPES:
            path = page.path.format(shelf=shelf, book=book)
            if page.word == "search":
                path += f"?{urlencode({'q': words})}"
            fields = None
            if page.name in filled:
                fields = form(html, path).fields | filled[page.name]
            status, html, response_s = self.request(path, fields)
            if status != 200:
                raise WalkFailed(f"{page.name} ({path}) answered {status} instead of 200")
            yield Visit(page.name, status, html, response_s)
