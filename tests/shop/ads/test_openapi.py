"""The description says what the server really answers."""

import pytest

from tests.shop.ads import json_schema
from tests.shop.ads.test_contracts import CONTRACT, changed

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
def document(ads):
    return ads.get("/ads/openapi.json").json


@pytest.mark.parametrize(("method", "path", "query", "body", "status"), CALLS)
def test_answers_are_as_described(ads, token, document, method, path, query, body, status):
    answer = ads.call(method.upper(), path.replace("{id}", "3") + query, body, token=token)
    assert answer.status == status, answer.body
    described = document["paths"][path][method]["responses"][str(status)]
    schema = described["content"]["application/json"]["schema"]
    assert json_schema.faults(answer.json, schema, document) == []


@pytest.mark.parametrize("path", ["/ads/contracts/{id}", "/ads/contracts/{id}/report"])
def test_refusals_are_as_described(ads, token, document, path):
    responses = document["paths"][path]["get"]["responses"]
    for status, given in (("401", "wrong"), ("404", token)):
        answer = ads.call("GET", path.replace("{id}", "999999999"), token=given)
        assert str(answer.status) == status
        schema = responses[status]["content"]["application/json"]["schema"]
        assert json_schema.faults(answer.json, schema, document) == []


def test_what_may_be_sent_is_described(document):
    [schema] = [
        content["schema"]
        for content in document["paths"]["/ads/contracts"]["post"]["requestBody"][
            "content"
        ].values()
    ]
    assert json_schema.faults(CONTRACT, schema, document) == []
    assert json_schema.faults(changed("banner.size", "1x1"), schema, document) != []
    assert json_schema.faults(changed("colour", "red"), schema, document) != []


def test_the_query_of_a_selection_is_described(document):
    parameters = document["paths"]["/ads/select"]["get"]["parameters"]
    assert [(one["name"], one["required"]) for one in parameters] == [
        ("size", True),
        ("concepts", True),
        ("slots", True),
        ("priority", False),
        ("publisher", False),
        ("page", False),
    ]


def test_every_address_is_described(document):
    from pathlib import Path

    source = (Path(__file__).parents[3] / "shop/ads/urls.py").read_text(encoding="utf-8")
    for path in document["paths"]:
        assert f'"{path.removeprefix("/").replace("{id}", "<int:id>")}"' in source
    assert source.count("views.") - 2 == len(document["paths"]) + 1  # and openapi.json itself
