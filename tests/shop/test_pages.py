"""Every page is sound, lean and safe, and refuses invalid values."""

import re

import pytest
import redis
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from django.test.signals import template_rendered
from django.test.utils import CaptureQueriesContext
from django.urls import resolve

from common import seeded_shop
from shop import outages
from shop.models import Book, Category, Order
from shop.page_costs.walker import ADDRESS, PAYMENT, form
from shop.page_types import PAGE_TYPE_BY_URL_NAME
from shop.views import checkout
from tests.shop.page_checks import check

pytestmark = pytest.mark.usefixtures("visitor")


def steps(client, book="5"):
    """Yield the four transaction pages, one after the other: (page, status, html)."""
    html = client.get(f"/books/{book}/").content.decode()
    for page, path, fields in (
        ("Tr-1", "/checkout/login/", {}),
        ("Tr-2", "/checkout/shipping/", SIGN_IN),
        ("Tr-3", "/checkout/payment/", ADDRESS),
        ("Tr-4", "/checkout/confirm/", PAYMENT),
    ):
        response = client.post(path, form(html, path).fields | fields)
        html = response.content.decode()
        yield page, response.status_code, html


SIGN_IN = {"username": "customer-0003", "password": seeded_shop.PASSWORD}


def upto(client, page):
    """Return this transaction page, after a walk to it."""
    for name, _, html in steps(client):
        if name == page:
            return html
    raise AssertionError(page)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/browse/crime/", "/browse/crime/?page=2&sort=price", "/search/", "/search/?q=winter",
        "/search/?q=%22a+lamp%22+-winter", "/search/?q=zzzz", "/books/5/", "/books/97/", "/cart/",
        "/account/sign-in/", "/account/sign-up/",
    ],
)  # fmt: skip
def test_pages_that_anybody_sees(visitor, path):
    response = visitor.get(path)
    assert response.status_code == 200
    page = check(response.content.decode())
    assert any(link.get("class") == "skip" for link in page.all("a"))


def test_pages_of_a_purchase(visitor):
    for page, status, html in steps(visitor):
        assert status == 200, page
        check(html)
    order = Order.objects.get(customer__username="customer-0003")
    assert order.number in html
    assert order.street == ADDRESS["street"]
    for path in ("/account/", f"/account/orders/{order.pk}/"):
        check(visitor.get(path).content.decode())


def test_the_order_pages_name_the_country(visitor):
    *_, (page, _, html) = steps(visitor)
    assert page == "Tr-4"
    kept = visitor.get(f"/account/orders/{Order.objects.get().pk}/").content.decode()
    for shown in (html, kept):
        address = shown[shown.index("<address>") : shown.index("</address>")]
        assert address.endswith("<br>Austria")


def test_tr_4_sent_again_is_the_same_order(visitor):
    html = upto(visitor, "Tr-3")
    fields = form(html, "/checkout/confirm/").fields | PAYMENT
    stock = Book.objects.get(pk=5).stock
    answers = {visitor.post("/checkout/confirm/", fields).content for _ in range(3)}
    assert len(answers) == 1
    assert Order.objects.count() == 1
    assert Book.objects.get(pk=5).stock == stock - 1
    assert visitor.get("/checkout/confirm/").content in answers


@pytest.mark.parametrize("lost_after", ["Tr-1", "Tr-2", "Tr-3", "Tr-4"])
def test_a_purchase_outlives_its_session_and_is_ordered_once(visitor, lost_after):
    """A customer whose session is lost signs in again and goes on."""
    stock = Book.objects.get(pk=5).stock
    seen = {page: html for page, _, html in steps(visitor) if page <= lost_after}
    placed = Order.objects.first()
    visitor.session.delete(visitor.session.session_key)
    form_before = "Tr-3" if lost_after == "Tr-4" else lost_after
    path, typed = {
        "Tr-1": ("/checkout/shipping/", SIGN_IN),
        "Tr-2": ("/checkout/payment/", ADDRESS),
        "Tr-3": ("/checkout/confirm/", PAYMENT),
    }[form_before]
    html = visitor.post(path, form(seen[form_before], path).fields | typed, follow=True)
    html = html.content.decode()
    for path, typed in (
        ("/checkout/shipping/", SIGN_IN),
        ("/checkout/payment/", ADDRESS),
        ("/checkout/confirm/", PAYMENT),
    ):
        if lost_after != "Tr-1" or path != "/checkout/shipping/":
            html = visitor.post(path, form(html, path).fields | typed).content.decode()
    assert placed.number in html
    assert Order.objects.get() == placed
    assert Book.objects.get(pk=5).stock == stock - 1


