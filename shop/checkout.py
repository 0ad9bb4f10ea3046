"""The placing of an order, at most once per idempotency key.

One transaction creates the order and takes the copies from the stock, so an order is placed
completely or not at all.
"""

import uuid
from collections.abc import Mapping

from django.db import connection, transaction

from shop import activity, sentry
from shop.cart import Quantities
from shop.models import Book, Customer, Order, OrderLine


class OutOfStock(Exception):  # noqa: N818 -- a fact about the shelf, not a fault
    """The error for an order of titles with too few copies in stock."""

    def __init__(self, left: Mapping[str, int]) -> None:
        super().__init__(
            ", ".join(
                f"{title} ({copies} left)" if copies else title for title, copies in left.items()
            )
        )
        self.left = left
        """The number of copies in stock, by title."""


class NoLongerSold(Exception):  # noqa: N818
    """The error for an order with some titles that the shop no longer sells."""

    def __init__(self, gone: frozenset[int], left: tuple[str, ...]) -> None:
        super().__init__(f"{len(gone)} of {len(gone) + len(left)} titles")
        self.gone = gone
        """The ids of the titles that are no longer sold."""
        self.left = left
        """The titles that are still sold."""


class AnotherTotal(Exception):  # noqa: N818
    """The error for an order whose total differs from the total on the page."""


class NothingToOrder(Exception):  # noqa: N818
    """The error for an order with no book that the shop still sells."""


def find_order(customer: Customer, key: uuid.UUID) -> Order | None:
    """Return the order that this customer has already placed with this key, or None."""
    return Order.objects.filter(customer=customer, idempotency_key=key).first()


def place_order(
    customer: Customer,
    key: uuid.UUID,
    wanted: Quantities,
    address: Mapping[str, str],
    total_cents: int | None = None,
) -> Order:
    """Return the order for this key; place it if it does not exist yet.

    `total_cents` is the total that the customer saw; None means that any total is accepted.

    A second request with the same key waits for the lock on the key, and then finds the first
    request's order. Books are locked in the order of their ids, so that two orders cannot
    deadlock.

    The sentry may stop the request before the commit point; then, no order is placed. If the order
    cannot be placed, raise OutOfStock, NoLongerSold, AnotherTotal or NothingToOrder without any
    change of data.
    """
    with transaction.atomic(durable=True):
        _lock(key)
        placed = find_order(customer, key)
        if placed is not None:
            return placed
        books = _books_to_sell(wanted)
        total = sum(book.price_cents * wanted[book.pk] for book in books)
        if total_cents not in (None, total):
            raise AnotherTotal
        order = Order.objects.create(
            customer=customer, idempotency_key=key, total_cents=total, **address
        )
        _move(books, wanted, order)
        transaction.on_commit(activity.order_committed)
        sentry.commit_point()
        return order


def _lock(key: uuid.UUID) -> None:
    """Wait until no other transaction has locked this key; then lock it until the commit."""
    with connection.cursor() as cursor:
        # Half of the key is enough: two keys with the same half only wait for each other.
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [(key.int >> 64) - 2**63])


def _books_to_sell(wanted: Quantities) -> list[Book]:
    """Lock the wanted books, check that enough copies are in stock, and return the books."""
    books = list(
        Book.objects.select_for_update()
        .only("title", "stock", "price_cents")
        .filter(pk__in=list(wanted))
        .order_by("pk")
    )
    if not books:
        raise NothingToOrder
    gone = wanted.keys() - {book.pk for book in books}
    if gone:
        raise NoLongerSold(frozenset(gone), tuple(book.title for book in books))
    short = {book.title: book.stock for book in books if book.stock < wanted[book.pk]}
    if short:
        raise OutOfStock(short)
    return books


def _move(books: list[Book], wanted: Quantities, order: Order) -> None:
    for book in books:
        book.stock -= wanted[book.pk]
    if len(books) == 1:
        books[0].save(update_fields=["stock"])
    else:
        Book.objects.bulk_update(books, ["stock"])
    OrderLine.objects.bulk_create(
        OrderLine(
            order=order,
            book=book,
            quantity=wanted[book.pk],
            unit_price_cents=book.price_cents,
        )
        for book in books
    )
