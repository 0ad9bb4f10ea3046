"""The check that the pages of an idle shop cost as much as in the LIFO-Pri paper.

A page's execution time is the increase of the controller's counter during exactly one request. The
mean of n drawn times has a standard error of 29 % / √n. The verdict therefore uses the mean of
(measured − drawn time), which does not depend on the draws.
"""

import http.client
import math
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import fmean, stdev
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

from common import hosts, ports, processes, seeded_shop
from common.http_json import JsonClient, NoAnswerError, RefusedError
from common.page_types import PAGE_TYPES
from shop import settings
from shop.catalogue.books import OUT_OF_STOCK_EVERY
from shop.catalogue.shelves import SHELVES
from shop.page_costs import page_work
from shop.page_costs.walker import Walker, WalkFailed

TOLERANCE_RATIO = 0.05
_WARM_UP_WALKS = 3
_HOME_PAGES = 200
"""The number of pages from which Gunicorn's CPU time per request is measured."""
_START_PATIENCE_S = 30
_END_PATIENCE_S = 30
_CALL_TIMEOUT_S = 30.0
_WORDS = ("winter", "history", "garden", "letters", "murder", "a year", "queues", "sea")


class Request(NamedTuple):
    """The measured times of one page, in real seconds."""

    execution_s: float
    drawn_s: float
    cpu_s: float
    own_cpu_s: float
    own_wait_s: float
    queries: int
    response_s: float


class PageResult(NamedTuple):
    """The row of a page type in the table. `published_s` is in paper seconds, other times are in
    real seconds.
    """

    page: str
    published_s: float
    wanted_s: float
    measured_s: float
    half_width_s: float
    deviation_ratio: float
    own_cpu_s: float
    own_wait_s: float
    queries: float
    response_s: float

    @property
    def passes(self) -> bool:
        return abs(self.deviation_ratio) <= TOLERANCE_RATIO


def summarised(page: str, published_s: float, scale: float, seen: list[Request]) -> PageResult:
    """Return the table's row for a page type; `seen` has at least two requests."""
    wanted_s = published_s / scale
    executions = [request.execution_s for request in seen]
    return PageResult(
        page=page,
        published_s=published_s,
        wanted_s=wanted_s,
        measured_s=fmean(executions),
        half_width_s=1.96 * stdev(executions) / math.sqrt(len(executions)),
        deviation_ratio=fmean(r.execution_s - r.drawn_s for r in seen) / wanted_s,
        own_cpu_s=fmean(r.own_cpu_s for r in seen),
        own_wait_s=fmean(r.own_wait_s for r in seen),
        queries=fmean(r.queries for r in seen),
        response_s=fmean(r.response_s for r in seen),
    )


def controller_at(url: str) -> JsonClient:
    return JsonClient.at(url, timeout_s=_CALL_TIMEOUT_S, token=settings.INNER_TOKEN)


def run(url: str | None, controller_url: str | None, rounds: int, time_scale: float) -> int:
    """Calibrate the shop at `url`, or start a shop and calibrate it; return the exit status."""
    if rounds < 2:
        raise click.BadParameter(
            "must be at least 2, because an interval needs two values", param_hint="--rounds"
        )
    try:
        if url is not None:
            address = controller_url or _controller_url()
            with controller_at(address) as controller:
                return _calibrate(url, controller, rounds, time_scale)
        with _own_shop() as (own_url, own_address), controller_at(own_address) as controller:
            return _calibrate(own_url, controller, rounds, time_scale)
    except RefusedError as refused:
        raise click.ClickException(f"the controller refused a call: {refused}") from refused
    except (OSError, http.client.HTTPException, NoAnswerError, WalkFailed) as error:
        raise click.ClickException(f"the shop does not answer as expected: {error}") from error


def _controller_url() -> str:
    return f"http://{hosts.authority(settings.SHOP_HOST, settings.SHOP_CONTROLLER_PORT)}"


@contextmanager
def _own_shop() -> Iterator[tuple[str, str]]:
    port, controller_port = ports.free(2)
    environment = os.environ | {
        "DOORBUSTER_INNER_HOST": "127.0.0.1",
        "DOORBUSTER_SHOP_PORT": str(port),
        "DOORBUSTER_SHOP_CONTROLLER_PORT": str(controller_port),
    }
    shop = subprocess.Popen([sys.executable, "-m", "shop", "serve"], env=environment)
    url, controller_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{controller_port}"
    try:
        _wait_until_up(shop, url)
        yield url, controller_url
    finally:
        processes.end(shop, _END_PATIENCE_S)