def test_a_cache_lost_while_pages_are_made_costs_nobody_anything(visitor):
    """PostgreSQL has the sessions."""

    def lose(**_):
        cache.clear()

    visitor.post("/cart/", {"book": "6", "quantity": "1"})
    template_rendered.connect(lose)
    try:
        assert [status for _, status, _ in steps(visitor)] == [200] * 4
    finally:
        template_rendered.disconnect(lose)
    assert visitor.session["cart"] == {"6": 1}
    assert Order.objects.count() == 1


@pytest.mark.parametrize("page", ["Tr-1", "Tr-3", "Tr-4"])
def test_a_session_ended_while_its_page_is_made_is_no_fault_of_the_visitor(visitor, page):
    def lose(**_):
        Session.objects.all().delete()
        cache.clear()

    def post(path, html, typed):
        answer = visitor.post(path, form(html, path).fields | typed, follow=True)
        return answer, answer.content.decode()

    visitor.post("/cart/", {"book": "6", "quantity": "1"})  # so that there is a session at Tr-1
    html = visitor.get("/books/5/").content.decode()
    walk = {
        "Tr-1": ("/checkout/login/", {}),
        "Tr-2": ("/checkout/shipping/", SIGN_IN),
        "Tr-3": ("/checkout/payment/", ADDRESS),
        "Tr-4": ("/checkout/confirm/", PAYMENT),
    }
    for name, (path, typed) in walk.items():
        if name == page:
            break
        _, html = post(path, html, typed)
    template_rendered.connect(lose)
    try:
        answer, said = post(path, html, typed)
    finally:
        template_rendered.disconnect(lose)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert "however often you send it" in said
    check(said)
    while "order-number" not in html:  # sends it again, signs in where that is asked, and goes on
        path, typed = next(step for step in walk.values() if f'action="{step[0]}"' in html)
        answer, html = post(path, html, typed)
        assert answer.status_code == 200
    assert Order.objects.get().number in html


def test_a_login_whose_page_failed_is_sent_again_as_it_is(visitor, monkeypatch):
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    html = strict.get("/books/5/").content.decode()
    html = strict.post("/checkout/login/", form(html, "/checkout/login/").fields).content.decode()
    fields = form(html, "/checkout/shipping/").fields | SIGN_IN

    def broken(**_):
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(checkout, "AddressForm", broken)
        assert strict.post("/checkout/shipping/", fields).status_code == 503
    assert "Where do we deliver?" in strict.post("/checkout/shipping/", fields).content.decode()


def test_a_late_form_of_a_purchase_that_is_placed_begins_nothing(visitor):
    """It shows the order that was placed, with a message."""
    seen = {page: html for page, _, html in steps(visitor)}
    late = visitor.post(
        "/checkout/payment/", form(seen["Tr-2"], "/checkout/payment/").fields | ADDRESS
    ).content.decode()
    assert Order.objects.get().number in late
    assert "already placed" in late
    assert "order-number" in visitor.get("/checkout/confirm/").content.decode()


@pytest.mark.parametrize("after", ["Tr-1", "Tr-2", "Tr-3"])
def test_a_purchase_that_an_older_shop_began_without_a_key_goes_on(visitor, after):
    upto(visitor, after)
    session = visitor.session
    session["checkout"] = {k: v for k, v in session["checkout"].items() if k != "key"}
    session.save()
    paths = ("/checkout/login/", "/checkout/shipping/", "/checkout/payment/")
    for path in paths[: int(after[-1])]:
        assert visitor.get(path).status_code == 200
    html = visitor.post("/checkout/shipping/", SIGN_IN).content.decode()
    for path, typed in (("/checkout/payment/", ADDRESS), ("/checkout/confirm/", PAYMENT)):
        html = visitor.post(path, form(html, path).fields | typed).content.decode()
    assert Order.objects.get().number in html


