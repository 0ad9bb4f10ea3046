"""The cost of a page with sessions in Redis's memory, in its append-only file, or in PostgreSQL.

`make bench-sessions` starts four shops, a separate PostgreSQL and two Redis servers, with the
appliance's configuration. One customer at a time walks through the eight pages, alternately in each
shop. Pages have no page work (profile `real`). The CPU time of PostgreSQL and Redis is that of
their processes.
"""

import os
import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median

import click
import psutil
from rich.console import Console
from rich.table import Table

from bench.cancel import accepts, database, running
from common import pinned, ports
from common.one_line import OneLineCommand
from common.page_types import NAMES as PAGES
from runtime import accounts
from runtime.native import redis_server

IN_MEMORY, IN_FILE = "memory", "file"
STORES = {
    "Redis, memory only": ("django.contrib.sessions.backends.cache", IN_MEMORY),
    "Redis, append-only file": ("django.contrib.sessions.backends.cache", IN_FILE),
    "Django's cached_db": ("django.contrib.sessions.backends.cached_db", IN_MEMORY),
    "shop.sessions": ("shop.sessions", IN_MEMORY),
}
"""The ways to keep sessions: the name of Django's session engine, and its Redis server."""


@dataclass
class Cost:
    """The times of one page type in one shop, in ms."""

    cpu: list[float] = field(default_factory=list)
    waiting: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


