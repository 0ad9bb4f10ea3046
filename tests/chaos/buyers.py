"""Customers who buy, one book after another, and who do not give up.

What does not come (a lost connection, a page with an error) is asked for again with the same form,
as somebody does who presses reload. Every purchase is known by the keys its payment forms had and
by the number of the order that its buyer was shown.
"""

import threading
import time
from collections import Counter
from dataclasses import dataclass, field

import requests

from loadgen.forms import Form, find_form
from shop.accounts import SEEDED_PASSWORD
from shop.walker import ADDRESS, PAYMENT

FIRST_ACCOUNT = 901
"""`customer-0901` and following: the sessions of an experiment of 900 are others."""
AGAIN_AFTER_S = 0.2
PATIENCE_S = 10.0
ENDS_WITHIN_S = 180.0
_STEPS = ("confirm", "payment", "shipping", "login")
"""The last form that a page has is the one its reader fills in."""


@dataclass
class Purchase:
    """One book that somebody means to buy once."""

    keys: set[str] = field(default_factory=set)
    number: str = ""
    """What was shown; empty if nothing was."""
    given_up: str = ""
    """Why it could not be finished."""


class Buyers:
    """So many at once, from `start` until `leave`; everybody finishes what they have begun."""

    def __init__(self, shop_url: str, count: int) -> None:
        self.purchases: list[Purchase] = []
        self.requests = 0
        self.failures: Counter[str] = Counter()
        """Requests that brought no page, by how: a status, or `no answer`."""
        self.faults: list[str] = []
        """What no customer may be shown."""
        self.signed_in_again = 0
        """Purchases that were led back to the login: their session was lost."""
        self._url = shop_url
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._live, args=(n,), daemon=True) for n in range(count)
        ]

    @property
    def confirmed(self) -> int:
        """Purchases so far whose buyer was shown an order's number."""
        with self._lock:
            return sum(bool(one.number) for one in self.purchases)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def leave(self) -> None:
        """When the last purchase that was begun is finished."""
        self._over.set()
        until_s = time.monotonic() + ENDS_WITHIN_S
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        assert not any(thread.is_alive() for thread in self._threads), "a purchase does not end"
        assert not self.faults, self.faults[:5]

    def _live(self, buyer: int) -> None:
        book = 100 + 10 * buyer
        while not self._over.is_set():
            purchase = Purchase()
            with self._lock:
                self.purchases.append(purchase)
            book += 1 if (book + 1) % 97 else 2  # every 97th is sold out
            try:
                with requests.Session() as browser:
                    self._buy(browser, purchase, book, f"customer-{FIRST_ACCOUNT + buyer:04d}")
            except Exception as fault:  # a thread's own would be lost
                with self._lock:
                    self.faults.append(f"{type(fault).__name__}: {fault}")
                return

    def _buy(self, browser: requests.Session, purchase: Purchase, book: int, username: str) -> None:
        typed = {"username": username, "password": SEEDED_PASSWORD, **ADDRESS, **PAYMENT}
        page = self._page(browser, "GET", f"/books/{book}/", None)
        seen: list[str] = []
        while b'id="order-number"' not in page:
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
            page = self._page(browser, "POST", form.action, form.filled(typed))
        purchase.number = page.split(b'id="order-number">')[1].split(b"<")[0].decode()

    def _page(self, browser: requests.Session, method: str, path: str, body: str | None) -> bytes:
        """The page, or whatever it leads to; asked for until it comes."""
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
                    assert answer.status_code in (200, 409), f"{path}: {answer.status_code}"
                    return answer.content
                failure = str(answer.status_code)
                self._look_at_error(path, answer)
            with self._lock:
                self.failures[failure] += 1
            assert time.monotonic() < until_s, f"{path} did not come: {failure}"
            time.sleep(AGAIN_AFTER_S)

    def _look_at_error(self, path: str, answer: requests.Response) -> None:
        """An error is a page for people that says when to come back."""
        text = answer.text
        right = "<h1>" in text and "Traceback" not in text and "Retry-After" in answer.headers
        if not right and answer.headers.get("X-Doorbuster-Verdict") != "dropped":
            with self._lock:
                self.faults.append(f"{path}: {answer.status_code} {text[:200]!r}")


def _form_of(page: bytes) -> Form | None:
    for step in _STEPS:
        form = find_form(page, f"/checkout/{step}/")
        if form is not None:
            return form
    return None
