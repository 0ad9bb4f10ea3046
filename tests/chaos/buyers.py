"""Customers who buy one book after another, and who do not give up.

After a lost connection or an error page, a buyer sends the same form again, as a person who presses
reload does. Every purchase is known by the keys of its payment forms and by the order numbers that
its buyer was shown.

Rough buyers also send the form of the confirm over connections that they reset, close or half-close
in the middle, or twice at once, before they send it correctly.
"""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

import requests

from common import seeded_shop
from loadgen.customers.forms import Form, find_form
from shop.page_costs.walker import ADDRESS, PAYMENT
from tests.chaos import rough

FIRST_ACCOUNT = 901
"""`customer-0901` and following: the sessions of an experiment of 900 are others."""
AGAIN_AFTER_S = 0.2
PATIENCE_S = 10.0
ENDS_WITHIN_S = 180.0
_STEPS = ("confirm", "payment", "shipping", "login")
"""The forms by the step that they lead to; the last form of a page is the one to fill in."""
_ORDER = b'id="order-number">'
_GO_ON = b"Go on with this order"
_SOLD_OUT = (
    b"copies are left",
    b"1 copy is left",
    b"Too few copies in stock",
    b"out of stock at the moment",
    b'<p class="gone">Out of stock',
)


def _is_sold_out(page: bytes) -> bool:
    return any(words in page for words in _SOLD_OUT)


def _heading(page: bytes) -> str:
    return page.partition(b"<h1>")[2].partition(b"</h1>")[0].decode(errors="replace")


@dataclass
class Purchase:
    """One book that a buyer wants to buy once."""

    keys: set[str] = field(default_factory=set)
    number: str = ""
    """The last number that was shown; empty if there was none."""
    numbers: set[str] = field(default_factory=set)
    """All numbers that were shown; there must be one, however often the form was sent."""
    refused: bool = False
    """True if the buyer last read that nothing was ordered, for want of copies."""
    given_up: str = ""
    """The reason why the purchase could not be finished."""


