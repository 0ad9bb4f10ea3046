"""Several tabs of a browser: each form orders its page's content once, or explains why not."""

import uuid

import pytest
from django.core import signing
from django.test import Client

from common.seeded_shop import PASSWORD
from shop import purchases
from shop.models import Book, Order
from shop.page_costs.walker import ADDRESS, PAYMENT, form
from tests.shop.page_checks import check

pytestmark = pytest.mark.usefixtures("visitor")

LOGIN, SHIPPING, PAY, CONFIRM = (
    f"/checkout/{step}/" for step in ("login", "shipping", "payment", "confirm")
)
TYPED = {LOGIN: {}, SHIPPING: {}, PAY: ADDRESS, CONFIRM: PAYMENT}
A, B = 5, 6


class Tab:
    """A page of the browser that stays open while others are used."""

    def __init__(self, browser, html=""):
        self.browser = browser
        self.html = html
        self.status = 200

    def sends(self, path, **typed):
        """Send the page's form, filled in."""
        fields = form(self.html, path).fields | TYPED[path] | typed
        answer = self.browser.post(path, fields, follow=True)
        self.status, self.html = answer.status_code, answer.content.decode()
        check(self.html)
        return self

    def buys(self, book, upto=CONFIRM):
        """Go up to the page with the form that is sent to `upto`."""
        self.html = self.browser.get(f"/books/{book}/").content.decode()
        for path in TYPED:
            if path == upto:
                return self
            self.sends(path)
        return self


def tab_with_cart(browser):
    """Return a tab at the payment for the whole cart."""
    answer = browser.post(LOGIN, {})
    return Tab(browser, answer.content.decode()).sends(SHIPPING).sends(PAY)


def bought():
    """Return the books of each order."""
    orders = Order.objects.order_by("pk").prefetch_related("lines")
    return [{line.book_id: line.quantity for line in order.lines.all()} for order in orders]


def sign_in(browser, username="customer-0002"):
    return browser.post("/account/sign-in/", {"username": username, "password": PASSWORD})


def test_each_tab_orders_its_own(customer):
    """Tab 1 is at the payment for A, tab 2 for B: each confirms its book, in any order."""
    first, second = Tab(customer).buys(A), Tab(customer).buys(B)
    first.sends(CONFIRM)
    assert bought() == [{A: 1}]
    assert Order.objects.get().number in first.html
    second.sends(CONFIRM)
    assert bought() == [{A: 1}, {B: 1}]


@pytest.mark.parametrize("path", [SHIPPING, PAY])
def test_each_step_goes_on_with_its_own(customer, path):
    """At every step a form goes on with its book, whatever the other tab began since."""
    first = Tab(customer).buys(A, upto=path)
    Tab(customer).buys(B)
    while 'id="order-number"' not in first.html:
        first.sends(next(step for step in TYPED if f'action="{step}"' in first.html))
    assert bought() == [{A: 1}]


def test_each_tab_has_its_own_address(customer):
    """An address written in another tab is the address of the other order."""
    first = Tab(customer).buys(A)
    second = Tab(customer).buys(B, upto=PAY).sends(PAY, city="Graz")
    first.sends(CONFIRM)
    second.sends(CONFIRM)
    assert list(Order.objects.order_by("pk").values_list("city", flat=True)) == ["Vienna", "Graz"]


def test_a_new_account_goes_on_with_its_own_tab(visitor):
    """The link to open an account leads back to the purchase of the page it is on."""
    first = Tab(visitor).buys(A, upto=SHIPPING)
    Tab(visitor).buys(B, upto=SHIPPING)
    link = first.html.split('href="/account/sign-up/')[1].split('"')[0]
    html = visitor.get(f"/account/sign-up/{link}").content.decode()
    new = {
        "username": "ada-p", "full_name": "Ada P", "email": "ada@example.org",
        "password": "lantern-street-3",
    }  # fmt: skip
    fields = form(html, "").fields | new
    page = visitor.post("/account/sign-up/", fields, follow=True).content.decode()
    assert 'action="/checkout/payment/"' in page
    assert Book.objects.get(pk=A).title in page
    assert Book.objects.get(pk=B).title not in page


def test_the_same_cart_from_two_tabs_is_one_order(customer):
    """This holds until it is placed; the next cart is the next order."""
    customer.post("/cart/", {"book": A, "quantity": 2})
    first = tab_with_cart(customer)
    Tab(customer).buys(B)
    second = tab_with_cart(customer)
    first.sends(CONFIRM)
    second.sends(CONFIRM)
    assert bought() == [{A: 2}]
    customer.post("/cart/", {"book": A, "quantity": 2})
    tab_with_cart(customer).sends(CONFIRM)
    assert bought() == [{A: 2}, {A: 2}]


