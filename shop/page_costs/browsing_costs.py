"""The PostgreSQL CPU time of the four browsing pages with the present catalogue.

This process builds the pages one after another. The result is the CPU time of the PostgreSQL
process for its connection.
"""

import random
import time
from collections.abc import Iterator
from statistics import fmean

import click
from django.db import OperationalError, connection
from django.test import Client
from rich.console import Console
from rich.table import Table

from shop import sentry
from shop.catalogue.shelves import SHELVES
from shop.page_costs import page_work
from shop.stock import shelf_filling

# The same search words as in the load generator, which a test checks.
SEARCH_WORDS = (
    "detective", "history", "letters", "night", "photograph", "secret", "spring", "stolen",
    "story", "street",
)  # fmt: skip
_CPU_CLOCK = 2  # CPUCLOCK_SCHED in Linux' clock ids of other processes


def run(rounds: int) -> None:
    """Measure the costs and print the table.

    Raises ClickException if the database is unavailable or on another machine.
    """
    sentry.set_mode(sentry.MODES[0])
    page_work.work.configure(page_work.PageWorkSettings(profile="real"))
    try:
        books = shelf_filling.size()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            clock = ~cursor.fetchone()[0] << 3 | _CPU_CLOCK
        time.clock_gettime(clock)
    except OperationalError as error:
        raise click.ClickException(str(error).strip().splitlines()[0]) from error
    except OSError as error:
        raise click.ClickException("PostgreSQL must run on this machine") from error
    visitor = Client()
    table = Table(title=f"PostgreSQL's CPU time per page in a shop of {books:,} books, ms")
    for head in ("page", "requested page", "mean", "least", "most"):
        table.add_column(head, justify="left" if head == "page" else "right")
    for page, paths in _pages(random.Random(1), books):
        _cost_s(visitor, paths[0], clock)
        costs_s = [_cost_s(visitor, path, clock) for path in paths * rounds]
        figures = (fmean(costs_s), min(costs_s), max(costs_s))
        table.add_row(page, str(len(costs_s)), *(f"{value * 1000:.1f}" for value in figures))
    Console().print(table)


def _pages(rng: random.Random, books: int) -> Iterator[tuple[str, list[str]]]:
    yield "Br-1 home", ["/"] * 20
    yield "Br-2 browse", [f"/browse/{shelf.slug}/" for shelf in SHELVES]
    yield "Br-3 search", [f"/search/?q={word}" for word in SEARCH_WORDS]
    yield "Br-4 select", [f"/books/{rng.randint(1, books)}/" for _ in range(20)]


def _cost_s(visitor: Client, path: str, clock: int) -> float:
    before_s = time.clock_gettime(clock)
    response = visitor.get(path)
    if response.status_code != 200:
        raise click.ClickException(f"{path} answered {response.status_code} instead of 200")
    return time.clock_gettime(clock) - before_s
