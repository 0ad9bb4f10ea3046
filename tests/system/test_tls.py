"""A purchase by TLS: forms, redirects and sessions work as they do plainly."""

import ssl

import pytest

from common import ports
from runtime import certificates
from shop.page_costs.walker import Walker
from tests.gateway import process
from tests.shop.sentry.test_checkout import port_of

pytestmark = pytest.mark.slow


@pytest.fixture
def door(committed, running_shop, tmp_path):
    """(URL by TLS, whom to trust, admin port) of a gateway before the real shop."""
    running_shop.controller.call("POST", "/reset")
    files = certificates.make(tmp_path, names=("localhost", "127.0.0.1"))
    (tls_port,) = ports.free(1)
    options = (
        f"--tls-port={tls_port}",
        f"--tls-certificate={files.server}",
        f"--tls-key={files.key}",
    )
    with process.gateway(port_of(running_shop), *options) as (_, _, admin_port):
        trusting = ssl.create_default_context(cafile=files.authority)
        yield f"https://localhost:{tls_port}", trusting, admin_port
    running_shop.controller.call("POST", "/reset")


def test_a_purchase(door, running_shop):
    url, trusting, admin_port = door
    with Walker(url, trusting) as customer:
        visits = list(customer.walk("crime", "night", 21, "customer-0001"))
    assert [visit.page for visit in visits] == [
        "Br-1", "Br-2", "Br-3", "Br-4", "Tr-1", "Tr-2", "Tr-3", "Tr-4",
    ]  # fmt: skip
    assert 'id="order-number"' in visits[-1].html
    assert "http://" not in "".join(visit.html for visit in visits)
    assert running_shop.controller.call("GET", "/orders")["orders"] == 1
    snapshot = process.snapshot(admin_port)
    assert snapshot["counts"]["Tr-4"]["answered"] == 1
    assert (snapshot["connections"]["new"], snapshot["connections"]["resumed"]) == (1, 0)
