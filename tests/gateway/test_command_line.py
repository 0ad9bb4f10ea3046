"""`python -m gateway`: signals, exit codes, error messages."""

import http.client
import signal
import socket
import subprocess
import threading

import pytest

from tests.fake_shop.server import HoldingServer
from tests.gateway.process import (
    REPOSITORY,
    command,
    environment,
    gateway,
    health,
    requests_in,
)
from tests.gateway.real_sockets import PATIENCE_S
from tests.waiting import until


def run(*options, **variables):
    return subprocess.run(
        command(*options),
        cwd=REPOSITORY,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_ends_well(number):
    statuses = []

    def customer(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", "/")
        response = connection.getresponse()
        statuses.append((response.status, len(response.read()), response.getheader("Connection")))
        connection.close()

    with (
        HoldingServer(b"x" * 1024).serving() as shop,
        gateway(shop.port, "--workers", "2", "--drain-s", "60") as (process, port, admin_port),
    ):
        idle = socket.create_connection(("127.0.0.1", port))
        customers = [threading.Thread(target=customer, args=(port,)) for _ in range(6)]
        for thread in customers:
            thread.start()
        until(lambda: requests_in(admin_port) == (2, 4))
        process.send_signal(number)
        until(lambda: health(admin_port) == 503)
        shop.let_go()
        for thread in customers:
            thread.join()
        assert statuses == [(200, 1024, "close")] * 6
        assert idle.recv(1) == b""
        idle.close()
        assert process.wait(PATIENCE_S) == 0
        assert "draining: 6 requests" in process.stderr.read()


def test_the_drain_has_a_deadline():
    with (
        HoldingServer(b"").serving() as shop,
        gateway(shop.port, "--drain-s", "0.3") as (process, port, admin_port),
        socket.create_connection(("127.0.0.1", port)) as customer,
    ):
        customer.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        until(lambda: requests_in(admin_port) == (1, 0))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        assert "requests that did not end within 0.3 s" in process.stderr.read()


def test_every_setting_is_an_option():
    text = run("--help").stdout
    for option in ("--policy-parameters", "--half-close", "--drain-s"):
        assert option in text
    assert "DOORBUSTER_SHOP_WORKERS" in " ".join(text.split())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--workers", "none"], "--workers=none: must be a whole number"),
        (["--policy", "best"], "Error: policy: 'best' is unknown; allowed: sq, "),
        (["--pages-file", "/nowhere"], "/nowhere: cannot be read"),
    ],
)
def test_a_complaint_is_one_line_and_no_traceback(options, complaint):
    done = run(*options)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert complaint in done.stderr
    assert len(done.stderr.splitlines()) == 1
