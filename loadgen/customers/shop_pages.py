"""The requests of a session for the eight pages (docs/shop.md), and the check of the answers."""

import re
from itertools import pairwise
from random import Random
from typing import NamedTuple
from urllib.parse import urlencode

from common.page_types import PAGE_TYPES
from common.seeded_shop import ACCOUNTS, SEARCH_WORDS
from loadgen.customers.forms import Form, find_form

CHECKOUT = {page.name: page.path for page in PAGE_TYPES if page.is_transaction}
_NEXT_FORM = {page: CHECKOUT[following] for page, following in pairwise(CHECKOUT)}
"""For Tr-1 to Tr-3, the path to which the page's form is sent."""

_ORDER_PLACED = b'id="order-number"'
_TOTAL = re.compile(rb'class="sum"><span>Total</span> <strong>[^\d<]*([\d,]+)\.(\d\d)<')
CATEGORY_LINK = re.compile(rb'href="(/browse/[^"/?#]+/)"')
BOOK_LINK = re.compile(rb'href="(/books/\d+/)"')
_COVER = re.compile(rb'<img [^>]*?src="(/covers/\d+\.svg)"')
_END_OF_ENTRY = b"</li>"
_OUT_OF_STOCK = b'class="gone"'

_TYPED = {
    "street": "1 Long Lane",
    "city": "Mumbai",
    "postal_code": "400 076",
    "country": "IN",
    "card_name": "A Customer",
    "card_number": "4242 4242 4242 4242",
    "card_expiry": "12/39",
    "card_code": "123",
}
"""The texts that customers enter in the forms."""


class PageRequest(NamedTuple):
    """The request for a page; every attempt to get the page sends the same request."""

    method: str
    path: str
    form: str | None = None


class WrongPageError(Exception):
    """The error for a page that lacks something that the customer needs; the message is one
    line.
    """


class Shopper:
    """The clicks and entries of one customer, drawn from the session's random stream."""

    def __init__(self, seed: int, session: int, user: str, password: str) -> None:
        """Create a customer. `user` is a format such as `customer-%04d`; session i uses the account
        number (i mod ACCOUNTS) + 1.
        """
        self._rng = Random(f"{seed}/shop/{session}")
        self._typed = {
            "username": user % (session % ACCOUNTS + 1),
            "password": password,
            **_TYPED,
        }
        self._categories: list[bytes] = []
        self._books: list[bytes] = []
        self._form: Form | None = None

    def request(self, page: str) -> PageRequest:
        """Return the request for the next page, based on the links and forms of earlier pages."""
        if page == "Br-1":
            return PageRequest("GET", "/")
        if page == "Br-2":
            return PageRequest("GET", self._rng.choice(self._categories).decode("ascii"))
        if page == "Br-3":
            return PageRequest(
                "GET", "/search/?" + urlencode({"q": self._rng.choice(SEARCH_WORDS)})
            )
        if page == "Br-4":
            return PageRequest("GET", self._rng.choice(self._books).decode("ascii"))
        assert self._form is not None
        return PageRequest("POST", CHECKOUT[page], self._form.filled(self._typed))

    def read(self, page: str, body: bytes, following: str | None) -> None:
        """Read the links and forms for the page `following` from the present page.

        Raises `WrongPageError` if they are missing, or if Tr-4 does not confirm the order.
        """
        if page in ("Br-1", "Br-4") and following == "Br-2":
            self._categories = _some(CATEGORY_LINK.findall(body), "no category to browse")
        elif page in ("Br-2", "Br-3") and following == "Br-4":
            self._books = _some(_books_in_stock(body), "no book in stock on the page")
        elif page == "Br-4" and following == "Tr-1":
            self._form = _form(body, CHECKOUT["Tr-1"])
        elif page in _NEXT_FORM:
            self._form = _form(body, _NEXT_FORM[page])
        elif page == "Tr-4" and _ORDER_PLACED not in body:
            raise WrongPageError("the page does not confirm the order")


def paid_cents(body: bytes) -> int:
    """Return the total on the confirm page, in cents, or 0 if it has none."""
    found = _TOTAL.search(body)
    return int(found[1].replace(b",", b"") + found[2]) if found else 0


def covers(body: bytes) -> list[str]:
    """Return the URLs of the covers on a page, each URL once, in the page's order."""
    return list(dict.fromkeys(link.decode("ascii") for link in _COVER.findall(body)))


def _books_in_stock(body: bytes) -> list[bytes]:
    entries = [entry for entry in body.split(_END_OF_ENTRY) if _OUT_OF_STOCK not in entry]
    return [link for entry in entries for link in BOOK_LINK.findall(entry)]


def _some(links: list[bytes], missing: str) -> list[bytes]:
    if not links:
        raise WrongPageError(missing)
    return sorted(set(links))


def _form(body: bytes, action: str) -> Form:
    form = find_form(body, action)
    if form is None:
        raise WrongPageError(f"no form that is sent to {action}")
    return form
