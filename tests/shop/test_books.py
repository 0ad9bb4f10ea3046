"""The seeded catalogue: always the same, and plausible."""

import hashlib
import string

import pytest

from common.shared_settings import LEAST_BOOKS
from shop.catalogue.books import (
    BOOKS,
    OUT_OF_STOCK_EVERY,
    books,
    isbn13,
)
from shop.catalogue.shelves import SHELVES


@pytest.fixture(scope="module")
def catalogue():
    return list(books())


def test_the_same_seed_gives_the_same_books(catalogue):
    assert list(books()) == catalogue
    assert list(books(seed=1, count=5)) != catalogue[:5]


def test_as_many_as_in_the_sentry_paper(catalogue):
    assert len(catalogue) == BOOKS == 4309
    assert [book.id for book in catalogue] == list(range(1, BOOKS + 1))


def test_the_papers_catalogue_is_what_it_always_was(catalogue):
    """Tests, results and the load generator's search words know these books."""
    assert hashlib.sha256(repr(catalogue).encode()).hexdigest() == (
        "1bf0c51846b62134d75ce99f5a87ac5425cf036276126e51e990e8b535e842a8"
    )


def test_a_larger_or_smaller_catalogue_begins_with_the_same_books(catalogue):
    assert list(books(count=LEAST_BOOKS)) == catalogue[:LEAST_BOOKS]
    assert list(books(count=BOOKS + 1000))[:BOOKS] == catalogue
    assert list(books(count=BOOKS + 10)) == list(books(count=BOOKS + 20))[:-10]


def test_the_long_tail_sells_worst_and_nothing_is_there_twice():
    many = list(books(count=20_000))
    for attribute in ("id", "title", "isbn", "sales_rank"):
        assert len({getattr(book, attribute) for book in many}) == len(many)
    assert min(book.sales_rank for book in many[BOOKS:]) > BOOKS
    gone = [book.id for book in many if book.stock == 0]
    assert gone == list(range(OUT_OF_STOCK_EVERY, len(many) + 1, OUT_OF_STOCK_EVERY))
    volumes = [book.title for book in many if "Volume" in book.title]
    assert 0 < len(volumes) < len(many) - BOOKS
    assert not set(volumes) & {book.title for book in many[:BOOKS]}


def test_isbn_check_digit():
    for number in (0, 1, 123_456_789, 999_999_999):
        digits = [int(digit) for digit in isbn13(number)]
        assert len(digits) == 13
        assert (sum(digits[::2]) + 3 * sum(digits[1::2])) % 10 == 0


def test_isbn_of_a_known_number():
    """979-10-90636-07-1, printed in the ISBN users' manual."""
    assert isbn13(109_063_607) == "9791090636071"


def test_every_shelf_is_well_stocked(catalogue):
    on = {shelf.slug: [b for b in catalogue if b.shelf == shelf.slug] for shelf in SHELVES}
    assert min(len(shelf) for shelf in on.values()) > 80


def test_texts_are_finished(catalogue):
    for book in catalogue:
        text = f"{book.title} {book.subtitle} {book.description}"
        assert not set("{}") & set(text), text
        assert book.title[0] in string.ascii_uppercase + string.digits, book.title
        assert 60 < len(book.description) < 900
        assert len(book.title) <= 160


def test_prices_and_years(catalogue):
    for book in catalogue:
        assert 300 <= book.price_cents <= 4_000
        assert 1960 <= book.published <= 2026
        assert 2.4 <= book.rating <= 5.0
        assert book.pages >= 32
