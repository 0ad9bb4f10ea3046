"""Fills the shop: shelves, books, accounts; and puts it back as it was.

Owns: what a seeded shop is, and when it has to be made anew. Must not know: pages.
"""

import hashlib
import inspect
from collections.abc import Callable

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction

from shop import accounts, searching
from shop.catalogue import books as book_making
from shop.catalogue import shelves as shelf_words
from shop.models import Author, Book, Category, Customer, Order, OrderLine, SeedState

_BATCH = 1_000
Progress = Callable[[str], None]


def fingerprint() -> str:
    """Changes when the catalogue or the accounts would come out differently."""
    digest = hashlib.sha256()
    for module in (book_making, shelf_words, accounts, searching):
        digest.update(inspect.getsource(module).encode())
    return digest.hexdigest()


def seed(progress: Progress) -> bool:
    """Fill the shop unless it already is as it should be; answers whether anything was done."""
    wanted = fingerprint()
    if SeedState.objects.filter(fingerprint=wanted).exists():
        return False
    with transaction.atomic():
        _empty()
        progress(f"Putting {book_making.BOOKS} books on the shelves")
        _fill_shelves()
        progress("Indexing them for search")
        searching.index_books()
        progress(f"Opening {accounts.SEEDED_ACCOUNTS} accounts")
        _open_accounts()
        SeedState.objects.create(fingerprint=wanted)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return True


def reset() -> int:
    """The shop as it was seeded: orders of seeded accounts removed, their copies back in stock.

    Answers how many orders were removed. Orders of people who signed up stay, as does their stock.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        # Nobody may take stock while it is put back; people may go on looking.
        cursor.execute("LOCK TABLE shop_order, shop_orderline, shop_book IN EXCLUSIVE MODE")
        cursor.execute(
            """
            UPDATE shop_book SET stock = stock + removed.copies
            FROM (
                SELECT line.book_id, sum(line.quantity) AS copies
                FROM shop_orderline line
                JOIN shop_order ON shop_order.id = line.order_id
                JOIN shop_customer ON shop_customer.id = shop_order.customer_id
                WHERE shop_customer.is_seeded
                GROUP BY line.book_id
            ) removed
            WHERE shop_book.id = removed.book_id
            """
        )
        OrderLine.objects.filter(order__customer__is_seeded=True).delete()
        removed, _ = Order.objects.filter(customer__is_seeded=True).delete()
    return removed


def _empty() -> None:
    """Also orders of people: the books they bought are about to be other books."""
    tables = ", ".join(
        model._meta.db_table for model in (OrderLine, Order, Book, Author, Category, SeedState)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {tables} RESTART IDENTITY")
    Customer.objects.filter(is_seeded=True).delete()


def _fill_shelves() -> None:
    new_books = list(book_making.books())
    categories = {
        category.slug: category
        for category in Category.objects.bulk_create(
            Category(slug=shelf.slug, name=shelf.name, blurb=shelf.blurb)
            for shelf in shelf_words.SHELVES
        )
    }
    authors = {
        author.name: author
        for author in Author.objects.bulk_create(
            Author(name=name) for name in sorted({book.author for book in new_books})
        )
    }
    Book.objects.bulk_create(
        (
            Book(
                id=book.id,
                category=categories[book.shelf],
                author=authors[book.author],
                title=book.title,
                subtitle=book.subtitle,
                description=book.description,
                publisher=book.publisher,
                published=book.published,
                pages=book.pages,
                binding=book.binding,
                isbn=book.isbn,
                price_cents=book.price_cents,
                stock=book.stock,
                rating=book.rating,
                ratings=book.ratings,
                sales_rank=book.sales_rank,
            )
            for book in new_books
        ),
        batch_size=_BATCH,
    )


def _open_accounts() -> None:
    # One salt for all: they share a documented password anyway, and hashing it once is quick.
    password = make_password(accounts.SEEDED_PASSWORD)
    Customer.objects.bulk_create(
        (
            Customer(
                username=accounts.seeded_username(number),
                email=f"{accounts.seeded_username(number)}@example.org",
                full_name=f"Customer {number:04d}",
                password=password,
                is_seeded=True,
            )
            for number in range(1, accounts.SEEDED_ACCOUNTS + 1)
        ),
        batch_size=_BATCH,
    )
