"""Placing an order: once per idempotency key, wholly or not at all, never more than is there.

Owns: the transaction that turns a cart into an order and takes the stock.
Must not know: pages, forms, sessions.
"""

import uuid
from collections.abc import Mapping

from django.db import IntegrityError, transaction

from shop import activity, sentry
from shop.cart import Quantities
from shop.models import Book, Customer, Order, OrderLine


class OutOfStock(Exception):  # noqa: N818 -- a fact about the shelf, not a fault
    """Nothing was ordered: of these titles fewer copies are left than were wanted."""

    def __init__(self, titles: tuple[str, ...]) -> None:
        super().__init__(", ".join(titles))
        self.titles = titles


class NoLongerSold(Exception):  # noqa: N818
    """Nothing was ordered: the shop has given up some of the titles since they were wanted."""

    def __init__(self, gone: frozenset[int], left: tuple[str, ...]) -> None:
        super().__init__(f"{len(gone)} of {len(gone) + len(left)} titles")
        self.gone = gone
        """Their ids; nobody knows their titles any more."""
        self.left = left
        """The titles that are still sold."""


class NothingToOrder(Exception):  # noqa: N818
    """Nothing was ordered: no copies of any book on sale were asked for."""


def find_order(customer: Customer, key: uuid.UUID) -> Order | None:
    """The order this customer has already placed with this key."""
    return Order.objects.filter(customer=customer, idempotency_key=key).first()


def place_order(
    customer: Customer, key: uuid.UUID, wanted: Quantities, address: Mapping[str, str]
) -> Order:
    """The order for this key, placed now unless it already was.

    The unique key is inserted first: a second submission of the same key waits there until the
    first has committed, and then finds its order. Books are locked in the order of their ids, so
    two orders of the same books cannot wait for each other.

    A customer who has left by the commit point has ordered nothing; after it nothing stops the
    request any more. Raises OutOfStock, NoLongerSold or NothingToOrder, and then has changed
    nothing.
    """
    placed = find_order(customer, key)
    if placed is not None:
        return placed
    try:
        with transaction.atomic(durable=True):
            order = Order.objects.create(
                customer=customer, idempotency_key=key, total_cents=0, **address
            )
            order.total_cents = _take_stock(order, wanted)
            order.save(update_fields=["total_cents"])
            transaction.on_commit(activity.order_committed)
            sentry.commit_point()
            return order
    except IntegrityError:
        placed = find_order(customer, key)
        if placed is None:
            raise
        return placed


def _take_stock(order: Order, wanted: Quantities) -> int:
    """Move the copies from the shelves into the order; answers what they cost in cents."""
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
    short = tuple(book.title for book in books if book.stock < wanted[book.pk])
    if short:
        raise OutOfStock(short)
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
    return sum(book.price_cents * wanted[book.pk] for book in books)
