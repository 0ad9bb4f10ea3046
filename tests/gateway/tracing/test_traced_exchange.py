"""Traces of requests, from a gateway on real sockets to a real collector."""

import asyncio
import logging

import pytest

from common.settings import SettingsError
from common.telemetry.trace_context import is_sampled, trace_id_of
from gateway import settings as gateway_settings
from tests.fake_shop.collector import collector
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed, closed_port, run


def served(scene, shop=None, **settings):
    """Return what arrived at a collector after `scene` of a gateway that traces every request."""

    async def whole(receiver):
        traced = {"telemetry_endpoint": receiver.url, "telemetry_sampled_ratio": 1.0}
        async with bed(shop, **traced | settings) as b:
            await scene(b)

    with collector() as receiver:
        run(whole(receiver))
    return receiver


def test_a_trace_has_the_request_its_wait_and_its_service():
    async def scene(b):
        fields = b"X-Request-Id: abc\r\ntraceparent: 00-1-2-01\r\ntracestate: x=y\r\n"
        assert (await b.get("/books/7/?tab=1", fields)).startswith(b"HTTP/1.1 200 ")
        ((_, _, passed_on, _),) = b.shop.requests
        passed.update(passed_on)

    passed = {}
    found = served(scene, policy="always-fifo")
    request, wait, shop = (found.named(name) for name in ("GET Br-4", "queue", "shop"))
    assert len(found.spans) == 3
    assert {span.service for span in found.spans} == {"doorbuster-gateway"}
    assert {span.trace for span in found.spans} == {f"{trace_id_of(b'abc'):032x}"}
    assert (request.parent, wait.parent, shop.parent) == ("", request.id, request.id)
    assert passed["traceparent"] == f"00-{shop.trace}-{shop.id}-01"
    assert "tracestate" not in passed
    assert request.start_ns <= wait.start_ns <= wait.end_ns == shop.start_ns <= shop.end_ns
    assert request.end_ns == shop.end_ns
    assert request.attributes == {
        "http.request.method": "GET",
        "url.path": "/books/7/",
        "http.response.status_code": 200,
        "doorbuster.request_id": "abc",
        "doorbuster.fate": "answered",
        "doorbuster.page": "Br-4",
    }
    assert wait.attributes == {
        "doorbuster.queue": "policy",
        "doorbuster.policy": "always-fifo",
        "doorbuster.verdict": "dispatched",
    }
    assert shop.attributes == {"doorbuster.outcome": "answered"}


def test_a_customer_cannot_choose_what_is_traced():
    """Only some of the requests with an id that the sample would contain are traced."""
    sent = next(id for id in map(str, range(100)) if is_sampled(trace_id_of(id.encode()), 0.5))

    async def scene(b):
        for _ in range(40):
            field = b"X-Request-Id: %b\r\n" % sent.encode()
            assert field in await b.get("/", field)

    found = served(scene, telemetry_sampled_ratio=0.5)
    traced = [span for span in found.spans if span.name == "GET Br-1"]
    assert 0 < len(traced) < 40
    assert {span.trace for span in traced} == {f"{trace_id_of(sent.encode()):032x}"}


def test_a_dropped_request_has_the_reason_and_no_service():
    async def scene(b):
        waiting = [asyncio.create_task(b.get(fields=b"X-Request-Id: %d\r\n" % n)) for n in range(2)]
        await b.until(lambda: b.gateway.parts.pages.requests == 2)
        assert (await b.get("/browse/crime/")).startswith(b"HTTP/1.1 503 ")
        b.shop.let_go(2)
        await asyncio.gather(*waiting)

    found = served(scene, Shop(is_held=True), workers=1, policy_parameters={"capacity": 1})
    request = found.named("GET Br-2")
    assert request.attributes["http.response.status_code"] == 503
    assert request.attributes["doorbuster.fate"] == "dropped"
    (wait,) = [span for span in found.spans if span.parent == request.id]
    assert wait.attributes["doorbuster.verdict"] == "dropped"
    assert wait.attributes["doorbuster.reason"]


def test_a_request_past_the_policy_names_its_queue():
    async def scene(b):
        await b.get("/static/shop.css")

    found = served(scene)
    assert found.named("GET other").attributes["doorbuster.fate"] == "answered"
    assert found.named("queue").attributes == {
        "doorbuster.queue": "other",
        "doorbuster.verdict": "dispatched",
    }


def test_a_shop_that_breaks_off_is_a_failure():
    async def breaks_off(method, target, fields, body, writer):
        writer.close()

    async def scene(b):
        assert (await b.get("/")).startswith(b"HTTP/1.1 502 ")

    found = served(scene, Shop(breaks_off))
    assert found.named("shop").has_failed
    request = found.named("GET Br-1")
    assert request.has_failed
    assert request.attributes["http.response.status_code"] == 502


def test_a_customer_who_leaves_the_queue_is_in_the_trace():
    async def scene(b):
        first = asyncio.create_task(b.get("/"))
        await b.until(lambda: b.shop.busy)
        _, writer = await b.connect()
        writer.write(b"GET /browse/crime/ HTTP/1.1\r\nHost: shop\r\n\r\n")
        await b.until(lambda: b.gateway.parts.pages.requests == 2)
        writer.close()
        await b.until(lambda: b.gateway.parts.pages.requests == 1)
        b.shop.let_go(1)
        await first

    found = served(scene, Shop(is_held=True), workers=1, abandonment="drop-queued")
    assert found.named("GET Br-2").attributes["doorbuster.fate"] == "withdrawn"
    assert "http.response.status_code" not in found.named("GET Br-2").attributes


@pytest.mark.parametrize("settings", [{"telemetry_sampled_ratio": 0.0}, {"telemetry_endpoint": ""}])
def test_without_a_ratio_or_a_collector_nothing_is_traced(settings):
    async def scene(b):
        await b.get("/", b"traceparent: 00-1-2-01\r\n")
        ((_, _, fields, _),) = b.shop.requests
        assert "traceparent" not in fields
        assert (await b.admin("GET", "/snapshot"))[1]["traced_ratio"] == 0

    assert served(scene, **settings).requests == []


def test_a_collector_that_cannot_be_reached_costs_one_line_in_the_log(caplog):
    async def scene(b):
        for _ in range(600):  # more than one batch
            assert (await b.get("/")).startswith(b"HTTP/1.1 200 ")

    address = f"http://127.0.0.1:{closed_port('collector')}"
    with caplog.at_level(logging.INFO):
        served(scene, telemetry_endpoint=address)
    lines = [record.getMessage() for record in caplog.records if "collector" in record.getMessage()]
    assert lines == [f"the collector at {address} does not accept traces, which are lost"]
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("SAMPLED_RATIO", "1.5", "a number from 0 to 1"),
        ("SAMPLED_RATIO", "nan", "a number from 0 to 1"),
        ("SAMPLED_RATIO", "some", "a number from 0 to 1"),
        ("ENDPOINT", "collector:4318", "an address without a path"),
        ("ENDPOINT", "http://collector:4318/v1/traces", "an address without a path"),
        ("ENDPOINT", "http://collector:many", "an address without a path"),
    ],
)
def test_a_bad_setting_is_refused_by_its_name(variable, value, allowed):
    name = f"DOORBUSTER_TELEMETRY_{variable}"
    with pytest.raises(SettingsError, match=allowed) as refused:
        gateway_settings.read({name: value}, {})
    assert str(refused.value).startswith(f"{name}={value}: ")
