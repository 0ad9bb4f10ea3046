"""Traces through the whole way: customer, gateway, shop, PostgreSQL."""

import pytest

from common.telemetry.trace_context import TraceContext
from tests.fake_shop.collector import collector
from tests.fake_shop.in_loop import Shop
from tests.gateway.real_sockets import bed, run
from tests.shop.conftest import shop_served
from tests.waiting import until

pytestmark = pytest.mark.slow


@pytest.fixture
def receiver():
    with collector() as server:
        yield server


@pytest.fixture
def traced(receiver, settings):
    """Let the shop of this test export to the receiver."""
    settings.TELEMETRY_ENDPOINT = receiver.url
    settings.MIDDLEWARE = [
        settings.MIDDLEWARE[0],
        "shop.server.tracing.TraceMiddleware",
        *settings.MIDDLEWARE[1:],
    ]


def test_a_page_and_its_queries_join_the_trace_of_the_gateway(traced, receiver, visitor):
    gateway = TraceContext.of_request(b"request-1")
    visitor.get("/books/20/", headers={"traceparent": gateway.traceparent()})
    until(lambda: any(span.name == "page" for span in receiver.spans))
    page = receiver.named("page")
    assert page.trace == f"{gateway.trace_id:032x}"
    assert page.parent == f"{gateway.span_id:016x}"
    assert page.attributes["http.response.status_code"] == 200
    assert page.attributes["doorbuster.page"] == "Br-4"
    assert "<" in page.attributes["http.route"]
    queries = [span for span in receiver.spans if span.name == "query"]
    assert queries
    for query in queries:
        assert (query.trace, query.parent) == (page.trace, page.id)
        assert page.start_ns <= query.start_ns <= query.end_ns <= page.end_ns
        assert "SELECT" in query.attributes["db.query.text"]


@pytest.mark.parametrize("fields", [{}, {"traceparent": f"00-{'1' * 32}-{'2' * 16}-00"}])
def test_a_request_that_is_not_sampled_has_no_spans(traced, receiver, visitor, fields):
    sampled = TraceContext.of_request(b"request-1")
    visitor.get("/books/20/", headers=fields)
    visitor.get("/nowhere/", headers={"traceparent": sampled.traceparent()})
    until(lambda: receiver.spans)
    assert {span.trace for span in receiver.spans} == {f"{sampled.trace_id:032x}"}
    assert receiver.named("page").attributes["http.response.status_code"] == 404


def test_one_request_is_one_trace_of_gateway_and_shop(
    committed, receiver, shop_environment, tmp_path
):
    """The shop is a process of its own, as in the appliance."""
    variables = {
        "DOORBUSTER_TELEMETRY_ENDPOINT": receiver.url,
        "DOORBUSTER_TELEMETRY_SAMPLED_RATIO": "1",
    }

    async def scene(port):
        settings = {"telemetry_endpoint": receiver.url, "telemetry_sampled_ratio": 1.0}
        async with bed(Shop(), **settings, shop_port=port) as b:
            assert b" 200 OK" in await b.get("/browse/crime/")

    with shop_served(shop_environment | variables, tmp_path / "shop.log") as shop:
        run(scene(int(shop.url.rpartition(":")[2])))
    request, served, page = (receiver.named(name) for name in ("GET Br-2", "shop", "page"))
    queries = [span for span in receiver.spans if span.name == "query"]
    assert (served.parent, page.parent) == (request.id, served.id)
    assert {query.parent for query in queries} == {page.id}
    assert {span.trace for span in receiver.spans} == {request.trace}
    assert {span.service for span in receiver.spans} == {"doorbuster-gateway", "doorbuster-shop"}
    assert served.start_ns <= page.start_ns <= page.end_ns <= served.end_ns