@pytest.mark.parametrize("step", ["login", "shipping", "payment", "confirm"])
def test_a_purchase_that_was_not_signed_here_is_refused_in_words(visitor, step):
    answer = visitor.post(f"/checkout/{step}/", {"purchase": "made-up:x:y", **SIGN_IN})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Nothing was ordered now" in page
    check(page)


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("Br-1", "/"),
        ("Br-2", "/browse/crime/"),
        ("Br-3", "/search/?q=winter"),
        ("Br-4", "/books/5/"),
    ],
)
def test_browsing_needs_few_queries(visitor, page, path, django_assert_max_num_queries):
    visitor.get("/")  # the menu is made once
    with django_assert_max_num_queries(4):
        assert visitor.get(path).status_code == 200


@pytest.mark.parametrize(("page", "bound"), [("Tr-2", 3), ("Tr-3", 3), ("Tr-4", 12)])
def test_buying_needs_few_queries(visitor, page, bound):
    walk = steps(visitor)
    while True:
        with CaptureQueriesContext(connection) as queries:
            name, _, _ = next(walk)
        if name == page:
            assert len(queries) <= bound, [query["sql"] for query in queries]
            return


@pytest.mark.parametrize(
    ("path", "leads_to"),
    [
        ("/checkout/login/", "/cart/"),
        ("/checkout/shipping/", "/cart/"),
        ("/checkout/payment/", "/cart/"),
        ("/checkout/confirm/", "/checkout/login/"),
        ("/account/", "/account/sign-in/?next=/account/"),
    ],
)
def test_get_leads_to_the_first_missing_step(visitor, path, leads_to):
    response = visitor.get(path)
    assert response.status_code == 302
    assert response["Location"] == leads_to


def test_wrong_password_stays_at_the_login(visitor):
    html = upto(visitor, "Tr-1")
    fields = form(html, "/checkout/shipping/").fields | {**SIGN_IN, "password": "wrong"}
    response = visitor.post("/checkout/shipping/", fields)
    assert response.status_code == 422
    assert "do not match" in response.content.decode()
    check(response.content.decode())


def test_tr_2_over_another_accounts_session_goes_on_with_the_purchase(customer):
    customer.post("/cart/", {"book": 6, "quantity": 1})
    html = upto(customer, "Tr-1")
    begun = customer.session["checkout"]
    assert "customer" not in begun
    customer.get("/checkout/shipping/")
    customer.post("/checkout/payment/", ADDRESS)
    assert "address" in customer.session["checkout"]
    path = "/checkout/shipping/"
    other = {**SIGN_IN, "username": "customer-0002"}
    response = customer.post(path, form(html, path).fields | other)
    assert response.status_code == 200
    page = response.content.decode()
    check(page)
    assert 'action="/checkout/payment/"' in page
    assert Book.objects.get(pk=5).title in page
    assert ADDRESS["street"] not in page
    assert customer.session["checkout"] == {**begun, "customer": 2}
    assert "cart" not in customer.session


@pytest.mark.parametrize(
    ("after", "path", "fields", "names"),
    [
        ("Tr-2", "/checkout/payment/", {**ADDRESS, "city": ""}, "Town or city"),
        ("Tr-2", "/checkout/payment/", {**ADDRESS, "country": "XX"}, "Country"),
        ("Tr-3", "/checkout/confirm/", {**PAYMENT, "card_number": "1"}, "Card number"),
        ("Tr-3", "/checkout/confirm/", {**PAYMENT, "card_expiry": "soon"}, "Expires"),
    ],
)
def test_refused_forms_come_back_with_the_field_named(visitor, after, path, fields, names):
    html = upto(visitor, after)
    response = visitor.post(path, form(html, path).fields | fields)
    assert response.status_code == 422
    page = response.content.decode()
    check(page)
    assert 'role="alert"' in page
    assert names in page[page.index('role="alert"') :][:400]
    assert not Order.objects.exists()


