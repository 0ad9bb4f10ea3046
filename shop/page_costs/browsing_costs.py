"""The CPU time that each of the four browsing pages costs with the present catalogue.

This process builds the pages one after another. PostgreSQL's CPU time is the CPU time of the
PostgreSQL process that serves the connection.
"""

import random
import time
from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

import click
from django.db import OperationalError, connection
from django.test import Client
from rich.console import Console
from rich.table import Table

from common import cpus
from common.seeded_shop import SEARCH_WORDS
from shop import sentry
from shop.catalogue.shelves import SHELVES
from shop.page_costs import page_work
from shop.stock import shelf_filling


class Cost(NamedTuple):
    """The CPU time of one page, in real seconds."""

    database_s: float
    """The CPU time of PostgreSQL."""
    shop_s: float
    """The CPU time of this thread, which builds the page."""


def run(rounds: int) -> None:
    """Measure the costs and print the table; raise the errors of `measured`."""
    table = Table(title=f"PostgreSQL's CPU time per page in a shop of {_books():,} books, ms")
    for head in ("page", "requests", "mean", "least", "most"):
        table.add_column(head, justify="left" if head == "page" else "right")
    for page, costs in measured(rounds):
        costs_s = [cost.database_s for cost in costs]
        figures = (fmean(costs_s), min(costs_s), max(costs_s))
        table.add_row(page, str(len(costs_s)), *(f"{value * 1000:.1f}" for value in figures))
    Console().print(table)


def measured(rounds: int) -> Iterator[tuple[str, list[Cost]]]:
    """Yield each page with the costs of its requests. The first request, a warm-up, does not count.

    Raises ClickException if the database is unavailable or on another machine, or a page fails.
    """
    sentry.set_mode(sentry.MODES[0])
    page_work.work.configure(page_work.PageWorkSettings(profile="real"))
    books = _books()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            process = cursor.fetchone()[0]
        cpus.cpu_s(process)
    except OSError as error:
        raise click.ClickException(
            "PostgreSQL must run on this machine, because the command reads the CPU time of its "
            "process"
        ) from error
    visitor = Client()
    for page, paths in _pages(random.Random(1), books):
        _cost(visitor, paths[0], process)
        yield page, [_cost(visitor, path, process) for path in paths * rounds]


def _books() -> int:
    try:
        return shelf_filling.size()
    except OperationalError as error:
        raise click.ClickException(str(error).strip().splitlines()[0]) from error


def _pages(rng: random.Random, books: int) -> Iterator[tuple[str, list[str]]]:
    yield "Br-1 home", ["/"] * 20
    yield "Br-2 browse", [f"/browse/{shelf.slug}/" for shelf in SHELVES]
    yield "Br-3 search", [f"/search/?q={word}" for word in SEARCH_WORDS]
    yield "Br-4 details", [f"/books/{rng.randint(1, books)}/" for _ in range(20)]


def _cost(visitor: Client, path: str, process: int) -> Cost:
    database_s, shop_s = cpus.cpu_s(process), time.thread_time()
    response = visitor.get(path)
    if response.status_code != 200:
        raise click.ClickException(f"{path} answered {response.status_code} instead of 200")
    return Cost(cpus.cpu_s(process) - database_s, time.thread_time() - shop_s)
