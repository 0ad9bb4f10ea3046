"""The contract API: a contract is accepted whole, or refused by name with nothing stored."""

import copy
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from shop.ads import inventory
from shop.ads.selection import candidates
from tests.shop.ads.inventories import banner
from tests.waiting import until

NOW = datetime.now(UTC).replace(microsecond=0)


def time(days):
    return (NOW + timedelta(days=days)).isoformat()


CONTRACT = {
    "advertiser": "Harbour & Daughters",
    "impressions": 500,
    "starts": time(-1),
    "ends": time(1),
    "banner": {
        "size": "300x250",
        "headline": "Boats < bridges",
        "text": "Since 1908.",
        "target": "/browse/poetry/",
        "concepts": ["poetry"],
        "not_beside": {"banners": [1], "advertisers": ["Harbour & Daughters"]},
    },
}
TABLES = ("contract", "banner", "advertiser", "delivery", "banner_concepts")


def changed(path, value):
    body = copy.deepcopy(CONTRACT)
    *above, last = path.split(".")
    inside = body
    for name in above:
        inside = inside[name]
    if value is None:
        del inside[last]
    else:
        inside[last] = value
    return body


def stored(ads):
    return [ads.rows(f"SELECT count(*) FROM ads_{table}") for table in TABLES]


@pytest.fixture
def contract(ads, token):
    answer = ads.call("POST", "/ads/contracts", CONTRACT, token=token)
    assert answer.status == 201, answer.json
    yield answer.json
    ads.call("POST", f"/ads/contracts/{answer.json['id']}/end", token=token)


def test_a_contract_is_accepted_and_can_be_read_again(ads, token, contract):
    again = ads.call("GET", f"/ads/contracts/{contract['id']}", token=token)
    assert again.json == contract
    assert contract["advertiser"] == CONTRACT["advertiser"]
    assert datetime.fromisoformat(contract["ends"]) == NOW + timedelta(days=1)
    assert contract["banner"].pop("id") > 0
    assert contract["banner"] == CONTRACT["banner"]


