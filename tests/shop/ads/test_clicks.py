"""Clicks are counted and land on a page; pictures are SVGs."""

from xml.etree import ElementTree

import pytest

from tests.waiting import until

NO_BANNERS = ["0", "999999999", "9" * 18, "9" * 19, "9" * 40]


def test_a_click_is_counted_and_lands(ads):
    def clicks():
        return ads.rows("SELECT clicks FROM ads_delivery WHERE banner_id = 7")[0][0]

    before = clicks()
    answer = ads.get("/ads/click/7")
    assert answer.status == 302
    assert answer.headers["Cache-Control"] == "no-store"
    page = ads.get(answer.headers["Location"])
    assert page.status == 200
    [(headline, target)] = ads.rows("SELECT headline, target FROM ads_banner WHERE id = 7")
    assert "'" in headline or f"<h1>{headline}</h1>" in page.body.decode()
    assert f'href="{target}"' in page.body.decode()
    until(lambda: clicks() == before + 1, "the click in the database")


def test_a_picture_is_an_svg_of_the_banners_size(ads):
    answer = ads.get("/ads/banner/7.svg")
    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    root = ElementTree.fromstring(answer.body)
    [(size,)] = ads.rows("SELECT size FROM ads_banner WHERE id = 7")
    assert f"{root.get('width')}x{root.get('height')}" == size


@pytest.mark.parametrize("id", NO_BANNERS)
@pytest.mark.parametrize("path", ["/ads/banner/{}.svg", "/ads/click/{}", "/ads/landing/{}"])
def test_a_banner_that_is_not_there(ads, path, id):
    assert ads.get(path.format(id)).status == 404


@pytest.mark.parametrize("id", ["-1", "7%27", "1%20OR%201=1", "x", ""])
def test_an_id_that_is_none(ads, id):
    assert ads.get(f"/ads/click/{id}").status == 404
