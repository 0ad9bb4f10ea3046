"""An order is placed once, wholly or not at all, and never sells a missing copy."""

import os
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connection, transaction

from shop.checkout import AnotherTotal, NoLongerSold, NothingToOrder, OutOfStock, place_order
from shop.models import Book, Customer, Order, OrderLine
from shop.page_costs.walker import ADDRESS
from tests.waiting import until

THREADS = 12


def buyer(number=1):
    return Customer.objects.get(username=f"customer-{number:04d}")


def last_number():
    """Return the last order number; 0 before the first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM shop_order_id_seq"
        )
        return cursor.fetchone()[0]


def errors_logged():
    """Return how many errors PostgreSQL has logged."""
    log = Path(os.environ["DOORBUSTER_STATE_DIR"]) / "postgres.log"
    return log.read_text(errors="replace").count("ERROR:")


def pid_waiting_for(*locks):
    """Wait until a process waits for such a lock; return its id in PostgreSQL."""

    def found():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                "AND wait_event = ANY(%s) AND datname = current_database()",
                [list(locks)],
            )
            return cursor.fetchone()

    return until(found, f"a process waits for {locks}")[0]


def at_once(count, do):
    """Run `do(i)` in `count` threads that start together; results or exceptions, in order."""
    barrier = threading.Barrier(count)

    def run(i):
        barrier.wait(240)
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '240s'")
            return do(i)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.usefixtures("committed")
class TestConcurrently:
    def test_submissions_of_one_key_take_one_number_and_log_no_error(self):
        """However many submissions wait for each other, PostgreSQL sees one insert."""
        customer, before, errors = buyer(), last_number(), errors_logged()
        stock = Book.objects.get(pk=3).stock
        for _ in range(5):
            key = uuid.uuid4()
            at_once(THREADS, lambda _, key=key: place_order(customer, key, {3: 1}, ADDRESS))
        assert Order.objects.count() == 5
        assert Book.objects.get(pk=3).stock == stock - 5
        assert last_number() == before + 5
        assert errors_logged() == errors

    def test_what_is_refused_takes_no_number(self):
        """This holds however often the form is sent."""
        before, key = last_number(), uuid.uuid4()
        for wanted, refusal in (({97: 1}, OutOfStock), ({999_999: 1}, NothingToOrder)):
            for _ in range(3):
                with pytest.raises(refusal):
                    place_order(buyer(), key, wanted, ADDRESS)
        with pytest.raises(AnotherTotal):
            place_order(buyer(), key, {9: 1}, ADDRESS, total_cents=1)
        assert last_number() == before

    def test_a_submission_that_dies_leaves_the_order_to_the_next(self):
        """The first is killed in PostgreSQL while it waits for its book; the second orders."""
        customer, key, stock = buyer(), uuid.uuid4(), Book.objects.get(pk=3).stock
        with ThreadPoolExecutor(1) as pool:
            with transaction.atomic():
                Book.objects.select_for_update().get(pk=3)
                both = pool.submit(
                    at_once, 2, lambda _: place_order(customer, key, {3: 2}, ADDRESS)
                )
                first = pid_waiting_for("transactionid", "tuple")
                pid_waiting_for("advisory")
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_terminate_backend(%s)", [first])
            results = both.result()
        assert sorted(type(result).__name__ for result in results) == ["OperationalError", "Order"]
        assert Order.objects.filter(idempotency_key=key).count() == 1
        assert Book.objects.get(pk=3).stock == stock - 2

    def test_the_last_copies_are_sold_once(self):
        Book.objects.filter(pk=4).update(stock=5)
        customer = buyer()
        results = at_once(THREADS, lambda _: place_order(customer, uuid.uuid4(), {4: 1}, ADDRESS))
        assert sum(isinstance(result, Order) for result in results) == 5
        assert sum(isinstance(result, OutOfStock) for result in results) == THREADS - 5
        assert Book.objects.get(pk=4).stock == 0
        assert OrderLine.objects.filter(book_id=4).count() == 5

    def test_orders_of_the_same_books_do_not_deadlock(self):
        customers = [buyer(number) for number in range(1, THREADS + 1)]
        carts = [{5: 1, 6: 1, 7: 1}, {7: 1, 6: 1, 5: 1}]
        results = at_once(
            THREADS, lambda i: place_order(customers[i], uuid.uuid4(), carts[i % 2], ADDRESS)
        )
        assert all(isinstance(result, Order) for result in results), results

    def test_the_same_key_of_two_customers_is_two_orders(self):
        key = uuid.uuid4()
        first = place_order(buyer(1), key, {8: 1}, ADDRESS)
        second = place_order(buyer(2), key, {8: 1}, ADDRESS)
        assert first.pk != second.pk

    def test_short_of_one_book_nothing_is_ordered(self):
        stock = Book.objects.get(pk=9).stock
        with pytest.raises(OutOfStock) as short:
            place_order(buyer(), uuid.uuid4(), {9: 1, 97: 1}, ADDRESS)
        assert short.value.left == {Book.objects.get(pk=97).title: 0}
        assert Book.objects.get(pk=9).stock == stock
        assert not Order.objects.exists()

    def test_a_key_that_failed_can_be_used_again(self):
        key = uuid.uuid4()
        with pytest.raises(OutOfStock):
            place_order(buyer(), key, {97: 1}, ADDRESS)
        assert place_order(buyer(), key, {9: 1}, ADDRESS).pk

    def test_without_one_of_the_titles_nothing_is_ordered(self):
        book = Book.objects.get(pk=9)
        with pytest.raises(NoLongerSold) as smaller:
            place_order(buyer(), uuid.uuid4(), {9: 1, 999_999: 1}, ADDRESS)
        assert smaller.value.gone == {999_999}
        assert smaller.value.left == (book.title,)
        assert Book.objects.get(pk=9).stock == book.stock
        assert not Order.objects.exists()

    def test_a_second_submission_does_not_ask_for_stock(self):
        key = uuid.uuid4()
        Book.objects.filter(pk=10).update(stock=1)
        placed = place_order(buyer(), key, {10: 1}, ADDRESS)
        assert place_order(buyer(), key, {10: 1}, ADDRESS) == placed
        assert placed.total_cents == Book.objects.get(pk=10).price_cents
