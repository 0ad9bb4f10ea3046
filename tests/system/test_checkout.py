"""Customers leave Tr-4 at the gateway: never half an order, never two."""

import os

import pytest

from tests.gateway import process
from tests.shop.sentry.test_checkout import (
    Leaver,
    cancelling,
    check_orders_after_leaving_tr_4,
    is_idle,
    port_of,
)

pytestmark = pytest.mark.slow


KILLS = int(os.environ.get("DOORBUSTER_TEST_KILLS", "30"))  # the acceptance run: 500


@pytest.mark.timeout(600)
def test_leaving_tr_4_at_random_moments(committed, running_shop):
    """Before the commit point or behind it, heard of by way of the gateway."""
    with (
        cancelling(running_shop) as shop,
        process.gateway(port_of(shop), "--abandonment=cancel", "--idle-s=3600") as (
            _,
            port,
            admin_port,
        ),
        Leaver(f"http://127.0.0.1:{port}") as leaver,
    ):

        def is_done():
            now = process.snapshot(admin_port)
            in_gateway = now["in_service"] + now["waiting"] + now["connections"]["customers"]
            return in_gateway == 1 and is_idle(shop)  # the leaver's own connection

        leaver.signs_in()
        check_orders_after_leaving_tr_4(leaver, is_done, KILLS)
        counts = process.snapshot(admin_port)["counts"]["Tr-4"]
    assert counts["arrived"] == counts["dispatched"]
    assert counts["cancelled"] + counts["orphaned"] > 0
    assert counts["failed"] == 0