def test_what_another_tab_put_into_the_cart_stays(customer):
    """The order takes only its books out of the cart, however often it is sent."""
    customer.post("/cart/", {"book": A, "quantity": 1})
    first = tab_with_cart(customer)
    fields = form(first.html, CONFIRM).fields | PAYMENT
    customer.post("/cart/", {"book": A, "quantity": 3})
    customer.post("/cart/", {"book": B, "quantity": 1})
    for _ in range(3):
        customer.post(CONFIRM, fields)
        assert bought() == [{A: 1}]
        assert customer.session["cart"] == {str(A): 2, str(B): 1}


def test_what_is_put_into_the_cart_while_the_order_is_placed_stays(customer, monkeypatch):
    """The order may wait long for its books; the cart changes by its state at that time."""
    from shop.views import checkout

    first = Tab(customer).buys(A)
    place = checkout.place_order

    def slowly(*arguments):
        customer.post("/cart/", {"book": B, "quantity": 2})
        return place(*arguments)

    monkeypatch.setattr(checkout, "place_order", slowly)
    first.sends(CONFIRM)
    assert bought() == [{A: 1}]
    assert customer.session["cart"] == {str(B): 2}


def test_signed_out_in_another_tab(customer):
    """The customer reads that they were signed out, signs in, and orders what they had begun."""
    first = Tab(customer).buys(A)
    customer.post("/account/sign-out/")
    Tab(customer).buys(B, upto=SHIPPING)
    first.sends(CONFIRM)
    assert "You were signed out in the meantime" in first.html
    first.sends(SHIPPING, username="customer-0001", password=PASSWORD)
    assert ADDRESS["street"] in first.html
    first.sends(PAY).sends(CONFIRM)
    assert bought() == [{A: 1}]


def test_signed_out_before_going_on_to_delivery(customer):
    """A form without fields shows no errors of fields."""
    first = Tab(customer).buys(A, upto=SHIPPING)
    customer.session.flush()
    first.sends(SHIPPING)
    assert first.status == 200
    assert "You were signed out in the meantime" in first.html
    assert "This field is required" not in first.html
    assert 'role="alert"' not in first.html
    assert 'name="username"' in first.html


@pytest.mark.parametrize("path", [SHIPPING, PAY, CONFIRM])
def test_signed_in_as_somebody_else_in_another_tab(customer, path):
    """A form made for one account never orders for another without a message."""
    first = Tab(customer).buys(A, upto=path)
    sign_in(customer, "customer-0002")
    first.sends(path)
    assert first.status == 409
    assert "a different account" in first.html
    assert not Order.objects.exists()
    while 'id="order-number"' not in first.html:
        first.sends(next(step for step in TYPED if f'action="{step}"' in first.html))
    assert Order.objects.get().customer.username == "customer-0002"


@pytest.mark.parametrize("path", [SHIPPING, PAY, CONFIRM])
def test_signed_in_in_another_tab_with_tokens_checked(db, no_page_work, path):
    """The tokens of open pages are old then: the page explains it, and the purchase goes on."""
    browser = Client(enforce_csrf_checks=True)
    html = browser.get("/account/sign-in/").content.decode()
    who = {"username": "customer-0001", "password": PASSWORD}
    browser.post("/account/sign-in/", form(html, "").fields | who)
    first = Tab(browser).buys(A, upto=path)
    html = browser.get("/account/sign-in/").content.decode()
    browser.post("/account/sign-in/", form(html, "").fields | who)
    Tab(browser).buys(B)
    first.sends(path)
    assert first.status == 403
    assert "was ordered now" in first.html
    first.sends(LOGIN)
    while 'id="order-number"' not in first.html:
        assert first.status == 200
        first.sends(next(step for step in TYPED if f'action="{step}"' in first.html))
    assert bought() == [{A: 1}]