def test_payment_is_not_kept(visitor):
    from shop.sessions import SessionStore

    list(steps(visitor))
    kept = repr(dict(SessionStore(visitor.session.session_key).items()))
    kept += repr(Order.objects.values().get())
    assert "42424242" not in kept.replace(" ", "")


def test_out_of_stock_cannot_be_bought(visitor):
    page = visitor.get("/books/97/").content.decode()
    assert "Out of stock" in page
    assert 'action="/checkout/login/"' not in page
    response = visitor.post("/checkout/login/", {"book": "97"})
    assert response.status_code == 409
    assert "out of stock" in response.content.decode()


def test_the_sign_in_page_names_accounts_that_exist(visitor):
    html = visitor.get("/account/sign-in/").content.decode()
    (named,) = re.findall(r"accounts (\S+) to (\S+) have the password “(.+?)”", html)
    *usernames, password = named
    assert all(visitor.login(username=name, password=password) for name in usernames)


@pytest.mark.parametrize("book", ["0", "-1", "x", "", "99999999999999"])
def test_buy_needs_a_book(visitor, book):
    response = visitor.post("/checkout/login/", {"book": book})
    assert response.status_code == 422
    assert "book: must be" in response.content.decode()


class TestCart:
    def put(self, client, book, quantity):
        return client.post("/cart/", {"book": book, "quantity": quantity})

    def test_put_change_remove(self, visitor):
        assert self.put(visitor, 5, 2).status_code == 302
        assert self.put(visitor, 6, 1).status_code == 302
        assert self.put(visitor, 5, 3).status_code == 302
        assert visitor.session["cart"] == {"5": 3, "6": 1}
        page = visitor.get("/cart/").content.decode()
        check(page)
        self.put(visitor, 5, 0)
        self.put(visitor, 6, 0)
        assert "Your cart is empty" in visitor.get("/cart/").content.decode()

    def test_titles_given_up_before_the_confirm(self, customer):
        """The form is refused however often it is sent; the rest of the cart can be bought."""
        for book in (5, 6, 7):
            self.put(customer, book, 1)
        confirm = "/checkout/confirm/"

        def payment():
            customer.post("/checkout/login/", {})
            customer.post("/checkout/shipping/", {})
            html = customer.post("/checkout/payment/", ADDRESS).content.decode()
            return form(html, confirm).fields | PAYMENT

        fields = payment()
        Book.objects.filter(pk__in=(5, 7)).delete()
        for _ in range(2):
            refused = customer.post(confirm, fields)
            assert refused.status_code == 409
            page = refused.content.decode()
            check(page)
            assert "No longer sold: 2 of 3 titles. Nothing was ordered." in page
            assert not Order.objects.exists()
        assert customer.session["cart"] == {"6": 1}
        assert customer.post(confirm, payment()).status_code == 200
        assert [line.book_id for line in Order.objects.get().lines.all()] == [6]


NEW_CUSTOMER = {
    "username": "ada-p",
    "full_name": "Ada Penrose",
    "email": "ada@example.org",
    "password": "lantern-street-3",
}


class TestAccounts:
    def test_sign_up_and_out(self, visitor):
        assert visitor.post("/account/sign-up/", NEW_CUSTOMER)["Location"] == "/account/"
        assert "Ada Penrose" in visitor.get("/account/").content.decode()
        visitor.post("/account/sign-out/")
        assert visitor.get("/account/").status_code == 302

    def test_two_errors_of_a_field_share_an_id(self, visitor):
        response = visitor.post("/account/sign-up/", {**NEW_CUSTOMER, "password": "1234"})
        assert response.status_code == 422
        check(response.content.decode())

    def test_sign_in_leads_back_but_not_elsewhere(self, visitor):
        back = visitor.post("/account/sign-in/", {**SIGN_IN, "next": "/cart/"})
        assert back["Location"] == "/cart/"
        elsewhere = visitor.post("/account/sign-in/", {**SIGN_IN, "next": "https://evil.example/"})
        assert elsewhere["Location"] == "/account/"

    def test_an_order_is_its_customers_own(self, visitor):
        list(steps(visitor))
        order = Order.objects.get()
        other = Client()
        other.login(username="customer-0004", password=SIGN_IN["password"])
        assert other.get(f"/account/orders/{order.pk}/").status_code == 404