@dataclass
class Shop:
    """One of the shops; `servers_ms` is the CPU time of PostgreSQL and Redis for each walk."""

    name: str
    port: int
    controller_port: int
    pages: dict[str, Cost] = field(default_factory=lambda: {page: Cost() for page in PAGES})
    servers_ms: list[float] = field(default_factory=list)


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU time of the process and its children, including children that have ended."""
    times = [process.cpu_times()]
    times += [child.cpu_times() for child in process.children(recursive=True)]
    own = sum(one.user + one.system for one in times)
    return float(own + times[0].children_user + times[0].children_system)


@contextmanager
def served(folder: Path) -> Iterator[tuple[list[Shop], list[psutil.Process]]]:
    """Run the shops; yield them and the processes of PostgreSQL and Redis."""
    redis_ports = ports.free(2)
    cpus = tuple(os.sched_getaffinity(0))
    with ExitStack() as stack:
        cluster = stack.enter_context(database(folder, cpus))
        os.environ |= {
            "DOORBUSTER_STATE_DIR": str(folder),
            "DOORBUSTER_POSTGRES_HOST": "127.0.0.1",
            "DOORBUSTER_POSTGRES_PORT": str(cluster.port),
            "DOORBUSTER_POSTGRES_USER": cluster.user,
            "DOORBUSTER_POSTGRES_PASSWORD": cluster.password,
            "DOORBUSTER_POSTGRES_DB": cluster.database,
            "DOORBUSTER_ADS_PORT": "",
        }
        redis_of = {}
        for kind, port in zip((IN_MEMORY, IN_FILE), redis_ports, strict=True):
            options = ["--appendonly", "yes", "--appendfsync", "everysec"]
            stack.enter_context(
                redis(folder / kind, port, cpus, *(options if kind == IN_FILE else ()))
            )
            redis_of[kind] = port
        seed()
        shops = []
        for name, (engine, kind) in STORES.items():
            port, controller_port = ports.free(2)
            shop = Shop(name, port, controller_port)
            stack.enter_context(
                running(
                    [sys.executable, "-m", "shop", "serve"],
                    lambda shop=shop: accepts(shop.controller_port),  # type: ignore[misc]
                    signal.SIGTERM,
                    DJANGO_SETTINGS_MODULE="bench.sessions_settings",
                    BENCH_SESSION_ENGINE=engine,
                    DOORBUSTER_REDIS_PORT=str(redis_of[kind]),
                    DOORBUSTER_SHOP_PORT=str(port),
                    DOORBUSTER_SHOP_CONTROLLER_PORT=str(controller_port),
                )
            )
            shops.append(shop)
        yield shops, [psutil.Process(pid) for pid in listeners({cluster.port, *redis_ports})]


@contextmanager
def redis(folder: Path, port: int, cpus: tuple[int, ...], *options: str) -> Iterator[None]:
    """Run a separate Redis on these CPUs."""
    run_as = accounts.for_database()
    store = redis_server.Store(
        installation=redis_server.find(None, folder, run_as),
        folder=folder,
        port=port,
        account=run_as,
    )
    redis_server.prepare(store)
    command = pinned.command(
        cpus,
        [*store.command(), *options],
        user=run_as.name if run_as else None,
        end_with_parent=signal.SIGTERM,
    )
    with running(command, lambda: redis_server.refusal(port) is None, signal.SIGTERM):
        yield


def listeners(wanted: set[int]) -> set[int]:
    """Return the processes that listen on these ports."""
    found = psutil.net_connections("inet")
    pids = {
        one.pid
        for one in found
        if one.laddr and one.status == psutil.CONN_LISTEN and one.laddr.port in wanted
    }
    return {pid for pid in pids if pid is not None}


def seed() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
    django.setup()
    from django.db import connection

    from shop.stock import preparation

    preparation.prepare(lambda _: None)
    connection.close()


def walk(shop: Shop, rng: random.Random, servers: list[psutil.Process], counts: bool) -> None:
    """Walk as one customer from Br-1 to Tr-4."""
    from shop.accounts import seeded_username
    from shop.page_costs.calibration import controller_at
    from shop.page_costs.walker import Walker

    with (
        controller_at(f"http://127.0.0.1:{shop.controller_port}") as controller,
        Walker(f"http://127.0.0.1:{shop.port}") as walker,
    ):
        controller.call("PUT", "/settings", {"profile": "real"})
        before_s = sum(map(cpu_s, servers))
        before = controller.call("GET", "/status")["pages"]
        book = 97 * rng.randrange(40) + rng.randrange(1, 97)
        for visit in walker.walk("crime", "winter", book, seeded_username(rng.randint(1, 1000))):
            after = controller.call("GET", "/status")["pages"]
            grown = {name: after[visit.page][name] - before[visit.page][name]
                     for name in ("own_cpu_s", "own_wait_s")}  # fmt: skip
            before = after
            if counts:
                cost = shop.pages[visit.page]
                cost.cpu.append(grown["own_cpu_s"] * 1000)
                cost.waiting.append(grown["own_wait_s"] * 1000)
                cost.took.append(visit.response_s * 1000)
        if counts:
            shop.servers_ms.append((sum(map(cpu_s, servers)) - before_s) * 1000)


def table(shops: list[Shop]) -> Table:
    """Return, for each page, the median CPU time of the shop's thread plus its wait for PostgreSQL
    and Redis.
    """
    drawn = Table("page", *(shop.name for shop in shops))
    for page in PAGES:
        costs = [shop.pages[page] for shop in shops]
        drawn.add_row(page, *(f"{median(c.cpu):.2f} + {median(c.waiting):.2f}" for c in costs))
    every = [list(shop.pages.values()) for shop in shops]
    cpu = [sum(median(cost.cpu) for cost in costs) for costs in every]
    waiting = [sum(median(cost.waiting) for cost in costs) for costs in every]
    took = [sum(median(cost.took) for cost in costs) for costs in every]
    drawn.add_row("all eight", *(f"{a:.1f} + {b:.1f}" for a, b in zip(cpu, waiting, strict=True)))
    drawn.add_row("the client waits", *(f"{ms:.1f}" for ms in took))
    drawn.add_row(
        "CPU of PostgreSQL and Redis", *(f"{fmean(shop.servers_ms):.1f}" for shop in shops)
    )
    return drawn


@click.command(cls=OneLineCommand)
@click.option(
    "--rounds",
    default=100,
    type=click.IntRange(1, 10_000),
    show_default=True,
    help="The number of walks through each shop.",
)
def main(rounds: int) -> None:
    """Compare the costs of ways to keep sessions, in ms per page."""
    busy = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="doorbuster-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        with served(folder) as (shops, servers):
            rng = random.Random(1)
            for round in range(-5, rounds):
                for shop in rng.sample(shops, len(shops)):
                    walk(shop, rng, servers, counts=round >= 0)
            console = Console()
            console.width = max(console.width, 130)
            console.print(table(shops))
    click.echo(
        "ms: CPU of the page's thread + its wait for PostgreSQL and Redis, medians; the last "
        f"line is a mean per walk. {rounds} walks each, {len(os.sched_getaffinity(0))} CPUs, "
        f"load average {busy:.1f} before, {datetime.now(UTC):%Y-%m-%d}."
    )
