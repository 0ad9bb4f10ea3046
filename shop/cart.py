"""The cart: which books a visitor has put aside, kept in their session.

Owns: the shape of the cart in the session and its limits. Must not know: pages, orders.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.contrib.sessions.backends.base import SessionBase

from shop.models import Book, money

MAX_COPIES = 20
MAX_TITLES = 50
_KEY = "cart"

Quantities = dict[int, int]


@dataclass(frozen=True, slots=True)
class CartLine:
    """A book and how many copies of it somebody wants."""

    book: Book
    quantity: int

    @property
    def total_cents(self) -> int:
        return self.book.price_cents * self.quantity

    @property
    def total(self) -> str:
        return money(self.total_cents)

    @property
    def in_stock(self) -> bool:
        return self.book.stock >= self.quantity


def quantities(session: SessionBase) -> Quantities:
    """Book id → copies in the cart."""
    return {int(book): copies for book, copies in session.get(_KEY, {}).items()}


def copies(session: SessionBase) -> int:
    """How many copies are in the cart altogether."""
    return sum(session.get(_KEY, {}).values())


def put(session: SessionBase, wanted: Mapping[int, int]) -> None:
    """Make this the cart; books with no copies are left out."""
    session[_KEY] = {str(book): number for book, number in wanted.items() if number > 0}


def take_out(session: SessionBase, bought: Quantities) -> None:
    """Take these copies out of the cart, as it is now: another page may have changed it since."""
    stored = type(session)(session.session_key)
    put(session, {book: n - bought.get(book, 0) for book, n in quantities(stored).items()})


def lines(wanted: Quantities) -> list[CartLine]:
    """The books behind the quantities, those that still exist, in the order they were added."""
    found = Book.objects.listed().in_bulk(list(wanted))
    return [CartLine(found[id], number) for id, number in wanted.items() if id in found]


def total_cents(cart_lines: Iterable[CartLine]) -> int:
    """The total of the lines."""
    return sum(line.total_cents for line in cart_lines)


def total(cart_lines: Iterable[CartLine]) -> str:
    """For people: what the lines cost together."""
    return money(total_cents(cart_lines))
