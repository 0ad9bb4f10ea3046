"""Publishers' pages: impressions and clicks in their slots are counted with the contracts."""

from urllib.parse import urlencode

import pytest

from common.page_types import PAGE_TYPES
from shop.ads.delivery.ledger import Count
from shop.page_types import PUBLISHER, SIZES
from tests.shop.ads.inventories import banner, ledger
from tests.waiting import until

QUERY = {"slots": 1, "size": "728x90", "concepts": "crime", "publisher": PUBLISHER, "page": "Br-4"}


def select(ads, **changes):
    query = {name: value for name, value in (QUERY | changes).items() if value is not None}
    return ads.get("/ads/select?" + urlencode(query))


def report(ads, token, name=PUBLISHER):
    publishers = ads.call("GET", "/ads/publishers", token=token).json["publishers"]
    [id] = [one["id"] for one in publishers if one["name"] == name]
    return ads.call("GET", f"/ads/publishers/{id}/report", token=token).json


def of_page(ads, token, name):
    [page] = [one for one in report(ads, token)["pages"] if one["name"] == name]
    return page


def test_a_page_is_counted_with_its_banners():
    one = ledger([banner(1), banner(2)])
    one.take(0, page=7)
    one.take(1, page=7)
    one.take(1)
    one.click(1, page=7)
    one.click(0)
    first = one.report()
    assert first.pages == {7: Count(2, 1)}
    one.take(0, page=8)
    assert one.report() is first  # until it is acknowledged
    one.learn(first, [], {1: 1, 2: 2})
    assert one.report().pages == {8: Count(1, 0)}


def test_what_is_refused_is_not_counted_on_the_page_either():
    one = ledger([banner(1, contracted=1)])
    assert [one.take(0, page=7) for _ in range(3)] == [True, False, False]
    assert one.report().pages == {7: Count(1, 0)}


def test_the_shops_eight_pages_are_a_publishers(ads, token):
    pages = report(ads, token)["pages"]
    assert [page["name"] for page in pages] == [page.name for page in PAGE_TYPES]
    assert {page["slots"] for page in pages} == {len(SIZES)}


def test_impressions_and_clicks_of_a_page_are_reported(ads, token):
    before, other = of_page(ads, token, "Br-4"), of_page(ads, token, "Tr-4")
    shown = [banner for _ in range(12) for banner in select(ads).json["banners"]]
    assert len(shown) == 12
    for one in shown[:3]:
        assert ads.get(one["click"]).status == 302

    def counted():
        now = of_page(ads, token, "Br-4")
        return (now["impressions"], now["clicks"]) == (
            before["impressions"] + 12,
            before["clicks"] + 3,
        )

    until(counted, "the page's report")
    now = of_page(ads, token, "Br-4")
    assert now["click_rate"] == pytest.approx(now["clicks"] / now["impressions"])
    assert of_page(ads, token, "Tr-4") == other
    whole = report(ads, token)
    assert whole["impressions"] == sum(page["impressions"] for page in whole["pages"])
    assert whole["clicks"] == sum(page["clicks"] for page in whole["pages"])


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("page", {"page": None}),
        ("publisher", {"publisher": None}),
        ("page", {"page": "Br-9"}),
        ("page", {"publisher": "Nobody"}),
        ("slots", {"slots": 2}),
        ("slots", {"size": "160x600"}),
    ],
)
def test_a_page_or_slots_that_are_not_there(ads, token, field, changes):
    before = report(ads, token)["impressions"]
    answer = select(ads, **changes)
    assert answer.status == 400
    assert answer.json["field"] == field
    assert answer.json["allowed"]
    assert report(ads, token)["impressions"] == before


@pytest.mark.parametrize("page", ["0", "999999999", "9" * 40, "x", "", "1'--"])
def test_a_click_with_a_page_that_is_none_is_the_contracts_alone(ads, page):
    def clicks():
        return ads.rows("SELECT clicks FROM ads_delivery WHERE banner_id = 11")[0][0]

    def on_pages():
        return ads.rows("SELECT coalesce(sum(clicks), 0) FROM ads_placement")[0][0]

    before, before_on_pages = clicks(), on_pages()
    assert ads.get("/ads/click/11?" + urlencode({"page": page})).status == 302
    until(lambda: clicks() == before + 1, "the click in the database")
    assert on_pages() == before_on_pages


def test_a_page_that_is_deleted_stops_nothing(ads):
    def wrong(page):
        """What is wrong with more slots than any page has; nothing is counted."""
        return select(ads, page=page, slots=8).json["field"]

    [(page,)] = ads.rows(
        "INSERT INTO ads_page (publisher_id, name, views_per_day) "
        "SELECT id, 'Gone', 0 FROM ads_publisher WHERE name = %s RETURNING id",
        PUBLISHER,
    )
    ads.rows("INSERT INTO ads_slot (page_id, name, size) VALUES (%s, 'one', '728x90')", page)
    # Reports of what is shown elsewhere make the server look at the pages again.
    until(lambda: select(ads) and wrong("Gone") == "slots", "the page")
    ads.rows("DELETE FROM ads_slot WHERE page_id = %s", page)
    ads.rows("DELETE FROM ads_page WHERE id = %s", page)
    select(ads, page="Gone")  # which the server most likely still knows
    until(lambda: select(ads) and wrong("Gone") == "page", "no page")
    assert ads.get("/ads/health").json["reports_failed"] == 0


@pytest.mark.parametrize("id", [0, 10**9, 10**30])
def test_a_publisher_that_is_not_there(ads, token, id):
    assert ads.call("GET", f"/ads/publishers/{id}/report", token=token).status == 404
