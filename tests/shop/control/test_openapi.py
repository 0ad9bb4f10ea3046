"""The controller's description is valid, and every call of a real one answers as described."""

import http.client
import json

import pytest

from common.shared_settings import BOOKS
from shop.control import controller
from tests.openapi import Described

pytestmark = pytest.mark.usefixtures("django_db_setup", "page_work_as_before")

CALLS = [
    ("GET", "/health", None, 200),
    ("GET", "/status", None, 200),
    ("PUT", "/settings", {"time_scale": 20, "seed": 3}, 200),
    ("PUT", "/settings", {"time_scale": 0}, 400),
    ("PUT", "/slow-database", {"for_s": 0}, 200),
    ("PUT", "/slow-database", {"for_s": 601}, 400),
    ("PUT", "/catalogue", {"books": BOOKS}, 200),
    ("PUT", "/catalogue", {"books": 1}, 400),
    ("POST", "/reset", None, 200),
    ("GET", "/orders", None, 200),
    ("GET", "/metrics", None, 200),
]


@pytest.fixture(scope="module")
def port():
    return controller.start(0)


@pytest.fixture
def call(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)

    def call(method, path, body=None):
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        return response.status, response.read().decode()

    yield call
    connection.close()


@pytest.fixture
def described(call):
    status, document = call("GET", "/openapi.json")
    assert status == 200
    return Described(json.loads(document))


def test_every_call_is_described_and_tried(described):
    tried = {(method, path) for method, path, _, _ in CALLS}
    assert described.calls == tried | {("GET", "/openapi.json")}


@pytest.mark.usefixtures("committed")
@pytest.mark.parametrize(("method", "path", "body", "status"), CALLS)
def test_answers_are_as_described(call, described, method, path, body, status):
    given, answer = call(method, path, body)
    assert given == status, answer
    if path == "/metrics":
        assert "doorbuster_shop_" in answer
    else:
        assert described.faults(method, path, status, json.loads(answer)) == []


def test_a_caller_without_the_token_is_answered_as_described(call, described, settings):
    settings.INNER_TOKEN_REQUIRED, settings.INNER_TOKEN = True, "a-token-of-the-tests-alone"
    for method, path in sorted(described.calls - {("GET", "/health"), ("GET", "/metrics")}):
        status, answer = call(method, path)
        assert (status, described.faults(method, path, 401, json.loads(answer))) == (401, [])


@pytest.mark.parametrize(
    ("path", "body", "fits"),
    [
        ("/settings", {"profile": "cpu", "ads": False, "sentry": "off"}, True),
        ("/settings", {"profile": "fast"}, False),
        ("/settings", {"seed": None}, False),
        ("/catalogue", {"books": 4000}, True),
        ("/catalogue", {}, False),
    ],
)
def test_the_bodies_that_fit_are_described(described, path, body, fits):
    assert (described.faults_of_body("PUT", path, body) == []) is fits
