"""The seeding of the shop: shelves, books, accounts."""

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction

from common import seeded_shop
from shop import accounts, searching
from shop.catalogue import books as book_making
from shop.catalogue import shelves as shelf_words
from shop.catalogue.digest import digest_of
from shop.models import Author, Book, Category, Customer, Order, OrderLine, SeedState
from shop.stock import shelf_filling
from shop.stock.shelf_filling import Progress


def fingerprint() -> str:
    """Return a digest that changes whenever the seeded catalogue or accounts would change."""
    return digest_of(book_making, shelf_words, seeded_shop, accounts, searching)


def seed(count: int, progress: Progress) -> bool:
    """Fill the shop with `count` books unless it is up to date; return whether anything changed.

    If only the number of books differs, the catalogue is resized (`shelf_filling.resize`). If the
    fingerprint differs, the shop is emptied and filled again.
    """
    wanted = fingerprint()
    if SeedState.objects.filter(fingerprint=wanted).exists():
        return shelf_filling.resize(count, progress)
    with transaction.atomic():
        _empty()
        _put_up_shelves()
        progress(f"Opening {seeded_shop.ACCOUNTS:,} accounts")
        _open_accounts()
        SeedState.objects.create(fingerprint=wanted)
    return shelf_filling.resize(count, progress)


def _empty() -> None:
    """Empty the shop, including people's orders, because the ids of their books will belong to
    other books.
    """
    tables = ", ".join(
        model._meta.db_table for model in (OrderLine, Order, Book, Author, Category, SeedState)
    )
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {tables} RESTART IDENTITY")
    Customer.objects.filter(is_seeded=True).delete()


def _put_up_shelves() -> None:
    Category.objects.bulk_create(
        Category(slug=shelf.slug, name=shelf.name, blurb=shelf.blurb)
        for shelf in shelf_words.SHELVES
    )


def _open_accounts() -> None:
    # One salt for all accounts, because they share a documented password, and hashing it once is
    # quick.
    password = make_password(seeded_shop.PASSWORD)
    names = {n: seeded_shop.ACCOUNT_NAME % n for n in range(1, seeded_shop.ACCOUNTS + 1)}
    Customer.objects.bulk_create(
        Customer(
            username=name,
            email=f"{name}@example.org",
            full_name=f"Customer {number:04d}",
            password=password,
            is_seeded=True,
        )
        for number, name in names.items()
    )