def test_an_accepted_banner_is_placed_reported_and_ended(ads, token, contract):
    banner = contract["banner"]["id"]
    report = f"/ads/contracts/{contract['id']}/report"

    def placed():
        answer = ads.get("/ads/select?slots=8&size=300x250&concepts=poetry")
        return banner in [one["id"] for one in answer.json["banners"]]

    until(placed, "the new banner on a page")
    ads.get(f"/ads/click/{banner}")

    def counted():
        found = ads.call("GET", report, token=token).json
        return found["delivered"] >= 1 and found["clicks"] == 1

    until(counted, "the report")
    found = ads.call("GET", report, token=token).json
    begun = datetime.fromisoformat(contract["starts"])
    share = (datetime.now(UTC) - begun) / (datetime.fromisoformat(contract["ends"]) - begun)
    assert found["due"] == pytest.approx(500 * share, abs=5)
    assert found["pace"] == pytest.approx(found["delivered"] / found["due"])
    assert found["click_rate"] == pytest.approx(1 / found["delivered"])
    ended = ads.call("POST", f"/ads/contracts/{contract['id']}/end", token=token)
    assert datetime.fromisoformat(ended.json["ends"]) <= datetime.now(UTC)

    def counted_still():
        return ads.call("GET", report, token=token).json["delivered"]

    until(lambda: not any(placed() for _ in range(20)), "its banner gone")
    assert counted_still() >= found["delivered"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("advertiser", "two\nlines"),
        ("advertiser", None),
        ("impressions", 10**12),
        ("impressions", "5"),
        ("starts", "2026-01-01T00:00:00"),
        pytest.param("ends", time(-2), id="ends-before-it-starts"),
        pytest.param("ends", time(-0.5), id="ends-in-the-past"),
        ("starts", "0001-01-01T00:00:00+14:00"),
        ("banner", None),
        ("banner.size", "12x12"),
        ("banner.headline", "x" * 41),
        ("banner.text", "a\x00b"),
        ("banner.target", "//elsewhere.example/"),
        ("banner.target", "/\\elsewhere.example"),
        ("banner.concepts", ["poetry"] * 7),
        ("banner.concepts", ["no-such-word"]),
        ("banner.not_beside.banners", [10**9]),
        ("banner.not_beside.advertisers", ["Nobody Inc."]),
        ("banner.colour", "red"),
    ],
)
def test_bad_input_is_refused_by_name_and_nothing_is_stored(ads, token, field, value):
    before = stored(ads)
    answer = ads.call("POST", "/ads/contracts", changed(field, value), token=token)
    assert answer.status == 400, answer.json
    assert answer.json["field"] == field
    assert answer.json["allowed"]
    assert stored(ads) == before


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[" * 60_000, b"\xff"])
def test_a_body_that_is_no_object(ads, token, body):
    answer = ads.call("POST", "/ads/contracts", body, token=token)
    assert (answer.status, answer.json["field"]) == (400, "body")


def test_a_contract_beyond_the_capacity_is_refused_with_the_numbers(ads, token):
    before = stored(ads)
    body = changed("impressions", 10**9)
    answer = ads.call("POST", "/ads/contracts", body, token=token)
    assert answer.status == 409
    refusal = answer.json
    assert refusal["field"] == "impressions"
    assert refusal["wanted"] == 10**9
    assert refusal["left"] == refusal["forecast"] - refusal["held"] > 0
    assert refusal["held"] > 0
    assert f"{refusal['left']:,}" in refusal["error"]
    assert stored(ads) == before
    # A contract of what is left takes it away from the next one.
    body["impressions"] = refusal["left"] // 2
    body["starts"] = time(0)
    first = ads.call("POST", "/ads/contracts", body, token=token)
    assert first.status == 201
    body["impressions"] = 10**9
    second = ads.call("POST", "/ads/contracts", body, token=token).json
    assert second["held"] == pytest.approx(refusal["held"] + refusal["left"] // 2, rel=0.02)
    ads.call("POST", f"/ads/contracts/{first.json['id']}/end", token=token)
    third = ads.call("POST", "/ads/contracts", body, token=token).json
    assert third["held"] == pytest.approx(refusal["held"], rel=0.02)


def test_a_contract_that_ends_before_it_begins_gives_its_capacity_back(ads, token):
    window = {"starts": time(500), "ends": time(501)}
    body = changed("impressions", 10**9) | window
    body["impressions"] = ads.call("POST", "/ads/contracts", body, token=token).json["left"]
    first = ads.call("POST", "/ads/contracts", body, token=token)
    assert first.status == 201
    assert ads.call("POST", "/ads/contracts", body, token=token).status == 409
    ended = ads.call("POST", f"/ads/contracts/{first.json['id']}/end", token=token).json
    starts, ends = (datetime.fromisoformat(ended[edge]) for edge in ("starts", "ends"))
    assert starts < ends <= datetime.now(UTC)
    again = ads.call("POST", "/ads/contracts", body, token=token)
    assert again.status == 201, again.json
    ads.call("POST", f"/ads/contracts/{again.json['id']}/end", token=token)
    # As the search sees it: due at no time from now on, nor when it would have begun.
    held = inventory.of(
        [banner(1, contracted=10**6, starts_s=starts.timestamp(), ends_s=ends.timestamp())]
    )
    for later_s in (0.0, 1.0, timedelta(days=500, seconds=0.5).total_seconds()):
        wanted = candidates.Wanted(0, ends.timestamp() + later_s)
        assert not len(candidates.find(held, np.zeros(1), wanted, 0))


@pytest.mark.parametrize("given", [None, "", "wrong", "é"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/ads/contracts"),
        ("POST", "/ads/contracts"),
        ("GET", "/ads/contracts/1"),
        ("GET", "/ads/contracts/1/report"),
        ("POST", "/ads/contracts/1/end"),
    ],
)
def test_contracts_are_for_who_has_the_token(ads, method, path, given):
    before = ads.rows("SELECT ends FROM ads_contract WHERE id = 1")
    body = CONTRACT if method == "POST" else None
    assert ads.call(method, path, body, token=given).status == 401
    assert ads.rows("SELECT ends FROM ads_contract WHERE id = 1") == before


@pytest.mark.parametrize("id", [0, 10**9, 10**30])
@pytest.mark.parametrize(("method", "after"), [("GET", ""), ("GET", "/report"), ("POST", "/end")])
def test_a_contract_that_is_not_there(ads, token, id, method, after):
    assert ads.call(method, f"/ads/contracts/{id}{after}", token=token).status == 404


def test_the_list_goes_on_where_it_says(ads, token):
    path, seen = "/ads/contracts?after=1850", []
    while path is not None:
        page = ads.call("GET", path, token=token).json
        seen += [one["id"] for one in page["contracts"]]
        path = page["next"]
    assert len(seen) > 100
    assert seen == [
        id for (id,) in ads.rows("SELECT id FROM ads_contract WHERE id > 1850 ORDER BY id")
    ]
