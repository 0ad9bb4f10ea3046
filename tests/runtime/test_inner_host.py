"""`make up` with an inner host, on which only ports for the lab's machines listen."""

import psutil
import pytest

from common import answering
from runtime.native.supervision import left_over
from tests.runtime.conftest import Appliance

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

INNER = "127.0.0.2"


def test_up_on_an_inner_host_of_its_own(appliance: Appliance) -> None:
    appliance.variables["DOORBUSTER_INNER_HOST"] = INNER
    code, printed = appliance.run("up")
    assert code == 0, printed
    settings = appliance.settings
    assert f"http://{INNER}:{settings.gateway_admin_port}/snapshot" in printed
    inner = {
        settings.gateway_admin_port,
        settings.shop_port,
        settings.shop_controller_port,
        settings.ads_port,
    }
    listening = {
        connection.laddr.port: connection.laddr.ip
        for process in left_over(appliance.state)
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert {port for port in inner if listening[port] != INNER} == set()
    for port in (settings.gateway_port, settings.postgres_port, settings.redis_port):
        assert listening[port] == "127.0.0.1"
    for path in ("/", "/ads/health"):
        assert answering.get_refusal("127.0.0.1", settings.gateway_port, path) is None


def test_a_part_that_is_nowhere_is_said_before_anything_starts(appliance: Appliance) -> None:
    appliance.run("down")
    code, printed = appliance.run("up", DOORBUSTER_SHOP_HOST="shop.invalid", COLUMNS="200")
    assert code == 1
    assert "DOORBUSTER_SHOP_HOST=shop.invalid: no such host" in printed
    assert left_over(appliance.state) == []
    code, printed = appliance.run("up", DOORBUSTER_INNER_HOST="192.0.2.1", COLUMNS="200")
    assert code == 1
    assert "DOORBUSTER_INNER_HOST: 192.0.2.1 is not an address of this machine" in printed
