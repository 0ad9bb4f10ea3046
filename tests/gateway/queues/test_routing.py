"""Other servers than the shop: the requests that they get, and their separate queues."""

import asyncio

import pytest

from gateway.queues.routing import Bypass, bypass_for
from tests.fake_shop.in_loop import Shop, serving
from tests.gateway.real_sockets import bed, closed_port

BYPASSES = [Bypass("ads", b"/ads/", "ad queue"), Bypass("other", b"", "other queue")]


@pytest.mark.parametrize(
    ("target", "queue"),
    [
        (b"/ads/select?slots=1", "ad queue"),
        (b"/ads/", "ad queue"),
        (b"/ads", "other queue"),
        (b"/adsense/", "other queue"),
        (b"/covers/1.svg", "other queue"),
        (b"*", "other queue"),
    ],
)
def test_the_first_prefix_that_fits_has_it(target, queue):
    assert bypass_for(target, BYPASSES).queue == queue


async def test_the_ad_server_gets_its_requests_and_holds_up_nobody_else():
    ads = Shop(is_held=True)
    async with serving(ads), bed(ads_port=ads.port, ads_limit=1) as b:
        waiting = [asyncio.ensure_future(b.get("/ads/select")) for _ in range(2)]
        await b.until(lambda: b.gateway.figures.waiting()["ads"] == 1)
        assert (await b.get("/covers/1.svg")).endswith(b"you asked for /covers/1.svg")
        assert (await b.get("/")).endswith(b"you asked for /")
        ads.let_go(2)
        for answer in waiting:
            assert (await answer).endswith(b"you asked for /ads/select")
        counts = b.gateway.figures.counts()
        assert (counts["ads"]["answered"], counts["other"]["answered"]) == (2, 1)
        assert counts["Br-1"]["answered"] == 1
        _, metrics = await b.admin("GET", "/metrics")
        assert 'doorbuster_gateway_arrivals_total{page="ads"} 2.0' in metrics


async def test_an_ad_server_that_is_away_is_a_502_and_the_shop_goes_on():
    async with bed(ads_port=closed_port("ads")) as b:
        assert (await b.get("/ads/select")).startswith(b"HTTP/1.1 502 ")
        assert (await b.get("/")).startswith(b"HTTP/1.1 200 ")


async def test_without_an_ad_server_its_requests_are_the_shops():
    async with bed() as b:
        assert (await b.get("/ads/select")).endswith(b"you asked for /ads/select")
        assert "ads" not in b.gateway.figures.counts()
