"""The CPU time of the console and the gateway while people have *Watch* open."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from bench.console.watched_runs import watching
from bench.flood_sessions import PATHS
from bench.growth.axes import Axis, Costs, Measure
from bench.growth.real_gateway import SPARE_FILES, WORKERS, allow_files, gateway, until
from bench.harness import listeners, running
from bench.servers import database, temporary_folder
from common import answering, cpus, hosts, ports

SECONDS, QUICK_SECONDS = 6.0, 2.0
"""The real seconds of one measurement."""
SETTLE_S = 2.0
WAITING = 80
"""The number of requests that wait in the gateway. Every sample lists them."""


@contextmanager
def queue_of(port: int, waiting: int) -> Iterator[None]:
    """Keep `waiting` requests in the queue of the gateway on this port; the gateway's shop must not
    answer.
    """
    with ExitStack() as customers:
        for number in range(waiting + WORKERS):
            customer = customers.enter_context(socket.create_connection((hosts.LOOPBACK, port)))
            path = PATHS[number % len(PATHS)]
            customer.sendall(f"GET {path} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
        yield


@contextmanager
def console(folder: Path, gateway_admin_port: int) -> Iterator[tuple[int, int]]:
    """Run a console that samples this gateway; yield its port and process."""
    [port] = ports.free(1)
    with database(folder) as cluster:
        environment = {
            **cluster.variables(),
            "DOORBUSTER_STATE_DIR": str(folder / "state"),
            "DOORBUSTER_RESULTS_DIR": str(folder / "results"),
            "DOORBUSTER_LAB_PORT": str(port),
            "DOORBUSTER_LAB_ACCOUNTS": "0",
            "DOORBUSTER_GATEWAY_ADMIN_PORT": str(gateway_admin_port),
            "DOORBUSTER_FIRST_LOOK": "0",
        }
        command = [sys.executable, "-m", "lab.console"]
        prepared = subprocess.run(
            [*command, "prepare"], env=os.environ | environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if prepared.returncode:
            raise click.ClickException(f"the console was not prepared: {prepared.stderr[-500:]}")
        with running(
            [*command, "serve"],
            lambda: answering.get_refusal(hosts.LOOPBACK, port, "/health") is None,
            environment=environment,
        ):
            yield port, listeners({port}).pop()


@contextmanager
def viewers(is_quick: bool) -> Iterator[Measure]:
    """Measure the ms of CPU per second with a given number of viewers."""
    with ExitStack() as stack:
        folder = stack.enter_context(temporary_folder())
        shop = stack.enter_context(socket.create_server((hosts.LOOPBACK, 0), backlog=64))
        subject = stack.enter_context(
            gateway(shop.getsockname()[1], policy="8q-lifo-pri", response_s=3600)
        )
        stack.enter_context(queue_of(subject.port, WAITING))
        until(
            lambda: subject.snapshot()["waiting"] == WAITING,
            f"the gateway's queue did not reach {WAITING} requests",
        )
        port, process = stack.enter_context(console(folder, subject.admin_port))

        def measure(size: int) -> Costs:
            allow_files(2 * size + SPARE_FILES)
            seconds = QUICK_SECONDS if is_quick else SECONDS
            programs = {"console": process, "gateway": subject.process}
            with watching(hosts.LOOPBACK, port, size):
                time.sleep(SETTLE_S)
                before_s = {name: cpus.cpu_s(one) for name, one in programs.items()}
                time.sleep(seconds)
                return {
                    name: 1000 * (cpus.cpu_s(one) - before_s[name]) / seconds
                    for name, one in programs.items()
                }

        yield measure


AXES = (
    Axis(
        "viewers",
        "The console and the viewers of Watch",
        "viewers of Watch",
        "CPU ms per second",
        6,
        viewers,
        (14.0, 8.5, 9.5),
    ),
)
