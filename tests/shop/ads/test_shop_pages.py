"""The shop's pages with banners of a real ad server: shown, about the page's books, counted."""

import re

import pytest

from shop import banners
from shop.ad_server import AdServer
from shop.catalogue.shelves import SHELVES
from shop.page_types import PUBLISHER
from tests.shop.test_pages import steps
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.slow


BROWSING = ("/", "/browse/crime/", "/search/?q=winter", "/books/5/")


@pytest.fixture
def shop(ads, visitor, monkeypatch):
    """Yield a visitor of a shop that has this ad server, with a patience for a busy machine."""
    port = int(ads.url.rsplit(":", 1)[1])
    server = AdServer(port, PATIENCE_S)
    monkeypatch.setattr(banners, "banners", banners.Banners(server, banners.Patience()))
    yield visitor
    server.close()


def banner_of(html):
    [id] = re.findall(r'src="/ads/banner/(\d+)\.svg"', html)
    assert re.search(rf'href="/ads/click/{id}\?page=\d+"', html)
    return int(id)


def deliveries(ads):
    return dict(ads.rows("SELECT banner_id, delivered FROM ads_delivery"))


def placements(ads):
    shown = ads.rows(
        "SELECT ads_page.name, coalesce(impressions, 0) FROM ads_page "
        "JOIN ads_publisher ON ads_publisher.id = publisher_id "
        "LEFT JOIN ads_placement ON page_id = ads_page.id WHERE ads_publisher.name = %s",
        PUBLISHER,
    )
    return dict(shown)


def test_each_of_the_eight_pages_shows_a_banner_that_is_counted_and_can_be_clicked(ads, shop):
    before, on_pages = deliveries(ads), placements(ads)
    shown = [banner_of(shop.get(path).content.decode()) for path in BROWSING]
    shown += [banner_of(html) for _, _, html in steps(shop)]
    assert len(shown) == 8
    for id in shown:
        picture = ads.get(f"/ads/banner/{id}.svg")
        assert (picture.status, b'width="728" height="90"' in picture.body) == (200, True)
        landed = ads.get(ads.get(f"/ads/click/{id}").headers["Location"])
        assert landed.status == 200
    until(
        lambda: all(deliveries(ads)[id] >= before[id] + shown.count(id) for id in set(shown)),
        "the impressions in the database",
    )
    after = placements(ads)
    assert [name for name, count in on_pages.items() if after[name] <= count] == []
    assert len(after) == 8


def test_the_ad_server_knows_every_shelf_and_size(ads, shop):
    for size in banners.SIZES.values():
        for shelf in SHELVES:
            answer = ads.get(f"/ads/select?slots=1&size={size}&concepts={shelf.slug}")
            assert answer.status == 200, answer.body
            banners.read(answer.body)  # raises if the shop could not show it
