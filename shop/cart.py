"""The cart: the books that a visitor wants to buy, kept in the visitor's session."""

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
    """Return the number of copies of each book in the cart, by book id."""
    return {int(book): copies for book, copies in session.get(_KEY, {}).items()}


def copies(session: SessionBase) -> int:
    return sum(session.get(_KEY, {}).values())


def put(session: SessionBase, wanted: Mapping[int, int]) -> None:
    """Replace the cart. Books with 0 copies are left out."""
    session[_KEY] = {str(book): number for book, number in wanted.items() if number > 0}


def take_out(session: SessionBase, bought: Quantities) -> None:
    """Remove the bought copies from the cart. The function reads the stored session again, because
    another page may have changed the cart.
    """
    stored = type(session)(session.session_key)
    put(session, {book: n - bought.get(book, 0) for book, n in quantities(stored).items()})


def lines(wanted: Quantities) -> list[CartLine]:
    """Return the cart's lines for books that still exist, in the order in which the books were
    added.
    """
    found = Book.objects.listed().in_bulk(list(wanted))
    return [CartLine(found[id], number) for id, number in wanted.items() if id in found]


def total_cents(cart_lines: Iterable[CartLine]) -> int:
    return sum(line.total_cents for line in cart_lines)


def total(cart_lines: Iterable[CartLine]) -> str:
    return money(total_cents(cart_lines))
