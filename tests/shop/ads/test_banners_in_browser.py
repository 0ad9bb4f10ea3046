"""Banners as customers see them: gateway, shop and ad server as processes, headless Chromium."""

from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

import pytest

from shop.ads.artwork import wording
from shop.page_types import PUBLISHER
from tests.gateway import process
from tests.shop.ads.conftest import served
from tests.shop.conftest import shop_served
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PHONE = "Mozilla/5.0 (Linux; Android 16) AppleWebKit/537.36 Chrome/142.0 Mobile Safari/537.36"


@pytest.mark.django_db
def test_there_are_books():
    # As in test_purchase_in_browser: pytest-django makes its database for a test marked for it.
    from shop.models import Book

    assert Book.objects.exists()


@pytest.fixture(scope="module")
def in_order(ads_environment, shop_environment, tmp_path_factory):
    """Yield (address of the shop behind the gateway, ad server, function that stops the
    ad server)."""
    with appliance(ads_environment, shop_environment, tmp_path_factory.mktemp("in-order")) as ready:
        yield ready


@contextmanager
def appliance(ads_environment, shop_environment, folder):
    with ExitStack() as parts, ExitStack() as ad_server:
        ads = ad_server.enter_context(served(ads_environment, folder / "ads.log", flush_s=0.05))
        ads_port = str(urlsplit(ads.url).port)
        environment = shop_environment | {"DOORBUSTER_ADS_PORT": ads_port}
        shop = parts.enter_context(shop_served(environment, folder / "shop.log"))
        _, port, _ = parts.enter_context(
            process.gateway(urlsplit(shop.url).port, "--ads-port", ads_port)
        )
        yield f"http://127.0.0.1:{port}", ads, ad_server.close


@contextmanager
def tab(chromium, width, agent=None):
    """Yield a page and the browser's error messages on it."""
    context = chromium.new_context(viewport={"width": width, "height": 850}, user_agent=agent)
    page = context.new_page()
    complaints = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on(
        "response",
        lambda response: response.status < 400 or complaints.append(response.url),
    )
    try:
        yield page, complaints
    finally:
        context.close()


def with_banner(page, address):
    """Return the page's slot; reload, because on a busy machine the answer may be late."""

    def shown():
        page.goto(address)
        return page.locator("aside.slot img").count() == 1

    until(shown, "a page with a banner")
    return page.locator("aside.slot")


@pytest.mark.parametrize(
    ("width", "agent", "size"), [(1280, None, (728, 90)), (390, PHONE, (234, 60))]
)
def test_a_banner_is_seen_read_out_clicked_and_counted(in_order, chromium, width, agent, size):
    url, ads, _ = in_order

    def clicked():
        return dict(
            ads.rows(
                "SELECT ads_page.name, clicks FROM ads_placement "
                "JOIN ads_page ON ads_page.id = page_id "
                "JOIN ads_publisher ON ads_publisher.id = publisher_id "
                "WHERE ads_publisher.name = %s",
                PUBLISHER,
            )
        ).get("Br-1", 0)

    before = clicked()
    with tab(chromium, width, agent) as (page, complaints):
        slot = with_banner(page, url)
        assert slot.get_attribute("aria-label") == "Advertisement"
        assert slot.get_by_text("Advertisement", exact=True).is_visible()
        image = slot.get_by_role("img")
        id = int(image.get_attribute("src").removeprefix("/ads/banner/").removesuffix(".svg"))
        [(headline, text, advertiser, target)] = ads.rows(
            "SELECT headline, text, name, target FROM ads_banner "
            "JOIN ads_advertiser ON ads_advertiser.id = advertiser_id WHERE ads_banner.id = %s",
            id,
        )
        assert image.get_attribute("alt") == wording(headline, text, advertiser)
        assert slot.get_by_role("link", name=headline).count() == 1  # as a screen reader has it
        until(lambda: image.evaluate("image => image.naturalWidth") == size[0], "the picture")
        box = image.bounding_box()
        assert (box["width"], box["height"]) == size
        assert page.evaluate("document.body.parentElement.scrollWidth") <= width
        image.click()
        page.wait_for_url(f"**/ads/landing/{id}")
        assert page.get_by_role("heading", level=1).inner_text() == headline
        assert page.evaluate("document.body.parentElement.scrollWidth") <= width
        until(lambda: clicked() == before + 1, "the click")
        page.get_by_role("link", name="See the offer").click()
        page.wait_for_url(f"**{target}")
        assert complaints == []


def test_without_the_ad_server_a_page_is_whole_and_its_slot_empty(
    ads_environment, shop_environment, chromium, tmp_path
):
    with (
        appliance(ads_environment, shop_environment, tmp_path) as (url, _, stop_ad_server),
        tab(chromium, 1280) as (page, complaints),
    ):
        high = with_banner(page, url).bounding_box()["height"]
        stop_ad_server()
        for path in ("/", "/books/5/"):
            assert page.goto(url + path).status == 200
            slot = page.locator("aside.slot")
            assert slot.inner_text() == ""
            assert slot.get_attribute("aria-label") is None
            assert slot.bounding_box()["height"] == high  # nothing jumps
            assert page.locator("img").count() > 3
            whole = "[...document.images].every(image => image.complete && image.naturalWidth)"
            # The page's Content-Security-Policy forbids `wait_for_function` to ask twice.
            until(lambda: page.evaluate(whole), "every cover")  # noqa: B023
            assert page.get_by_role("contentinfo").is_visible()
        assert complaints == []
