"""Back, reload, double click, cart, orders and misspelt searches, by clicking in Chromium."""

import re

import pytest

from common import seeded_shop

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.mark.django_db
def test_there_is_something_to_buy():
    # As in test_purchase_in_browser: the tests below need the database, but cannot be marked.
    from shop.models import Book

    assert Book.objects.filter(stock__gt=0).exists()


@pytest.fixture(params=[True, False], ids=["scripts", "no scripts"])
def page(request, running_shop, chromium):
    """Yield a page of a new browser on the shop's home page; orders are put back afterwards."""
    running_shop.controller.call("PUT", "/settings", {"profile": "real"})
    running_shop.controller.call("POST", "/reset")
    context = chromium.new_context(base_url=running_shop.url, java_script_enabled=request.param)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto("/")
    yield page
    context.close()
    running_shop.controller.call("POST", "/reset")


def heading(page):
    return page.get_by_role("heading", level=1).inner_text()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def sign_in(page, password=seeded_shop.PASSWORD):
    page.get_by_label("User name").fill("customer-0042")
    page.get_by_label("Password").fill(password)
    press(page, "Sign in and go on")


def deliver(page, postal_code="1010"):
    page.get_by_label("Street and number").fill("3 Lantern Street")
    page.get_by_label("Postal code").fill(postal_code)
    page.get_by_label("Town or city").fill("Vienna")
    page.get_by_label("Country").select_option("Austria")
    press(page, "Go on to payment")


def pay(page, card="4242 4242 4242 4242", clicks=1):
    page.get_by_label("Name on the card").fill("Ada Penrose")
    page.get_by_label("Card number").fill(card)
    page.get_by_label("Expires").fill("12/39")
    page.get_by_label("Security code").fill("123")
    page.get_by_role("button", name="Place the order", exact=True).click(click_count=clicks)


def orders(page):
    page.goto("/account/")
    return page.get_by_role("table").get_by_role("link").all_inner_texts()


def test_every_step_can_be_reloaded_and_gone_back_to(page):
    page.goto("/books/5/")
    steps = ("Who is buying?", "Where do we deliver?", "How do you pay?", "Thank you")
    sends = (
        lambda: press(page, "Buy"),
        *(lambda do=do: do(page) for do in (sign_in, deliver, pay)),
    )
    for step, send in zip(steps, sends, strict=True):
        send()
        assert heading(page) == step
        page.reload()
        assert heading(page) == step
    number = page.locator("#order-number").inner_text()
    page.go_back()
    assert "already placed" in page.locator(".note").inner_text()
    page.go_back()
    assert heading(page) == "Where do we deliver?"
    assert page.get_by_label("Town or city").input_value() in ("", "Vienna")
    page.go_back()
    assert page.get_by_text("You are signed in as").is_visible()
    for _ in range(3):
        page.go_forward()
    assert page.locator("#order-number").inner_text() == number
    assert orders(page) == [number]


def test_back_leads_over_forms_that_were_refused(page):
    page.goto("/books/5/")
    press(page, "Buy")
    sign_in(page)
    deliver(page, postal_code="?")
    assert "not a postal code" in page.get_by_role("alert").inner_text()
    deliver(page)
    pay(page, card="1234")
    pay(page)
    seen = [heading(page)]
    for _ in range(5):
        page.go_back()
        seen.append(heading(page))
    assert seen == [
        "Thank you",
        "How do you pay?",
        "Thank you",
        "Where do we deliver?",
        "Where do we deliver?",
        "Who is buying?",
    ]


def test_a_double_click_places_one_order(page):
    page.goto("/books/5/")
    press(page, "Buy")
    sign_in(page)
    deliver(page)
    pay(page, clicks=2)
    number = page.locator("#order-number").inner_text()
    page.reload()
    assert page.locator("#order-number").inner_text() == number
    assert orders(page) == [number]


def test_a_title_is_removed_from_the_cart(page):
    titles = []
    for book in (5, 6):
        page.goto(f"/books/{book}/")
        titles.append(heading(page))
        press(page, "Add to cart")
    page.set_viewport_size({"width": 390, "height": 844})
    for button in page.get_by_role("button", name=re.compile("^Remove")).all():
        box = button.bounding_box()
        assert box["x"] + box["width"] <= 390, "the button is cut off"
    press(page, f"Remove {titles[0]}")
    assert page.locator(".cart strong").first.inner_text() == titles[1]
    page.reload()
    press(page, f"Remove {titles[1]}")
    assert page.get_by_text("Your cart is empty").is_visible()
