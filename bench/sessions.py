"""The cost of a page with sessions in Redis's memory, in its append-only file, or in PostgreSQL.

`make bench-sessions` starts four shops, a separate PostgreSQL and two Redis servers, with the
appliance's configuration. One customer at a time walks through the eight pages of a shop. Each
round has a walk in every shop, in random order. Pages have no page work (profile `real`). The table
also has the CPU time of the processes of PostgreSQL and Redis.
"""

import os
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median

import click
import psutil
from rich.table import Table

from bench import harness
from bench.harness import interleaved, listeners, running
from bench.servers import database, redis, temporary_folder
from common import ports, seeded_shop
from common.one_line import OneLineCommand
from common.page_types import NAMES as PAGES

IN_MEMORY, IN_FILE = "memory", "file"
STORES = {
    "Redis, memory only": ("django.contrib.sessions.backends.cache", IN_MEMORY),
    "Redis, append-only file": ("django.contrib.sessions.backends.cache", IN_FILE),
    "Django's cached_db": ("django.contrib.sessions.backends.cached_db", IN_MEMORY),
    "shop.sessions": ("shop.sessions", IN_MEMORY),
}
"""The ways to keep sessions: Django's session engine, and the kind of the Redis server."""


@dataclass
class Cost:
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
    with ExitStack() as stack:
        cluster = stack.enter_context(database(folder))
        settings = {
            **cluster.variables(),
            "DOORBUSTER_STATE_DIR": str(folder),
            "DOORBUSTER_ADS_PORT": "",
        }
        redis_of = {}
        for kind, port in zip((IN_MEMORY, IN_FILE), redis_ports, strict=True):
            options = ["--appendonly", "yes", "--appendfsync", "everysec"]
            stack.enter_context(redis(folder / kind, port, *(options if kind == IN_FILE else ())))
            redis_of[kind] = port
        seed(settings)
        shops = []
        for name, (engine, kind) in STORES.items():
            port, controller_port = ports.free(2)
            shop = Shop(name, port, controller_port)
            stack.enter_context(
                running(
                    [sys.executable, "-m", "shop", "serve"],
                    lambda shop=shop: ports.accepts(shop.controller_port),  # type: ignore[misc]
                    environment={
                        **settings,
                        "DJANGO_SETTINGS_MODULE": "bench.sessions_settings",
                        "BENCH_SESSION_ENGINE": engine,
                        "DOORBUSTER_REDIS_PORT": str(redis_of[kind]),
                        "DOORBUSTER_SHOP_PORT": str(port),
                        "DOORBUSTER_SHOP_CONTROLLER_PORT": str(controller_port),
                    },
                )
            )
            shops.append(shop)
        yield shops, [psutil.Process(pid) for pid in listeners({cluster.port, *redis_ports})]


def seed(settings: dict[str, str]) -> None:
    import django

    os.environ |= {**settings, "DJANGO_SETTINGS_MODULE": "shop.settings"}
    django.setup()
    from django.db import connection

    from shop.stock import preparation

    preparation.prepare(lambda _: None)
    connection.close()


def walk(shop: Shop, rng: random.Random, servers: list[psutil.Process], counts: bool) -> None:
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
        username = seeded_shop.ACCOUNT_NAME % rng.randint(1, seeded_shop.ACCOUNTS)
        for visit in walker.walk("crime", "winter", book, username):
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
    """Return a table of each page's median times in ms: the CPU time of the shop's thread, and its
    wait for PostgreSQL and Redis.
    """
    drawn = harness.table("Cost of sessions, ms", "page", *(shop.name for shop in shops))
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
    help="The number of measured walks through each shop.",
)
def main(rounds: int) -> None:
    """Compare the costs of ways to keep sessions, in ms per page."""
    busy = os.getloadavg()[0]
    with temporary_folder() as folder, served(folder) as (shops, servers):
        rng = random.Random(1)
        for number, shop in interleaved(shops, rounds, rng, warm_up=5):
            walk(shop, rng, servers, counts=number > 0)
        harness.console_of(130).print(table(shops))
    click.echo(
        "Medians in ms: CPU time of the page's thread + its wait for PostgreSQL and Redis. The "
        f"last row is the mean CPU time per walk, in ms. {rounds} walks each, "
        f"{len(os.sched_getaffinity(0))} CPUs, load average {busy:.1f} before, "
        f"{datetime.now(UTC):%Y-%m-%d}."
    )
