"""The requests of a walk, made from the pages that came before."""

import re
from contextlib import closing
from itertools import zip_longest
from urllib.parse import parse_qs, urlsplit

import pytest

from common.seeded_shop import SEARCH_WORDS
from loadgen.customers.browser import Browser, ShopAddress
from loadgen.customers.shop_pages import Shopper, WrongPageError
from loadgen.workload.lengths import walk_of
from shop.catalogue.books import books as catalogue_books
from tests.fake_shop.pages import small_shop

WALK = ("Br-1", "Br-3", "Br-4", "Tr-1", "Tr-2", "Tr-3", "Tr-4")


def _buy(session=4, repeat_confirm=1):
    requests = []
    with small_shop() as shop:
        browser = Browser(ShopAddress.from_url(shop.url))
        shopper = Shopper(1, session, "customer-%04d", "a secret")
        for page, following in zip(WALK, [*WALK[1:], None], strict=True):
            request = shopper.request(page)
            requests.append(request)
            for attempt in range(1, 1 + (repeat_confirm if page == "Tr-4" else 1)):
                fetched = browser.fetch(*request, attempt, 5)
                assert fetched.status == 200
            shopper.read(page, fetched.body, following)
        browser.close()
        return requests, dict(shop.orders)


def test_a_walk_to_the_confirm_buys_a_book():
    requests, orders = _buy()
    assert [request.method for request in requests] == ["GET"] * 3 + ["POST"] * 4
    assert urlsplit(requests[1].path).path == "/search/"
    assert parse_qs(urlsplit(requests[1].path).query)["q"][0] in SEARCH_WORDS
    book = requests[2].path.split("/")[2]
    assert parse_qs(requests[3].form or "")["book"] == [book]
    login = parse_qs(requests[4].form or "")
    assert login["username"] == ["customer-0005"]
    assert login["password"] == ["a secret"]
    assert len(orders) == 1


def test_a_walk_without_an_aim_goes_from_books_to_categories_and_back():
    walk = walk_of(30)
    paths = []
    with small_shop() as shop, closing(Browser(ShopAddress.from_url(shop.url))) as browser:
        shopper = Shopper(1, 3, "customer-%04d", "a secret")
        for page, following in zip_longest(walk, walk[1:]):
            request = shopper.request(page)
            paths.append(request.path)
            fetched = browser.fetch(*request, 1, 5)
            shopper.read(page, fetched.body, following)
        assert [seen.page for seen in shop.requests] == list(walk)
    assert set(paths[1::2]) == {"/browse/poetry/", "/browse/travel/"}
    assert set(paths[2::2]) == {"/books/17/", "/books/4309/"}


def test_retries_of_the_confirm_send_the_same_key():
    _, orders = _buy(repeat_confirm=3)
    assert len(orders) == 1


def test_choices_are_the_sessions_own():
    assert _buy(session=4)[0] == _buy(session=4)[0]
    others = {_buy(session=session)[0][1].path for session in range(12)}
    assert len(others) > 2


def test_sessions_share_the_seeded_accounts():
    for session, user in ((0, "customer-0001"), (999, "customer-1000"), (1000, "customer-0001")):
        shopper = Shopper(1, session, "customer-%04d", "x")
        shopper.read(
            "Tr-1", b'<form action="/checkout/shipping/"><input name="username"></form>', "Tr-2"
        )
        assert shopper.request("Tr-2").form == f"username={user}"


@pytest.mark.parametrize(
    ("page", "following"),
    [
        ("Br-1", "Br-2"),
        ("Br-2", "Br-4"),
        ("Br-3", "Br-4"),
        ("Br-4", "Tr-1"),
        ("Br-4", "Br-2"),
        ("Tr-1", "Tr-2"),
        ("Tr-2", None),
        ("Tr-4", None),
    ],
)
def test_a_page_without_what_the_customer_needs_is_the_wrong_page(page, following):
    with pytest.raises(WrongPageError):
        Shopper(1, 0, "c-%d", "x").read(page, b"<h1>Sorry</h1>", following)


@pytest.mark.parametrize("page", ["Br-1", "Br-2", "Br-3", "Br-4"])
def test_a_page_where_the_customer_leaves_needs_nothing(page):
    shopper = Shopper(1, 0, "c-%d", "x")
    shopper.read(page, b"<h1>Fine</h1>", None)
    assert shopper.request("Br-1") == Shopper(1, 0, "c-%d", "x").request("Br-1")


def test_a_book_that_is_out_of_stock_is_not_chosen():
    page = (
        b'<li><a href="/books/1/">One</a></li>'
        b'<li><a href="/books/2/">Two</a><span class="gone">Out of stock</span></li>'
    )
    for session in range(20):
        shopper = Shopper(1, session, "c-%d", "x")
        shopper.read("Br-2", page, "Br-4")
        assert shopper.request("Br-4").path == "/books/1/"


def test_every_search_word_finds_several_pages_of_books_in_the_real_catalogue():
    texts = [
        f"{book.title} {book.subtitle} {book.description}".lower() for book in catalogue_books()
    ]
    for word in SEARCH_WORDS:
        assert sum(bool(re.search(rf"\b{word}\b", text)) for text in texts) > 60, word
