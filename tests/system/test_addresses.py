"""Each part on an address of its own, as in containers and on hosts of its own.

Linux answers on all of 127.0.0.0/8, so each part listens there on one of its own and on no other.
"""

import http.client
import os
import socket
import sys
from contextlib import ExitStack
from urllib.parse import urlencode, urlsplit

import pytest

from common import answering, ports
from lab.engines.live.appliance import Appliance
from runtime.settings import load
from shop.page_costs.walker import Walker, form
from tests.conftest import serving
from tests.shop.ads.conftest import ads_environment, served
from tests.shop.conftest import shop_served
from tests.shop.sentry.project import PATIENCE_S
from tests.waiting import until

pytestmark = pytest.mark.slow


__all__ = ["ads_environment"]

SHOP, GATEWAY, ADS = "127.0.0.2", "127.0.0.3", "127.0.0.4"


@pytest.fixture(scope="module")
def lab(ads_environment, shop_environment, tmp_path_factory):
    """Settings of a lab whose shop, ad server and gateway are on three addresses, running."""
    folder = tmp_path_factory.mktemp("addresses")
    with ExitStack() as parts:
        ads = parts.enter_context(
            served(ads_environment | {"DOORBUSTER_INNER_HOST": ADS}, folder / "ads.log")
        )
        reached = {
            "DOORBUSTER_SHOP_HOST": SHOP,
            "DOORBUSTER_ADS_HOST": ADS,
            "DOORBUSTER_ADS_PORT": str(urlsplit(ads.url).port),
        }
        shop = parts.enter_context(
            shop_served(
                shop_environment | reached | {"DOORBUSTER_INNER_HOST": SHOP}, folder / "shop.log"
            )
        )
        port, admin_port = ports.free(2)
        reached |= {
            "DOORBUSTER_GATEWAY_HOST": GATEWAY,
            "DOORBUSTER_GATEWAY_PORT": str(port),
            "DOORBUSTER_GATEWAY_ADMIN_PORT": str(admin_port),
            "DOORBUSTER_SHOP_PORT": str(urlsplit(shop.url).port),
            "DOORBUSTER_SHOP_CONTROLLER_PORT": str(shop.controller_port),
        }
        listens = {"DOORBUSTER_HOST": GATEWAY, "DOORBUSTER_INNER_HOST": GATEWAY}
        with pytest.MonkeyPatch.context() as patch:  # for this process alone
            patch.delenv("DOORBUSTER_GATEWAY_TLS_PORT", raising=False)
            for name, text in (reached | listens).items():
                patch.setenv(name, text)
            parts.enter_context(
                serving(
                    [sys.executable, "-m", "gateway"],
                    lambda: answering.get_refusal(GATEWAY, admin_port, "/health"),
                    folder / "gateway.log",
                )
            )
        yield load(os.environ | reached)


@pytest.fixture
def appliance(lab):
    appliance = Appliance(lab)
    yield appliance
    appliance.close()


def test_the_lab_prepares_a_run_and_customers_buy(committed, lab, appliance):
    appliance.check_may_be_loaded()
    appliance.check()
    appliance.prepare(
        policy={"name": "8q-lifo-pri"},
        profile="paper",
        time_scale=10.0,
        utilisation_interval_s=1.0,
        seed=1,
    )
    assert appliance.gateway.call("GET", "/snapshot")["policy"]["name"] == "8q-lifo-pri"
    with Walker(appliance.url) as customer:
        visits = list(customer.walk("crime", "night", 21, "customer-0001"))
    assert 'id="order-number"' in visits[-1].html
    assert appliance.shop.call("GET", "/orders")["orders"] == 1
    assert appliance.shop.call("POST", "/reset") == {"orders_removed": 1}


def test_the_gateway_samples_the_shops_load(appliance):
    assert until(lambda: appliance.gateway.call("GET", "/snapshot")["load"]["samples"]) > 0


def test_pages_have_banners_and_the_gateway_has_their_pictures(lab, appliance):
    appliance.give_back()
    with Walker(appliance.url) as customer:
        # A page waits 50 ms for its banner, and on a busy machine goes without.
        picture = until(
            lambda: customer.request("/")[1].partition('src="/ads/banner/')[2].partition('"')[0]
        )
        assert customer.request(f"/ads/banner/{picture}")[0] == 200


def test_a_form_counts_under_any_name_the_gateway_is_reached_by(appliance):
    """As through a published port: what the customer calls the shop is not where it listens."""
    named = "class.example:18080"
    gateway = urlsplit(appliance.url)

    def ask(method, path, body=None, **headers):
        connection = http.client.HTTPConnection(gateway.hostname, gateway.port, timeout=PATIENCE_S)
        connection.request(method, path, body, {"Host": named, **headers})
        response = connection.getresponse()
        html = response.read().decode()
        connection.close()
        return response, html

    page, html = ask("GET", "/books/21/")
    cookies = [field.partition(";")[0] for field in page.headers.get_all("Set-Cookie")]
    more = {"Cookie": "; ".join(cookies), "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode(form(html, "/checkout/login/").fields)
    for origin, status in ((f"http://{named}", 200), (f"http://{gateway.netloc}", 403)):
        answer, _ = ask("POST", "/checkout/login/", body, Origin=origin, **more)
        assert (origin, answer.status) == (origin, status)


def test_nobody_listens_elsewhere(lab):
    for port in (
        lab.gateway_port, lab.gateway_admin_port, lab.shop_port, lab.shop_controller_port,
        lab.ads_port,
    ):  # fmt: skip
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
