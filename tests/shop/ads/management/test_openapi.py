"""The description matches the server's real answers."""

import pytest

from tests.openapi import Described
from tests.shop.ads.management.test_contracts import CONTRACT, changed

CALLS = [
    ("get", "/ads/select", "?slots=2&size=234x60&concepts=travel&priority=1", None, 200),
    ("get", "/ads/select", "?slots=99&size=234x60&concepts=travel", None, 400),
    ("get", "/ads/candidates", "?size=234x60&concepts=travel", None, 200),
    ("get", "/ads/candidates", "?size=1x1&concepts=travel", None, 400),
    ("get", "/ads/contracts", "?after=1990", None, 200),
    ("get", "/ads/contracts", "?after=no", None, 400),
    ("post", "/ads/contracts", "", CONTRACT, 201),
    ("post", "/ads/contracts", "", changed("impressions", -1), 400),
    ("post", "/ads/contracts", "", changed("impressions", 10**9), 409),
    ("get", "/ads/contracts/{id}", "", None, 200),
    ("get", "/ads/contracts/{id}/report", "", None, 200),
    ("post", "/ads/contracts/{id}/end", "", None, 200),
    ("get", "/ads/publishers", "", None, 200),
    ("get", "/ads/publishers/{id}/report", "", None, 200),
    ("get", "/ads/health", "", None, 200),
]


@pytest.fixture(scope="module")
def described(ads):
    return Described(ads.get("/ads/openapi.json").json)


@pytest.mark.parametrize(("method", "path", "query", "body", "status"), CALLS)
def test_answers_are_as_described(ads, token, described, method, path, query, body, status):
    answer = ads.call(method.upper(), path.replace("{id}", "3") + query, body, token=token)
    assert answer.status == status, answer.body
    assert described.faults(method, path, status, answer.json) == []


@pytest.mark.parametrize("path", ["/ads/contracts/{id}", "/ads/contracts/{id}/report"])
def test_refusals_are_as_described(ads, token, described, path):
    for status, given in ((401, "wrong"), (404, token)):
        answer = ads.call("GET", path.replace("{id}", "999999999"), token=given)
        assert answer.status == status
        assert described.faults("GET", path, status, answer.json) == []


def test_what_may_be_sent_is_described(described):
    path = "/ads/contracts"
    assert described.faults_of_body("POST", path, CONTRACT) == []
    assert described.faults_of_body("POST", path, changed("banner.size", "1x1")) != []
    assert described.faults_of_body("POST", path, changed("colour", "red")) != []


def test_the_query_of_a_selection_is_described(described):
    parameters = described.document["paths"]["/ads/select"]["get"]["parameters"]
    assert [(one["name"], one["required"]) for one in parameters] == [
        ("size", True),
        ("concepts", True),
        ("slots", True),
        ("priority", False),
        ("publisher", False),
        ("page", False),
    ]


PUBLIC = {  # their answers are no JSON: tests of their own
    ("GET", "/ads/banner/{id}.svg"),
    ("GET", "/ads/click/{id}"),
    ("GET", "/ads/landing/{id}"),
    ("GET", "/ads/metrics"),
}


def test_every_address_is_described_and_tried(described):
    assert described.calls == {(method.upper(), path) for method, path, *_ in CALLS} | PUBLIC


def test_a_query_of_contracts_is_checked(ads, token):
    for query, field in (("?after=-1", "after"), ("?after=1&after=2", "after"), ("?x=1", "x")):
        answer = ads.call("GET", "/ads/contracts" + query, token=token)
        assert (answer.status, answer.json["field"]) == (400, field)
        assert answer.json["allowed"]


def test_the_management_answers_head(ads, token):
    for path in ("/ads/contracts", "/ads/contracts/3", "/ads/publishers"):
        assert ads.call("HEAD", path, token=token).status == 200