def test_search_finds_by_title_author_and_highlights(visitor):
    book = Book.objects.select_related("author").get(pk=5)
    for words in (book.title, f'"{book.author.name}"'):
        page = visitor.get("/search/", {"q": words}).content.decode()
        assert f'href="/books/{book.pk}/"' in page, words
    assert "<mark>" in visitor.get("/search/?q=letters").content.decode()


def test_search_escapes(visitor):
    page = visitor.get("/search/", {"q": "<script>alert(1)</script>"}).content.decode()
    assert "<script>" not in page
    check(page)


def test_search_refuses_what_is_too_long(visitor):
    response = visitor.get("/search/", {"q": "x" * 101})
    assert response.status_code == 422
    assert "100 characters" in response.content.decode()


def test_browse_pages_and_sorts(visitor):
    cheapest = Book.objects.filter(category__slug="crime").order_by("price_cents", "sales_rank")[0]
    page = visitor.get("/browse/crime/?sort=price").content.decode()
    assert page.index("/books/") == page.index(f"/books/{cheapest.pk}/")
    assert visitor.get("/browse/crime/?page=999").status_code == 200
    assert visitor.get("/browse/crime/?sort=colour").status_code == 404
    assert visitor.get("/browse/nothing/").status_code == 404


def test_a_visit_begins_with_a_page(visitor):
    assert "sessionid" in visitor.get("/").cookies
    assert "sessionid" not in visitor.get("/").cookies
    assert "sessionid" not in Client().get("/health/").cookies


class TestErrors:
    @pytest.mark.parametrize("path", ["/nowhere/", "/books/999999/", "/books/x/"])
    def test_404(self, visitor, path):
        response = visitor.get(path)
        assert response.status_code == 404
        check(response.content.decode())

    def test_403_without_csrf_token(self, visitor):
        strict = Client(enforce_csrf_checks=True)
        response = strict.post("/checkout/login/", {"book": "5"})
        assert response.status_code == 403
        assert "expired" in response.content.decode()
        check(response.content.decode())

    def test_400(self, visitor):
        response = visitor.get("/", headers={"host": "no such host"})
        assert response.status_code == 400
        check(response.content.decode())

    def test_500(self, visitor, monkeypatch):
        def broken(*_):
            raise RuntimeError("broken on purpose")

        monkeypatch.setattr(Category.objects.__class__, "get_queryset", broken)
        visitor.raise_request_exception = False
        response = visitor.get("/browse/crime/")
        assert response.status_code == 500
        check(response.content.decode())
        assert "broken on purpose" not in response.content.decode()

    @pytest.mark.parametrize(
        ("fault", "back_end"),
        [
            (OperationalError("connection refused"), "postgres"),
            (InterfaceError("the connection is closed"), "postgres"),
            (redis.ConnectionError("refused"), "redis"),
        ],
    )
    def test_503_while_a_back_end_is_away(self, visitor, monkeypatch, fault, back_end):
        def broken(*_):
            raise fault

        monkeypatch.setattr(Category.objects.__class__, "get_queryset", broken)
        visitor.raise_request_exception = False
        before = outages.counts()
        response = visitor.get("/browse/crime/")
        assert response.status_code == 503
        assert int(response["Retry-After"]) > 0
        page = response.content.decode()
        check(page)
        assert "however often you send it" in page
        assert "refused" not in page
        after = outages.counts()
        assert {one: after[one] - before[one] for one in after} == {
            one: int(one == back_end) for one in ("postgres", "redis")
        }


def test_security_headers(visitor):
    response = visitor.get("/books/5/")
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert "default-src 'none'" in response["Content-Security-Policy"]
    assert response.cookies["csrftoken"]["httponly"]
    assert response.cookies["sessionid"]["httponly"]
    assert response.cookies["sessionid"]["samesite"] == "Lax"


