"""The admin API's description is valid, and every call of a real gateway answers as described."""

import asyncio

import pytest

from gateway.admin import calls
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed, closed_port
from tests.openapi import Described

CALLS = [
    ("GET", "/health", None, 200),
    ("GET", "/snapshot", None, 200),
    ("GET", "/waiting", None, 200),
    ("GET", "/waiting?limit=0", None, 400),
    ("GET", "/policies", None, 200),
    ("GET", "/admissions", None, 200),
    ("GET", "/connection-admissions", None, 200),
    ("PUT", "/policy", {"name": "8q-lifo-pri", "admission": {"name": "sbac"}}, 200),
    ("PUT", "/policy", {"name": "sq", "parameters": {"capacity": 0}}, 400),
    ("PUT", "/policy", {"name": "own/none.py"}, 400),
    ("GET", "/snapshot", None, 200),
    ("PUT", "/shadows", {"policies": [{"name": "sq", "parameters": {"capacity": 1}}]}, 200),
    ("PUT", "/shadows", {}, 400),
    ("POST", "/shadows", {"name": "always-lifo"}, 200),
    ("POST", "/shadows", {"name": "always-lifo"}, 409),
    ("GET", "/shadows", None, 200),
    ("DELETE", "/shadows/always-lifo", None, 200),
    ("DELETE", "/shadows/always-lifo", None, 404),
    ("PUT", "/connection-admission", {"name": "eac", "parameters": {"processors": 1}}, 200),
    ("PUT", "/connection-admission", {"name": "sq"}, 400),
    ("PUT", "/settings", {"time_scale": 20}, 200),
    ("PUT", "/settings", {"time_scale": 0}, 400),
    ("PUT", "/settings", b" " * 100_000, 413),
    ("GET", "/metrics", None, 200),
]


@pytest.fixture(scope="module")
def described():
    async def document():
        async with bed() as b:
            return await b.admin("GET", "/openapi.json")

    status, found = asyncio.run(document())
    assert status == 200
    return Described(found)


def described_path(path):
    path = path.partition("?")[0]
    return "/shadows/{name}" if path.startswith("/shadows/") else path


def test_every_call_is_described_and_tried(described):
    tried = {(method, described_path(path)) for method, path, _, _ in CALLS}
    assert described.calls == tried | {("GET", "/openapi.json")}


async def test_answers_are_as_described(described):
    """The gateway has served, lost, and judged requests by then."""

    async with bed(Shop(is_held=True), workers=1, ads_port=closed_port("ads")) as b:
        await b.admin("PUT", "/shadows", {"policies": [{"name": "sq"}, {"name": "8q-af"}]})
        requests = [asyncio.ensure_future(b.get(one)) for one in ("/", "/books/1/", "/")]
        await b.until(lambda: b.gateway.parts.pages.requests == 3)
        for method, path, body, status in CALLS:
            if path == "/metrics":
                b.shop.let_go(3)
                await asyncio.gather(*requests)
            given, answer = await b.admin(method, path, body)
            assert given == status, (method, path, answer)
            if path == "/metrics":
                assert "doorbuster_gateway_" in answer
            else:
                faults = described.faults(method, described_path(path), status, answer)
                assert faults == [], (method, path)
        for path in ("/snapshot", "/shadows"):
            _, answer = await b.admin("GET", path)
            assert described.faults("GET", path, 200, answer) == []


async def test_disagreements_are_as_described(described):
    async with bed(workers=1) as b:
        one_place = {"name": "sq", "parameters": {"capacity": 1}}
        await b.admin("PUT", "/shadows", {"policies": [one_place]})
        await asyncio.gather(*(b.get("/") for _ in range(9)))
        _, answer = await b.admin("GET", "/shadows")
    assert answer["shadows"][0]["disagreements"]
    assert described.faults("GET", "/shadows", 200, answer) == []


async def test_a_caller_without_the_token_is_answered_as_described(described):
    given = {"inner_token": "a-token-of-the-tests-alone", "inner_token_required": True}
    async with bed(**given) as b:
        for method, path in sorted(described.calls):
            if path not in ("/health", "/metrics"):
                status, answer = await b.admin(method, path)
                assert (status, described.faults(method, path, 401, answer)) == (401, [])


@pytest.mark.parametrize(
    ("path", "body", "fits"),
    [
        ("/policy", {"name": "sq", "parameters": {"capacity": 3}}, True),
        ("/policy", {"name": "sq", "size": 3}, False),
        ("/policy", {"parameters": {}}, False),
        ("/settings", {"time_scale": 10, "abandonment": "cancel"}, True),
        ("/settings", {"time_scale": 0}, False),
        ("/settings", {"abandonment": None}, False),
        ("/shadows", {"policies": [{"name": "sq"}] * 8}, True),
        ("/shadows", {"policies": [{"name": "sq"}] * 9}, False),
        ("/connection-admission", {"name": "eac"}, True),
    ],
)
def test_the_bodies_that_fit_are_described(described, path, body, fits):
    assert (described.faults_of_body("PUT", path, body) == []) is fits


def test_every_call_has_a_summary():
    """The page shows it."""
    assert all(call.summary for call in calls.CALLS)
