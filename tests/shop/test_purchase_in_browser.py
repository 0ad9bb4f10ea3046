"""A purchase from Br-1 to Tr-4 by clicking, in headless Chromium, on a desk and on a phone."""

import re

import pytest

from common import seeded_shop

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]


@pytest.mark.django_db
def test_there_is_something_to_buy():
    # pytest-django makes a database only if a selected test is marked for it. The ones below
    # cannot be: Playwright's loop runs in their thread, which Django refuses to be called from.
    from shop.models import Book

    assert Book.objects.filter(stock__gt=0).exists()


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_buy_a_book(running_shop, chromium, width):
    running_shop.controller.call("PUT", "/settings", {"profile": "paper", "time_scale": 20})
    running_shop.controller.call("POST", "/reset")
    context = chromium.new_context(viewport={"width": width, "height": 850})
    page = context.new_page()
    complaints = []
    # Chromium mentions the refused password (422) in its console; a person is told on the page.
    page.on("console", lambda said: "422" in said.text or complaints.append(said.text))
    page.on(
        "requestfailed",
        # A cover that is still on its way when the customer clicks on is given up.
        lambda request: request.failure == "net::ERR_ABORTED" or complaints.append(request.url),
    )
    page.goto(running_shop.url)

    def fits():
        page.wait_for_load_state()
        assert page.evaluate("document.body.parentElement.scrollWidth") <= width, page.url

    fits()
    page.get_by_text("All shelves").click()
    page.get_by_role("navigation", name="Shelves").get_by_role("link", name="Travel").click()
    fits()
    page.get_by_role("searchbox").fill("river")
    page.get_by_role("button", name="Search").click()
    fits()
    page.locator(".hits li").filter(has_not_text="Out of stock").first.get_by_role("link").click()
    title = page.get_by_role("heading", level=1).inner_text()
    fits()
    page.get_by_role("button", name="Buy", exact=True).click()
    page.get_by_label("User name").fill("customer-0042")
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Sign in and go on").click()
    assert "do not match" in page.get_by_role("alert").inner_text()
    page.get_by_label("User name").fill("customer-0042")
    page.get_by_label("Password").fill(seeded_shop.PASSWORD)
    page.get_by_role("button", name="Sign in and go on").click()
    fits()
    page.get_by_label("Street and number").fill("3 Lantern Street")
    page.get_by_label("Postal code").fill("1010")
    page.get_by_label("Town or city").fill("Vienna")
    page.get_by_label("Country").select_option("Austria")
    page.get_by_role("button", name="Go on to payment").click()
    fits()
    expires, code = (page.get_by_label(label).bounding_box() for label in ("Expires", "Security"))
    assert expires["y"] == code["y"]
    page.get_by_label("Name on the card").fill("Ada Penrose")
    page.get_by_label("Card number").fill("4242 4242 4242 4242")
    page.get_by_label("Expires").fill("12/39")
    page.get_by_label("Security code").fill("123")
    page.get_by_role("button", name="Place the order").click()
    assert re.fullmatch(r"DB-\d{6}", page.locator("#order-number").inner_text())
    assert title in page.get_by_role("complementary").inner_text()
    shelves, orders = (button.bounding_box() for button in page.locator(".actions .button").all())
    gaps = (
        orders["x"] - shelves["x"] - shelves["width"],
        orders["y"] - shelves["y"] - shelves["height"],
    )
    assert max(gaps) >= 8, "the buttons touch"
    fits()
    assert complaints == []
    context.close()
    assert running_shop.controller.call("POST", "/reset") == {"orders_removed": 1}
