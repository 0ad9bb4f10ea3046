"""Customers leave the real shop during the checkout: there is never half an order, never two."""

import os
import random
import socket
import time
import uuid
from contextlib import contextmanager
from urllib.parse import urlencode

import pytest
from django.db import connection, transaction

from common import seeded_shop
from shop.checkout import place_order
from shop.models import Book, Customer, Order, OrderLine
from shop.page_costs.walker import ADDRESS, PAYMENT, Walker, form
from tests.resetting import will_reset
from tests.waiting import until

pytestmark = pytest.mark.slow


KILLS = int(os.environ.get("DOORBUSTER_TEST_KILLS", "40"))  # the acceptance run: 500
LOGIN, SHIPPING, PAY, CONFIRM = (
    f"/checkout/{step}/" for step in ("login", "shipping", "payment", "confirm")
)
SIGN_IN = "/account/sign-in/"


@contextmanager
def cancelling(shop):
    """Let the real shop stop the requests of customers who leave; pages take only their
    real time."""
    shop.controller.call("POST", "/reset")
    shop.controller.call("PUT", "/settings", {"profile": "real", "sentry": "cancel"})
    yield shop
    shop.controller.call("PUT", "/settings", {"sentry": "watch"})
    shop.controller.call("POST", "/reset")


@pytest.fixture
def shop(committed, running_shop):
    with cancelling(running_shop) as shop:
        yield shop


def sentry_counts(shop):
    return shop.controller.call("GET", "/status")["sentry"]


def is_idle(shop):
    status = shop.controller.call("GET", "/status")
    return status["busy_workers"] == status["sentry"]["watching"] == 0


def has_grown(shop, before, name):
    until(lambda: sentry_counts(shop)[name] > before[name], name)


