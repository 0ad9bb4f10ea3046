"""The catalogue of an open shop grows and shrinks; accounts and people's orders stay."""

import runpy
import threading
import uuid

import pytest
from django.db import connection
from django.test import Client

from shop.catalogue.books import BOOKS, books
from shop.checkout import place_order
from shop.models import Book, Customer, Order, SeedState
from shop.page_costs.walker import ADDRESS
from shop.stock import seeding, shelf_filling

pytestmark = pytest.mark.slow


LARGER = BOOKS + 41


def quietly(_):
    pass


@pytest.fixture
def catalogue(committed):
    """Yield a function that resizes the catalogue; afterwards it is the paper's again."""
    yield lambda count: shelf_filling.resize(count, quietly)
    shelf_filling.resize(BOOKS, quietly)


def ids():
    return list(Book.objects.order_by("pk").values_list("pk", flat=True))


def fields(book):
    return {
        name: getattr(book, name)
        for name in shelf_filling.COLUMNS
        if name != "rating"  # a Decimal in one, a float in the other
    }


def test_it_grows_by_the_next_books_and_shrinks_to_the_first(catalogue):
    assert catalogue(LARGER) is True
    assert ids() == list(range(1, LARGER + 1))
    assert shelf_filling.size() == LARGER
    for new in list(books(count=LARGER))[BOOKS:]:
        book = Book.objects.select_related("author", "category").get(pk=new.id)
        assert fields(book) == fields(new)
        assert (book.author.name, book.category.slug) == (new.author, new.shelf)
        assert float(book.rating) == new.rating
    assert catalogue(BOOKS - 7) is True
    assert ids() == list(range(1, BOOKS - 6))
    assert catalogue(BOOKS) is True
    assert ids() == list(range(1, BOOKS + 1))


def test_as_many_as_there_are_is_quick(catalogue, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        assert catalogue(BOOKS) is False
    assert seeding.seed(BOOKS, quietly) is False


def test_the_size_is_kept_in_the_database(catalogue):
    catalogue(LARGER)
    of_another_process = runpy.run_path(shelf_filling.__file__)
    assert of_another_process["size"]() == LARGER == SeedState.objects.get().books


def test_seeding_with_another_number_keeps_accounts_and_what_people_bought(catalogue):
    person = Customer.objects.create_user("grace", "grace@example.org", "quiet-lamp-7", "Grace")
    order = place_order(person, uuid.uuid4(), {BOOKS: 1, 3: 2}, ADDRESS)
    try:
        assert seeding.seed(BOOKS - 5, quietly) is True
        # What she has bought stays on its shelf.
        assert ids() == [*range(1, BOOKS - 4), BOOKS]
        assert shelf_filling.size() == BOOKS - 5
        assert [line.book_id for line in order.lines.order_by("book_id")] == [3, BOOKS]
        assert seeding.seed(LARGER, quietly) is True
        assert ids() == list(range(1, LARGER + 1))
        stock = Book.objects.get(pk=BOOKS).stock
        assert stock == list(books())[-1].stock - 1  # it has been there all the time
    finally:
        order.delete()
        person.delete()
        Book.objects.filter(pk__in=(BOOKS, 3)).update(stock=5_000)  # `committed` puts it right


def test_orders_of_seeded_accounts_go_with_their_books(catalogue):
    catalogue(LARGER)
    customer = Customer.objects.get(username="customer-0001")
    stock = Book.objects.get(pk=11).stock
    goes = place_order(customer, uuid.uuid4(), {11: 2, LARGER: 1}, ADDRESS)
    stays = place_order(customer, uuid.uuid4(), {11: 3}, ADDRESS)
    catalogue(BOOKS)
    assert ids()[-1] == BOOKS
    assert list(Order.objects.filter(pk__in=(goes.pk, stays.pk))) == [stays]
    assert Book.objects.get(pk=11).stock == stock - 3


def test_what_has_come_is_found_and_shown(catalogue):
    catalogue(LARGER)
    visitor = Client()
    new = Book.objects.select_related("category").get(pk=LARGER)
    assert f"{LARGER:,} titles" in visitor.get("/").content.decode()
    assert visitor.get(f"/books/{LARGER}/").status_code == 200
    assert new.title in visitor.get("/search/", {"q": f'"{new.title}"'}).content.decode()
    count = new.category.books.count()
    assert f"{count} books" in visitor.get(f"/browse/{new.category.slug}/").content.decode()


def test_two_who_want_another_size_come_one_after_the_other(catalogue):
    def resize(count):
        try:
            shelf_filling.resize(count, quietly)
        finally:
            connection.close()

    wanting = [threading.Thread(target=resize, args=(count,)) for count in (LARGER, BOOKS - 5)]
    for thread in wanting:
        thread.start()
    for thread in wanting:
        thread.join(240)
    size = SeedState.objects.get().books
    assert size in (LARGER, BOOKS - 5)
    assert ids() == list(range(1, size + 1))
