"""A session is in PostgreSQL as soon as its loss would matter; Redis makes pages quicker."""

import time
from datetime import timedelta

import pytest
import redis
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from django.utils import timezone

from common import ports, seeded_shop
from shop import sessions
from shop.models import Order
from shop.page_costs.walker import ADDRESS, PAYMENT, form
from shop.sessions import SessionStore
from shop.views import checkout
from tests.shop.page_costs.test_back_end import options

pytestmark = pytest.mark.usefixtures("visitor")

WHO = {"username": "customer-0003", "password": seeded_shop.PASSWORD}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Forget the faults of other tests."""
    monkeypatch.setattr(sessions, "session_cache", sessions.SessionCache())


@pytest.fixture
def away(settings):
    """Return a function that takes Redis away; `away(False)` brings it back, with its data."""
    here = settings.CACHES
    [nobody] = ports.free(1)
    there = {"default": {**here["default"], "LOCATION": f"redis://127.0.0.1:{nobody}/0"}}

    def set_away(is_away=True):
        settings.CACHES = there if is_away else here
        sessions.session_cache.away_until_s = 0.0

    return set_away


def buy(browser, book=5):
    """Return the statuses of the pages of a purchase."""
    html = browser.get(f"/books/{book}/").content.decode()
    seen = []
    for path, typed in (
        ("/checkout/login/", {}),
        ("/checkout/shipping/", WHO),
        ("/checkout/payment/", ADDRESS),
        ("/checkout/confirm/", PAYMENT),
    ):
        answer = browser.post(path, form(html, path).fields | typed)
        html = answer.content.decode()
        seen.append(answer.status_code)
    return seen


def put(browser, book, copies=1):
    browser.post("/cart/", {"book": book, "quantity": copies})


def test_a_bare_visit_is_in_redis_alone(visitor):
    Session.objects.all().delete()  # another file's customers may have left some
    visitor.get("/")
    visitor.get("/browse/crime/")
    assert visitor.session["visit"] == 1
    assert not Session.objects.exists()
    put(visitor, 5)
    assert Session.objects.count() == 1


def test_a_purchase_while_redis_is_away(visitor, away, caplog):
    """Every page comes, and the log has a line and no traceback."""
    put(visitor, 6)
    away()
    assert buy(visitor) == [200] * 4
    assert Order.objects.count() == 1
    assert visitor.session["cart"] == {"6": 1}
    assert "Redis is unavailable; sessions are read from PostgreSQL" in caplog.text
    assert "Traceback" not in caplog.text
    away(False)
    assert visitor.session["cart"] == {"6": 1}


def test_what_redis_has_not_been_told_it_is_not_believed(customer, away):
    """A customer signs out while Redis is away: the old cookie stays signed out when it is back."""
    put(customer, 5)
    thief = Client()
    thief.cookies = customer.cookies.copy()
    assert thief.get("/account/").status_code == 200
    away()
    customer.post("/account/sign-out/")
    away(False)
    assert thief.get("/account/").status_code == 302


def test_a_change_that_redis_has_missed_is_there(visitor, away):
    visitor.get("/")
    away()
    put(visitor, 5)
    away(False)
    assert visitor.session["cart"] == {"5": 1}
    away()
    put(visitor, 5, copies=2)
    away(False)
    assert visitor.session["cart"] == {"5": 2}
    assert sessions.absences() > 0


def test_a_redis_that_hangs_costs_a_page_a_moment(visitor):
    """The shop waits for it once, then leaves it alone for a while."""
    put(visitor, 5)
    with redis.Redis(**options()) as other:
        other.client_pause(10_000, all=True)
        try:
            started_s = time.monotonic()
            assert buy(visitor) == [200] * 4
            assert time.monotonic() - started_s < 8
        finally:
            other.client_unpause()
    assert Order.objects.count() == 1


def test_a_sign_in_whose_page_fails_keeps_the_cart(visitor, monkeypatch):
    """The old session ends at the moment when the new one is written."""
    put(visitor, 6)
    html = visitor.get("/books/5/").content.decode()
    html = visitor.post("/checkout/login/", form(html, "/checkout/login/").fields).content.decode()
    fields = form(html, "/checkout/shipping/").fields | WHO
    visitor.raise_request_exception = False

    def broken(**_):
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(checkout, "AddressForm", broken)
        assert visitor.post("/checkout/shipping/", fields).status_code == 503
    assert visitor.session["cart"] == {"6": 1}
    before = visitor.session.session_key
    assert visitor.post("/checkout/shipping/", fields).status_code == 200
    assert visitor.session["cart"] == {"6": 1}
    assert visitor.session.session_key != before
    assert not Session.objects.filter(pk=before).exists()
    assert not SessionStore(before).load()


def test_a_session_that_was_ended_elsewhere_is_not_written_again(customer):
    """A page that began before the sign-out cannot bring the session back."""
    late = SessionStore(customer.session.session_key)
    late["cart"] = {"5": 1}
    customer.post("/account/sign-out/")
    with pytest.raises(UpdateError):
        late.save()
    assert not SessionStore(late.session_key).load()


def test_two_tabs_that_first_fill_a_visit(visitor):
    """Neither page fails; the later one counts."""
    visitor.get("/")
    first, second = (SessionStore(visitor.session.session_key) for _ in range(2))
    first["cart"], second["cart"] = {"5": 1}, {"6": 1}
    first.save()
    second.save()
    assert visitor.session["cart"] == {"6": 1}


def test_a_key_that_was_made_up_gets_no_session(visitor):
    visitor.cookies["sessionid"] = "a" * 32
    put(visitor, 5)
    assert visitor.cookies["sessionid"].value != "a" * 32


def test_old_sessions_are_forgotten(visitor):
    put(visitor, 5)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    cache.clear()
    assert "cart" not in visitor.session
    SessionStore.clear_expired()
    assert not Session.objects.exists()