def test_an_order_that_was_sent_before_its_token_went_old_is_not_placed_twice(db, no_page_work):
    browser = Client(enforce_csrf_checks=True)
    html = browser.get("/account/sign-in/").content.decode()
    who = {"username": "customer-0001", "password": PASSWORD}
    browser.post("/account/sign-in/", form(html, "").fields | who)
    first = Tab(browser).buys(A)
    again = Tab(browser, first.html)
    first.sends(CONFIRM)
    html = browser.get("/account/sign-in/").content.decode()
    browser.post("/account/sign-in/", form(html, "").fields | who)
    again.sends(CONFIRM)
    assert again.status == 403
    again.sends(LOGIN).sends(SHIPPING).sends(PAY)
    assert Order.objects.get().number in again.html
    assert "already placed" in again.html


def test_a_price_that_changed_is_agreed_to_first(customer):
    """Nothing is ordered for more, or less, than the page showed."""
    first = Tab(customer).buys(A)
    Book.objects.filter(pk=A).update(price_cents=1)
    first.sends(CONFIRM)
    assert first.status == 409
    assert "a price has changed" in first.html
    assert not Order.objects.exists()
    first.sends(CONFIRM)
    assert Order.objects.get().total_cents == 1


def test_stock_that_another_tab_took(customer):
    """The page names the book, how many copies are left, and what to do."""
    Book.objects.filter(pk=A).update(stock=3)
    customer.post("/cart/", {"book": A, "quantity": 3})
    first = tab_with_cart(customer)
    Tab(customer).buys(A).sends(CONFIRM)
    first.sends(CONFIRM)
    assert first.status == 409
    assert f"{Book.objects.get(pk=A).title} (2 left)" in first.html
    assert "Nothing was ordered" in first.html
    assert bought() == [{A: 1}]


def test_back_to_the_address_after_the_order(customer):
    """Another address, sent late, changes nothing, and the page explains it."""
    at_delivery = Tab(customer).buys(A, upto=PAY)
    at_payment = Tab(customer, at_delivery.html).sends(PAY)
    Tab(customer, at_payment.html).sends(CONFIRM)
    at_delivery.sends(PAY, city="Graz")
    assert "already placed" in at_delivery.html
    assert Order.objects.get().city == "Vienna"


def test_another_address_for_an_order_whose_confirmation_was_lost(customer):
    """The session did not see the order placed: its address is shown, with a message."""
    at_delivery = Tab(customer).buys(A, upto=PAY)
    at_payment = Tab(customer, at_delivery.html).sends(PAY)
    session = customer.session
    before = dict(session)
    at_payment.sends(CONFIRM)
    session.clear()
    session.update(before)
    session.save()
    at_delivery.sends(PAY, city="Graz").sends(CONFIRM)
    assert "already placed" in at_delivery.html
    assert "Vienna" in at_delivery.html
    assert bought() == [{A: 1}]


def test_double_submit_of_buy(customer):
    """Each page of a double click has a purchase; the one that is confirmed is ordered."""
    first, second = Tab(customer).buys(A, upto=LOGIN), Tab(customer).buys(A, upto=LOGIN)
    second.sends(LOGIN)
    first.sends(LOGIN).sends(SHIPPING).sends(PAY).sends(CONFIRM)
    assert bought() == [{A: 1}]


def test_a_key_of_another_purchase_is_refused_in_words(customer):
    first = Tab(customer).buys(A)
    first.sends(CONFIRM, idempotency_key=str(uuid.uuid4()))
    assert first.status == 409
    assert "does not belong to the order" in first.html
    assert not Order.objects.exists()


def test_a_form_of_yesterday(customer, monkeypatch):
    """It orders nothing and explains why; if it has ordered before, it shows that order."""
    first = Tab(customer).buys(A)
    again = Tab(customer, first.html)
    monkeypatch.setattr(purchases, "MAX_AGE_S", -1)
    first.sends(CONFIRM)
    assert first.status == 422
    assert "more than a day old" in first.html
    assert not Order.objects.exists()
    monkeypatch.undo()
    fields = again.html
    again.sends(CONFIRM)
    monkeypatch.setattr(purchases, "MAX_AGE_S", -1)
    late = Tab(customer, fields).sends(CONFIRM)
    assert Order.objects.get().number in late.html


def test_an_address_of_the_shop_tells_no_address_of_a_customer(customer):
    """Addresses end in logs; a customer's address is in forms only."""
    first = Tab(customer).buys(A)
    fields = form(first.html, CONFIRM).fields | PAYMENT
    customer.session.flush()
    led = customer.post(CONFIRM, fields)
    assert led.status_code == 302
    carried = led["Location"].split("purchase=")[1]
    state = signing.loads(carried.replace("%3A", ":"), salt="shop.checkout.purchase")
    assert "address" not in state
