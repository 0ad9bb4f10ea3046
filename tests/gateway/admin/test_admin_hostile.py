"""The admin API's answers to hostile bodies: one line each, and soon."""

import time

import pytest

from gateway.admin import calls
from gateway.admin.models import ALL_SHADOWS, ONE_POLICY, SMALL
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed
from tests.hostile_json import BODIES, NUMBERS, objects_with

CALLS = {
    (call.method, call.path): (*call.body.model_fields, "other")
    for call in calls.CALLS
    if call.body is not None
}
NESTED = {
    "a parameter": b'{"name":"sq","parameters":{"capacity":%b}}',
    "an admission's parameter": (
        b'{"name":"sq","admission":{"name":"sbac-responsive","parameters":{"threshold":%b}}}'
    ),
    "a long file name": b'{"name":"own/' + b"x" * 20_000 + b'.py","parameters":{"a":%b}}',
}
SOON_S = 2.0


@pytest.mark.parametrize(("method", "path"), CALLS, ids=" ".join)
async def test_a_hostile_body_gets_one_line(method, path):
    """No fault counts as the gateway's, and nothing changes."""
    bodies = {**BODIES, **objects_with(*CALLS[method, path])}
    if "parameters" in CALLS[method, path]:
        for what, text in NESTED.items():
            for number, value in NUMBERS.items():
                bodies[f"{what}: {number}"] = text % value

    async with bed(Shop(), workers=1) as b:
        _, before = await b.admin("GET", "/snapshot")
        for what, body in bodies.items():
            began_s = time.thread_time()
            status, answer = await b.admin(method, path, body)
            assert time.thread_time() - began_s < SOON_S, what
            assert status in (400, 413), (what, answer)
            assert set(answer) == {"error", "field", "allowed"}, what
            assert answer["error"].isprintable(), (what, answer)
            assert len(answer["error"]) < 1_000, (what, answer)
        _, after = await b.admin("GET", "/snapshot")
        assert after["policy"]["name"] == before["policy"]["name"]
        assert after["shadows"] == []


async def test_a_body_is_as_large_as_its_call_needs():
    """Only policies' files make a large body, and only shadows several of them."""
    assert SMALL.size_bytes < ONE_POLICY.size_bytes < ALL_SHADOWS.size_bytes
    large = b'{"abandonment":"cancel"' + b" " * SMALL.size_bytes + b"}"

    async with bed(Shop(), workers=1) as b:
        status, answer = await b.admin("PUT", "/settings", large)
        assert status == 413
        assert answer["error"].endswith("allowed: at most 32,768 bytes")
        many = b'{"policies":[' + b"[]," * 2_000_000 + b"[]]}"
        began_s = time.thread_time()
        status, answer = await b.admin("PUT", "/shadows", many)
        assert time.thread_time() - began_s < SOON_S
        assert (status, answer["error"]) == (
            400,
            "the body has more than 8,000 values; allowed: at most 8,000 values",
        )
