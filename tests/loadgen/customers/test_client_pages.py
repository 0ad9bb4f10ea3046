"""The pages of clients exist in the real shop, are the same in every run, and are judged right."""

from collections import Counter

import pytest

from common.seeded_shop import SEARCH_WORDS
from common.shared_settings import LEAST_BOOKS
from loadgen.customers.client import CATEGORIES, ClientPages, judge
from loadgen.customers.shop_pages import PageRequest, WrongPageError
from loadgen.workload.clients import KIND_PAGE
from shop.catalogue.covers import cover_svg
from shop.catalogue.shelves import SHELVES


def _paths(page):
    pages = ClientPages(1)
    requests = [pages.request(page, client, step) for client in range(10) for step in range(1000)]
    assert {(request.method, request.form) for request in requests} == {("GET", None)}
    return Counter(request.path for request in requests)


def test_categories_and_books_are_those_of_every_catalogue():
    assert tuple(shelf.slug for shelf in SHELVES) == CATEGORIES


@pytest.mark.parametrize(
    ("page", "paths"),
    [
        ("Br-1", ["/"]),
        ("Br-2", [f"/browse/{category}/" for category in CATEGORIES]),
        ("Br-3", [f"/search/?q={word}" for word in SEARCH_WORDS]),
        ("Br-4", [f"/books/{book}/" for book in range(1, LEAST_BOOKS + 1)]),
        ("file", [f"/covers/{book}.svg" for book in range(1, LEAST_BOOKS + 1)]),
    ],
)
def test_everything_is_asked_for_equally_often(page, paths):
    found = _paths(page)
    assert set(found) <= set(paths)
    # A thousand covers and ten thousand draws: one is missed with a probability of e^-10.
    assert len(found) >= len(paths) - 5
    mean = 10_000 / len(paths)
    assert max(found.values()) < mean + 7 * mean**0.5


def test_a_request_is_the_same_in_every_run_and_another_with_another_seed():
    addresses = [
        (page, client, step) for page in KIND_PAGE.values() for client, step in ((0, 3), (17, 90))
    ]
    one = [ClientPages(1).request(*address) for address in addresses]
    pages = ClientPages(1)
    assert [pages.request(*address) for address in reversed(addresses)] == one[::-1]
    assert [ClientPages(2).request(*address) for address in addresses] != one
    assert ClientPages(5).request("Br-1", 3, 3) == PageRequest("GET", "/")


@pytest.mark.parametrize(
    ("page", "body"),
    [
        ("Br-1", b'<a href="/browse/crime/">Crime</a>'),
        ("Br-2", b'<a href="/books/17/">A book</a>'),
        ("Br-3", b'<a href="/books/17/">A book</a>'),
        ("Br-4", b'<a href="/browse/crime/">Crime</a>'),
        ("file", cover_svg(17, "A book", "Somebody", "crime").encode()),
    ],
)
def test_the_page_that_came_has_to_be_the_right_one(page, body):
    judge(page, body)
    for wrong in (b"", b"<h1>Sorry</h1>", b"\x89PNG"):
        with pytest.raises(WrongPageError):
            judge(page, wrong)
