"""The lookup of the ad server's name delays no page: a page has its deadline."""

import pytest

from common.waiting import retry
from shop.ad_server import AdServer, Failed
from tests.fake_shop.server import fake_server
from tests.shop.thread_limit import no_more_threads

PATIENCE_S = 240.0


@pytest.fixture
def port():
    with fake_server(lambda request: request.headers["host"].encode()) as server:
        yield server.port


def _answer(client):
    """Return the first answer."""
    return retry(lambda: client.get("/ads/select"), Failed, PATIENCE_S, every_s=0.01).decode()


def test_an_address_is_asked_at_once(port):
    client = AdServer(port, PATIENCE_S, "127.0.0.1")
    assert client.get("/ads/select").decode() == f"127.0.0.1:{port}"
    client.close()


def test_a_name_is_looked_up_beside_the_page(port):
    client = AdServer(port, PATIENCE_S, "localhost")
    with pytest.raises(Failed, match="no address of localhost is known yet"):
        client.get("/ads/select")
    assert _answer(client) == f"localhost:{port}"
    client.close()


def test_a_name_is_looked_up_after_a_lack_of_threads(port):
    """The next call starts the look-up that could not start."""
    client = AdServer(port, PATIENCE_S, "localhost")
    with no_more_threads(), pytest.raises(Failed, match="no address of localhost is known yet"):
        client.get("/ads/select")
    with pytest.raises(Failed, match="no address of localhost is known yet"):
        client.get("/ads/select")
    assert _answer(client) == f"localhost:{port}"
    client.close()


def test_a_name_that_leads_nowhere_is_a_page_without_a_banner():
    client = AdServer(1, PATIENCE_S, "ads.invalid")  # RFC 2606: no such name will ever be
    for _ in range(3):
        with pytest.raises(Failed, match=r"no address of ads\.invalid is known yet"):
            client.get("/ads/select")