def _wait_until_up(shop: subprocess.Popen[bytes], url: str) -> None:
    def is_up() -> bool:
        try:
            with Walker(url) as walker:
                status, _, _ = walker.request("/health/")
        except OSError:
            return False
        return status == 200

    if not processes.becomes_ready(shop, is_up, _START_PATIENCE_S):
        if shop.poll() is not None:
            raise click.ClickException(f"the shop ended with status {shop.returncode}")
        raise click.ClickException(f"the shop did not start within {_START_PATIENCE_S} s")


def _calibrate(url: str, controller: JsonClient, rounds: int, time_scale: float) -> int:
    before = controller.call("GET", "/status")
    if before["busy_workers"]:
        raise click.ClickException("the shop is busy; calibrate it while it has no visitors")
    controller.call(
        "PUT", "/settings", {"profile": "paper", "time_scale": time_scale, "ads": False}
    )
    try:
        rng = random.Random(1)
        for _ in range(_WARM_UP_WALKS):
            _walk(url, controller, rng)
        seen: dict[str, list[Request]] = {page.name: [] for page in PAGE_TYPES}
        with click.progressbar(range(rounds), label="Walking through the shop") as walks:
            for _ in walks:
                for page, request in _walk(url, controller, rng).items():
                    seen[page].append(request)
        outside_s = _cpu_outside_s(url, controller)
    finally:
        controller.call("PUT", "/settings", before["settings"])
        controller.call("POST", "/reset")
    results = [
        summarised(page.name, page.mean_execution_s, time_scale, seen[page.name])
        for page in PAGE_TYPES
    ]
    _print(results, rounds, time_scale, outside_s)
    return 0 if all(result.passes for result in results) else 1


def _walk(url: str, controller: JsonClient, rng: random.Random) -> dict[str, Request]:
    visits: dict[str, Request] = {}
    status = controller.call("GET", "/status")
    before = status["pages"]
    with Walker(url) as walker:
        for visit in walker.walk(
            shelf=rng.choice(SHELVES).slug,
            words=rng.choice(_WORDS),
            book=book_on_sale(rng, status["books"]),
            username=seeded_shop.ACCOUNT_NAME % rng.randint(1, seeded_shop.ACCOUNTS),
        ):
            after = controller.call("GET", "/status")["pages"]
            then, now = before[visit.page], after[visit.page]
            if now["served"] != then["served"] + 1:
                raise click.ClickException(
                    "the shop has other visitors; calibrate it while it has no visitors"
                )
            spent = {key: now[key] - then[key] for key in now if key != "served"}
            visits[visit.page] = Request(**spent, response_s=visit.response_s)
            before = after
    return visits


def book_on_sale(rng: random.Random, books: int) -> int:
    """Return a random book that is in stock, in a catalogue with this number of books."""
    while True:
        book = rng.randint(1, books)
        if book % OUT_OF_STOCK_EVERY:
            return book


def _cpu_outside_s(url: str, controller: JsonClient) -> float:
    controller.call("PUT", "/settings", {"profile": "real"})
    with Walker(url) as walker:
        walker.request("/")
        before = controller.call("GET", "/status")
        for _ in range(_HOME_PAGES):
            walker.request("/")
        after = controller.call("GET", "/status")
    own_s = after["pages"]["Br-1"]["own_cpu_s"] - before["pages"]["Br-1"]["own_cpu_s"]
    return float(after["cpu_s"] - before["cpu_s"] - own_s) / _HOME_PAGES


def _print(results: list[PageResult], rounds: int, scale: float, outside_s: float) -> None:
    table = Table(
        title=f"Execution time of an idle shop at time scale {scale:g}, {rounds} walks, in ms "
        "(published: paper ms)"
    )
    table.add_column("page")
    for head in (
        "published", "wanted", "measured", "95 %", "deviation",
        "own CPU", "own waiting", "queries", "client's wait",
    ):  # fmt: skip
        table.add_column(head, justify="right")
    for line in results:
        table.add_row(
            line.page,
            f"{line.published_s * 1000:.0f}",
            f"{line.wanted_s * 1000:.1f}",
            f"{line.measured_s * 1000:.2f}",
            f"± {line.half_width_s * 1000:.2f}",
            f"{line.deviation_ratio:+.1%}" + ("" if line.passes else " !"),
            f"{line.own_cpu_s * 1000:.2f}",
            f"{line.own_wait_s * 1000:.2f}",
            f"{line.queries:.1f}",
            f"{line.response_s * 1000:.2f}",
        )
    console = Console()
    console.width = max(console.width, 110)
    console.print(table)
    console.print(
        "deviation: mean of (measured − drawn time), divided by the wanted time; allowed: "
        f"± {TOLERANCE_RATIO:.0%}"
    )
    console.print(
        f"CPU time of Gunicorn: {outside_s * 1000:.2f} ms per request; page work assumes "
        f"{page_work.CPU_OUTSIDE_S * 1000:.2f} ms (CPU_OUTSIDE_S)"
    )