def test_behind_a_proxy_the_forwarded_host_counts(visitor):
    strict = Client(enforce_csrf_checks=True)
    names = {"X-Forwarded-Host": "class.example:8080", "Host": "127.0.0.1:8082"}
    html = strict.get("/books/5/", headers=names).content.decode()
    fields = form(html, "/checkout/login/").fields
    good = strict.post(
        "/checkout/login/", fields, headers={**names, "Origin": "http://class.example:8080"}
    )
    assert good.status_code == 200
    bad = strict.post(
        "/checkout/login/", fields, headers={**names, "Origin": "http://evil.example"}
    )
    assert bad.status_code == 403


def test_every_page_type_has_its_address():
    """`common/page_types.py` declares the addresses that `shop/urls.py` serves."""
    for url_name, page in PAGE_TYPE_BY_URL_NAME.items():
        assert resolve(page.path.format(shelf="crime", book=7)).url_name == url_name


class TestLedToThePage:
    """The buttons of people ask for a redirect; a form sent to its action gets its page."""

    def test_each_step_redirects_to_itself(self, visitor):
        html = visitor.get("/books/5/").content.decode()
        for step, typed in (
            ("login", {}), ("shipping", SIGN_IN), ("payment", ADDRESS), ("confirm", PAYMENT),
        ):  # fmt: skip
            path = f"/checkout/{step}/"
            assert f'formaction="{path}?then=show"' in html
            fields = form(html, path).fields | typed
            led = visitor.post(f"{path}?then=show", fields)
            assert led.status_code == 303
            assert led["Location"].startswith(f"{path}?")
            html = visitor.get(led["Location"]).content.decode()
            check(html)
        again = visitor.post(f"{path}?then=show", fields)
        assert again["Location"] == led["Location"]
        assert Order.objects.get().number in html

    def test_a_refused_form_is_answered_and_may_be_gone_back_to(self, visitor):
        html = upto(visitor, "Tr-2")
        fields = form(html, "/checkout/payment/").fields | ADDRESS | {"city": ""}
        refused = visitor.post("/checkout/payment/?then=show", fields)
        assert refused.status_code == 422
        assert "no-store" not in refused["Cache-Control"]
        assert "no-store" in visitor.get("/checkout/shipping/")["Cache-Control"]

    @pytest.mark.parametrize("number", ["0", "x", "99999999999999999999", ""])
    def test_a_confirmation_is_its_customers_own(self, customer, number):
        list(steps(customer))
        path = f"/checkout/confirm/?order={Order.objects.get().pk}"
        assert customer.get(path).status_code == 200
        assert customer.get(f"/checkout/confirm/?order={number}").status_code == 404
        other = Client()
        other.login(username="customer-0004", password=SIGN_IN["password"])
        assert other.get(path).status_code == 404


def test_the_checkout_without_a_step_leads_to_the_present_one(visitor):
    assert visitor.get("/checkout/", follow=True).redirect_chain[-1][0] == "/cart/"
    upto(visitor, "Tr-2")
    at_delivery = visitor.get("/checkout/", follow=True)
    assert at_delivery.status_code == 200
    assert "Where do we deliver?" in at_delivery.content.decode()


def test_a_misspelt_search_suggests_words_that_find_books(visitor):
    page = visitor.get("/search/", {"q": "lighthosue keper"}).content.decode()
    check(page)
    assert 'href="/search/?q=lighthouse%20keeper"' in page
    for words in ("zzzzzzzz", "lighthouse", "lighthosue " * 7):
        assert "Did you mean" not in visitor.get("/search/", {"q": words}).content.decode()


@pytest.mark.parametrize(("left", "says"), [(0, "is out of stock"), (1, "Only 1 copy is left of")])
def test_the_cart_names_the_book_that_has_too_few_copies(visitor, left, says):
    Book.objects.filter(pk=5).update(stock=left)
    page = visitor.post("/cart/", {"book": 5, "quantity": 2}).content.decode()
    check(page)
    assert says in page
    assert Book.objects.get(pk=5).title in page
