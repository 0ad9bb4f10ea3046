"""GET /ads/select: banners for a page, counted, or an error that names the field."""

from urllib.parse import urlencode

import pytest

from tests.shop.ads.conftest import reported
from tests.waiting import until

PAGE = {"slots": 3, "size": "468x60", "concepts": "crime,cooking", "priority": 1}


def select(ads, **changes):
    query = {name: value for name, value in (PAGE | changes).items() if value is not None}
    return ads.get("/ads/select?" + urlencode(query, doseq=True))


def delivered(ads):
    return int(ads.rows("SELECT sum(delivered) FROM ads_delivery")[0][0])


@pytest.mark.parametrize("priority", [0, 1, 2, None])
def test_banners_of_the_size_and_the_concepts_and_no_others(ads, priority):
    answer = select(ads, priority=priority)
    assert answer.status == 200
    assert answer.headers["Cache-Control"] == "no-store"
    placed = answer.json["banners"]
    ids = [banner["id"] for banner in placed]
    assert len(ids) == len(set(ids)) == 3
    for banner in placed:
        assert (banner["width"], banner["height"]) == (468, 60)
        assert ads.get(banner["image"]).status == 200
        [(size, headline, text, advertiser, words)] = ads.rows(
            "SELECT size, headline, text, name, array_agg(word) FROM ads_banner "
            "JOIN ads_advertiser ON ads_advertiser.id = advertiser_id "
            "JOIN ads_banner_concepts ON banner_id = ads_banner.id "
            "JOIN ads_concept ON ads_concept.id = concept_id "
            "WHERE ads_banner.id = %s GROUP BY 1, 2, 3, 4",
            banner["id"],
        )
        assert banner["alt"] == f"{headline}. {text} {advertiser}."
        assert size == "468x60"
        assert {"crime", "cooking"} & set(words)


def test_impressions_are_counted(ads):
    reported(ads)
    before = delivered(ads)
    shown = sum(len(select(ads).json["banners"]) for _ in range(20))
    assert shown == 60
    reported(ads)
    assert delivered(ads) == before + shown


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("slots", {"slots": None}),
        ("slots", {"slots": 0}),
        ("slots", {"slots": 9}),
        ("slots", {"slots": [1, 2]}),
        ("size", {"size": None}),
        ("size", {"size": "1x1"}),
        ("concepts", {"concepts": ""}),
        ("concepts", {"concepts": "crime,"}),
        ("concepts", {"concepts": "nothing-of-the-kind"}),
        ("concepts", {"concepts": "crime'; DROP TABLE ads_banner"}),
        ("concepts", {"concepts": ",".join(["crime"] * 17)}),
        ("concepts", {"concepts": "crime\x00"}),
        ("priority", {"priority": 7}),
        ("colour", {"colour": "red"}),
    ],
)
def test_bad_input_is_refused_by_name_and_counts_nothing(ads, field, changes):
    until(lambda: select(ads).status == 200, "a first answer")
    answer = select(ads, **changes)
    assert answer.status == 400
    assert answer.json["field"] == field
    assert answer.json["error"].startswith(field)
    assert answer.json["allowed"]
    assert "\n" not in answer.json["error"]


def test_an_address_that_is_none(ads):
    answer = ads.get("/ads/nothing")
    assert answer.status == 404
    assert "openapi.json" in answer.json["error"]


@pytest.mark.parametrize(("given", "status"), [(None, 401), ("wrong", 401), ("right", 200)])
def test_a_customer_who_comes_by_the_gateway_needs_the_token(ads, token, given, status):
    """A caller who may select may use up contracts and choose a priority."""
    behind = {"X-Forwarded-For": "203.0.113.9"}
    path = "/ads/select?" + urlencode(PAGE)
    answer = ads.call("GET", path, token=token if given == "right" else given, headers=behind)
    assert answer.status == status
    if status == 401:
        assert "token" in answer.json["error"]
        assert "banners" not in answer.json
    for public in ("/ads/banner/7.svg", "/ads/landing/7", "/ads/health"):
        assert ads.call("GET", public, headers=behind).status == 200
