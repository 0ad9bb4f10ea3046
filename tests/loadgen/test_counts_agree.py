"""Customers and gateway count the same connections and the same replies."""

import json
import signal
import subprocess
from collections import Counter
from urllib.parse import urlsplit

import pytest

from common import ports
from loadgen.records.attempt_log import read_attempts
from loadgen.records.connection_log import read_connections
from runtime import certificates
from tests.fake_shop.pages import small_shop
from tests.gateway import process
from tests.loadgen import locust_process
from tests.waiting import until

TIME_SCALE = 4


@pytest.mark.long
def test_new_resumed_and_refused_connections_and_replies(tmp_path):
    """No customer leaves because this machine is slow, so both have seen every reply."""
    files = certificates.make(tmp_path / "certificates", names=("127.0.0.1",))
    port, tls_port, admin_port = ports.free(3)
    with small_shop() as shop:
        given = {
            "DOORBUSTER_SHOP_PORT": urlsplit(shop.url).port,
            "DOORBUSTER_GATEWAY_PORT": port,
            "DOORBUSTER_GATEWAY_ADMIN_PORT": admin_port,
            "DOORBUSTER_GATEWAY_TLS_PORT": tls_port,
            "DOORBUSTER_GATEWAY_TLS_CERTIFICATE": files.server,
            "DOORBUSTER_GATEWAY_TLS_KEY": files.key,
            "DOORBUSTER_GATEWAY_TLS_HANDSHAKE_S": 600,
            "DOORBUSTER_GATEWAY_TIME_SCALE": TIME_SCALE,
            "DOORBUSTER_GATEWAY_IDLE_S": 1,
            "DOORBUSTER_GATEWAY_CONNECTION_ADMISSION": "eac",
            "DOORBUSTER_GATEWAY_CONNECTION_ADMISSION_PARAMETERS": json.dumps(
                {"cto_s": 0.1, "ctn_s": 1.5, "processors": 1}
            ),
        }
        with subprocess.Popen(
            process.command(), cwd=process.REPOSITORY, env=process.environment(**given)
        ) as gateway:
            try:
                until(lambda: process.health(admin_port) == 200)
                customers = locust_process.run(
                    tmp_path,
                    *("--progress", "json", "--seed", "3", "--time-scale", str(TIME_SCALE)),
                    *("--partly-open", "--sessions-schedule", "0:1.5,40:0"),
                    *("--interactions-mean", "4", "--interactions-most", "8"),
                    *("--interaction-timeout-s", "20000"),
                    *("--host", f"https://127.0.0.1:{tls_port}"),
                    *("--authority", str(files.authority)),
                )
                seen = process.snapshot(admin_port)
            finally:
                gateway.send_signal(signal.SIGTERM)
    assert customers.status == 0, customers.errors
    opened = Counter(read_connections(tmp_path / "connections.parquet")["kind"].to_pylist())
    outcomes = Counter(read_attempts(tmp_path / "attempts.parquet")["outcome"].to_pylist())
    connections = seen["connections"]
    assert opened == Counter(
        new=connections["accepted_new"],
        resumed=connections["resumed"],
        refused=connections["refused"],
    )
    assert opened["resumed"]
    assert outcomes["refused"] == connections["refused"]
    assert connections["handshake_failed"] == 0
    answered = sum(fates["answered"] for fates in seen["counts"].values())
    assert outcomes["completed"] == answered
