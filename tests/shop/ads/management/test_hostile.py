"""The ad server's answers to hostile bodies: one line each."""

from tests.hostile_json import BODIES, objects_with

FIELDS = ("advertiser", "impressions", "starts", "ends", "banner", "other")


def test_a_hostile_contract_gets_one_line(ads, token):
    """No body causes a fault of the server, and none becomes a contract."""
    before = ads.rows("SELECT count(*) FROM ads_contract")
    for what, body in {**BODIES, **objects_with(*FIELDS)}.items():
        headers = {"Content-Type": "application/json"}
        answer = ads.call("POST", "/ads/contracts", body, token=token, headers=headers)
        assert answer.status in (400, 422), (what, answer.body[:500])
        error = answer.json["error"]
        assert error.isprintable(), (what, error)
        assert len(error) < 2_000, (what, error)
    assert ads.rows("SELECT count(*) FROM ads_contract") == before