class Buyers:
    """`count` buyers at once, from `start` until `leave`; each finishes the purchase
    that it began."""

    def __init__(
        self, shop_url: str, count: int, scarce: Sequence[int] = (), is_rough: bool = False
    ) -> None:
        """Make the buyers; one purchase in five is of one to five copies of a book of `scarce`."""
        self.purchases: list[Purchase] = []
        self.requests = 0
        self.failures: Counter[str] = Counter()
        """Requests without a page, by their outcome: a status, or `no answer`."""
        self.faults: list[str] = []
        """Answers that no customer may be shown."""
        self.signed_in_again = 0
        """Purchases that were led back to the login: their session was lost."""
        self._url = shop_url
        self._scarce = scarce
        self._is_rough = is_rough
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(n,), daemon=True) for n in range(count)
        ]

    @property
    def confirmed(self) -> int:
        """Return how many buyers have been shown an order's number so far."""
        with self._lock:
            return sum(bool(one.number) for one in self.purchases)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        """Stop, and return when the last purchase that was begun is finished."""
        self._over.set()
        until_s = time.monotonic() + ENDS_WITHIN_S
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        assert not any(thread.is_alive() for thread in self._threads), "a purchase does not end"
        assert not self.faults, self.faults[:5]

    def _live(self, buyer: int) -> None:
        ordinary = 100 + 10 * buyer
        rng = Random(buyer)
        while not self._over.is_set():
            purchase = Purchase()
            with self._lock:
                self.purchases.append(purchase)
            ordinary = ordinary % 4000 + 1
            ordinary += not ordinary % 97  # every 97th is sold out
            is_scarce = bool(self._scarce) and rng.random() < 0.2
            book = rng.choice(self._scarce) if is_scarce else ordinary
            try:
                with requests.Session() as browser:
                    if self._is_rough:
                        self._page(browser, "GET", "/", None)
                    username = seeded_shop.ACCOUNT_NAME % (FIRST_ACCOUNT + buyer)
                    in_cart = rng.randrange(2) if self._is_rough else 0
                    if is_scarce:
                        in_cart = rng.randint(1, 5)
                    self._buy(browser, purchase, book, username, rng, in_cart=in_cart)
            except Exception as fault:  # a thread's own would be lost
                with self._lock:
                    self.faults.append(f"{type(fault).__name__}: {fault}")
                return

    def _buy(
        self,
        browser: requests.Session,
        purchase: Purchase,
        book: int,
        username: str,
        rng: Random,
        *,
        in_cart: int,
    ) -> None:
        """Buy `in_cart` copies by the cart; with 0 buy one by *Buy*."""
        typed = {"username": username, "password": seeded_shop.PASSWORD, **ADDRESS, **PAYMENT}
        page = self._page(browser, "GET", f"/books/{book}/", None)
        into_cart = find_form(page, "/cart/")
        if in_cart and into_cart is not None:
            [quantity] = [entry for entry in into_cart.fields if entry.name == "quantity"]
            quantity.value = str(in_cart)
            page = self._page(browser, "POST", "/cart/", into_cart.filled({}))
        seen: list[str] = []
        while b'id="order-number"' not in page:
            if _is_sold_out(page):
                purchase.refused = True
                return
            form = _form_of(page)
            if form is None or len(seen) > 40:
                purchase.given_up = f"after {seen[-1:]} there is no way on"
                return
            purchase.keys |= {
                entry.value for entry in form.fields if entry.name == "idempotency_key"
            }
            if form.action in seen and form.action.endswith("/shipping/"):
                self.signed_in_again += 1
            seen.append(form.action)
            body = form.filled(typed)
            if self._is_rough and form.action == "/checkout/confirm/":
                with rough.sent(browser, self._url, form.action, body, rng) as answers:
                    page = self._page(browser, "POST", form.action, body)
                purchase.numbers |= {_number(one) for one in answers if _ORDER in one}
            else:
                page = self._page(browser, "POST", form.action, body)
        purchase.number = _number(page)
        purchase.numbers.add(purchase.number)

    def _page(self, browser: requests.Session, method: str, path: str, body: str | None) -> bytes:
        """Return the page, or the page to which it redirects; repeat the request until it comes."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if body else {}
        until_s = time.monotonic() + ENDS_WITHIN_S
        while True:
            self.requests += 1
            try:
                answer = browser.request(
                    method, self._url + path, data=body, headers=headers, timeout=PATIENCE_S
                )
            except requests.RequestException:
                failure = "no answer"
            else:
                if answer.status_code < 500:
                    is_short = answer.status_code == 422 and _is_sold_out(answer.content)
                    # The answer to a sign-in may break off after its cookies; the form that is
                    # sent again then has the token of before.
                    has_expired = answer.status_code == 403 and _GO_ON in answer.content
                    assert answer.status_code in (200, 409) or is_short or has_expired, (
                        f"{path}: {answer.status_code} {_heading(answer.content)}"
                    )
                    return answer.content
                failure = str(answer.status_code)
                self._look_at_error(path, answer)
            with self._lock:
                self.failures[failure] += 1
            assert time.monotonic() < until_s, f"{path} did not come: {failure}"
            time.sleep(AGAIN_AFTER_S)

    def _look_at_error(self, path: str, answer: requests.Response) -> None:
        """Check that an error is a page for people that names the time to come back."""
        text = answer.text
        right = "<h1>" in text and "Traceback" not in text and "Retry-After" in answer.headers
        if not right and answer.headers.get("X-Doorbuster-Verdict") != "dropped":
            with self._lock:
                self.faults.append(f"{path}: {answer.status_code} {text[:200]!r}")


def _number(page: bytes) -> str:
    return page.split(_ORDER)[1].split(b"<")[0].decode()


def _form_of(page: bytes) -> Form | None:
    for step in _STEPS:
        form = find_form(page, f"/checkout/{step}/")
        if form is not None:
            return form
    return None