class Leaver(Walker):
    """A customer with a browser that can be closed during a request."""

    def __init__(self, url):
        super().__init__(url)
        self._left = []

    def __exit__(self, *_):
        super().__exit__()
        for client in self._left:
            client.close()

    def signs_in(self):
        """Sign in as a customer with earlier orders; keep the token of all later forms."""
        _, html, _ = self.request(SIGN_IN)
        fields = form(html, "").fields | {
            "username": "customer-0001",
            "password": seeded_shop.PASSWORD,
        }
        self.request(SIGN_IN, fields)

    def buys(self, book):
        """Send Tr-1 and Tr-3 as a signed-in customer; return the form for Tr-4."""
        token = {"csrfmiddlewaretoken": self.cookies["csrftoken"]}
        assert self.request(LOGIN, token | {"book": str(book)})[0] == 200
        _, html, _ = self.request(PAY, token | ADDRESS)
        return form(html, CONFIRM).fields | PAYMENT

    def sends(self, path, fields):
        """Send a request on a separate connection, which can be left."""
        body = urlencode(fields).encode()
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        head = (
            f"POST {path} HTTP/1.1\r\nHost: shop\r\nCookie: {cookies}\r\n"
            "Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        client = socket.create_connection((self._connection.host, self._connection.port))
        self._left.append(client)
        client.sendall(head.encode() + body)
        return client


@pytest.fixture
def leaver(shop):
    with Leaver(shop.url) as leaver:
        leaver.signs_in()
        yield leaver


@pytest.mark.django_db
def test_outside_a_request_a_commit_point_is_nothing():
    """The use of `db` here also makes pytest-django set it up for the other tests."""
    customer = Customer.objects.get(username="customer-0003")
    assert place_order(customer, uuid.uuid4(), {25: 1}, ADDRESS).pk


def stock(book):
    return Book.objects.values_list("stock", flat=True).get(pk=book)


def test_who_leaves_while_the_order_is_made_has_ordered_nothing(shop, leaver, database):
    """The order is inserted and waits for its book, which another session holds."""
    fields, before, copies = leaver.buys(21), sentry_counts(shop), stock(21)
    with transaction.atomic():
        Book.objects.select_for_update().get(pk=21)
        client = leaver.sends(CONFIRM, fields)
        database.expect_begun("FOR UPDATE")
        client.close()
        has_grown(shop, before, "interrupted")
        database.expect_gone("FOR UPDATE")
    assert (Order.objects.count(), OrderLine.objects.count(), stock(21)) == (0, 0, copies)
    assert sentry_counts(shop)["cancels_effective"] == before["cancels_effective"] + 1
    assert 'id="order-number"' in leaver.request(CONFIRM, fields)[1]
    assert (Order.objects.count(), stock(21)) == (1, copies - 1)


def test_who_leaves_after_the_commit_has_one_order_and_an_empty_checkout(shop, leaver, database):
    """The page that confirms the order waits for its author, which another session holds."""
    fields, before, copies = leaver.buys(22), sentry_counts(shop), stock(22)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE shop_author IN ACCESS EXCLUSIVE MODE")
        client = leaver.sends(CONFIRM, fields)
        database.expect_begun('JOIN "shop_author"')
        client.close()
        has_grown(shop, before, "disconnects")
        assert database.running('JOIN "shop_author"')
    has_grown(shop, before, "finished")
    after = sentry_counts(shop)
    assert after["kept_database_s"] > before["kept_database_s"]
    assert after["cancels_attempted"] == before["cancels_attempted"]
    assert (Order.objects.count(), stock(22)) == (1, copies - 1)
    assert 'id="order-number"' in leaver.request(CONFIRM)[1]  # the session knows of it
    assert 'id="order-number"' in leaver.request(CONFIRM, fields)[1]
    assert Order.objects.count() == 1


def leave(client, rng):
    """Close or reset."""
    if rng.random() < 0.5:
        will_reset(client)
    client.close()


def check_orders_after_leaving_tr_4(leaver, is_done, kills):
    """Check that after each leave there is the order and its copy, or neither.

    Sent again, the form gives one order. The loop goes on until both outcomes have been seen.
    `is_done` returns whether the request that was left is over.
    """
    rng = random.Random(4)
    Book.objects.filter(pk=23).update(stock=10_000)
    found = {0: 0, 1: 0}
    took_s = 0.02
    while sum(found.values()) < kills or not all(found.values()):
        assert sum(found.values()) < 20 * kills, found
        fields, orders, copies = leaver.buys(23), Order.objects.count(), stock(23)
        client = leaver.sends(CONFIRM, fields)
        time.sleep(rng.uniform(0, 1.3 * took_s))  # the random moment
        leave(client, rng)
        until(is_done, "the shop done with it")
        placed = Order.objects.filter(idempotency_key=fields["idempotency_key"]).count()
        assert placed in (0, 1), found
        assert Order.objects.count() == OrderLine.objects.count() == orders + placed, found
        assert stock(23) == copies - placed, found
        found[placed] += 1
        status, html, took_s = leaver.request(CONFIRM, fields)
        assert (status, 'id="order-number"' in html) == (200, True), found
        assert (Order.objects.count(), stock(23)) == (orders + 1, copies - 1), found


@pytest.mark.timeout(600)
def test_leaving_tr_4_at_random_moments(shop, leaver):
    check_orders_after_leaving_tr_4(leaver, lambda: is_idle(shop), KILLS)


def test_leaving_tr_1_to_tr_3_at_random_moments(shop):
    """Whatever was stored by then, the same form sent again leads to the next page."""
    rng = random.Random(1)
    for _ in range(10):
        with Leaver(shop.url) as visitor:
            _, html, took_s = visitor.request("/books/24/")
            for path, next_path, filled in (
                (LOGIN, SHIPPING, {}),
                (SHIPPING, PAY, {"username": "customer-0002", "password": seeded_shop.PASSWORD}),
                (PAY, CONFIRM, ADDRESS),
            ):
                fields = form(html, path).fields | filled
                client = visitor.sends(path, fields)
                time.sleep(rng.uniform(0, 1.3 * took_s))
                leave(client, rng)
                until(lambda: is_idle(shop), "the shop done with it")
                status, html, took_s = visitor.request(path, fields)
                assert status == 200, path
                assert form(html, next_path)
    assert Order.objects.count() == 0


@pytest.mark.parametrize("profile", ["paper", "cpu"])
def test_page_work_ends_with_its_customer(shop, profile):
    """The page takes many seconds, and its customer leaves as soon as it is in the shop."""
    shop.controller.call("PUT", "/settings", {"profile": profile, "time_scale": 0.1})
    before = shop.controller.call("GET", "/status")
    client = socket.create_connection(("127.0.0.1", port_of(shop)))
    client.sendall(b"GET /search/?q=sea HTTP/1.1\r\nHost: shop\r\n\r\n")
    until(lambda: not is_idle(shop), "the page in service")
    client.close()
    until(lambda: is_idle(shop), "the page left")

    def interrupted():
        return shop.controller.call("GET", "/status")["sentry"]["interrupted"]

    until(lambda: interrupted() == before["sentry"]["interrupted"] + 1, "the page counted")
    after = shop.controller.call("GET", "/status")
    assert after["pages"]["Br-3"] == before["pages"]["Br-3"]


def port_of(shop):
    return int(shop.url.rsplit(":", 1)[1])


def test_watching_meters_and_stops_nothing(shop):
    shop.controller.call(
        "PUT", "/settings", {"profile": "paper", "time_scale": 0.1, "sentry": "watch"}
    )
    before = shop.controller.call("GET", "/status")
    client = socket.create_connection(("127.0.0.1", port_of(shop)))
    client.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
    until(lambda: not is_idle(shop), "the page in service")
    client.close()
    until(lambda: is_idle(shop), "the page served")
    after = shop.controller.call("GET", "/status")
    assert after["pages"]["Br-1"]["served"] == before["pages"]["Br-1"]["served"] + 1
    grown = {name: after["sentry"][name] - before["sentry"][name] for name in after["sentry"]}
    assert (grown["disconnects"], grown["finished"], grown["cancels_attempted"]) == (1, 1, 0)
    assert grown["wasted_cpu_s"] > 0
    assert grown["kept_cpu_s"] == 0
