"""The gateway's CPU time per call of its admin API, with a queue of requests."""

import socket
from contextlib import ExitStack

import click

from bench.harness import listeners
from common import cpus
from common.waiting import wait_until
from lab.engines.live.appliance import Appliance
from runtime.settings import load

CALLS, ROUNDS = 1_000, 5
CUSTOMERS = 120
SLOW = 0.1
"""The paper seconds per real second. The number is so small that the queue hardly changes."""


def main() -> None:
    """Print the CPU time per call in µs, the minimum of several rounds."""
    lab = load()
    appliance = Appliance(lab)
    scale = appliance.shop.call("GET", "/status")["settings"]["time_scale"]
    appliance.shop.call("PUT", "/settings", {"time_scale": SLOW, "profile": "paper"})
    try:
        with ExitStack() as customers:
            for _ in range(CUSTOMERS):
                address = ("127.0.0.1", lab.gateway_port)
                customer = customers.enter_context(socket.create_connection(address))
                customer.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
            waiting = wait_until(
                lambda: appliance.gateway.call("GET", "/waiting")["waiting"], within_s=10
            )
            assert waiting, "no request waits"
            gateway = next(iter(listeners({lab.gateway_admin_port})), None)
            if gateway is None:
                raise click.ClickException("there is no gateway; fix: make up")
            click.echo(f"{waiting} requests wait; µs of the gateway's CPU per call:")
            for path in ("/health", "/snapshot", "/waiting?limit=300"):
                click.echo(f"{path:20} {_cost_us(appliance, gateway, path):6.0f}")
    finally:
        appliance.shop.call("PUT", "/settings", {"time_scale": scale})


def _cost_us(appliance: Appliance, gateway: int, path: str) -> float:
    rounds_s = []
    for _ in range(ROUNDS):
        before_s = cpus.cpu_s(gateway)
        for _ in range(CALLS):
            appliance.gateway.call("GET", path)
        rounds_s.append(cpus.cpu_s(gateway) - before_s)
    return min(rounds_s) / CALLS * 1e6
