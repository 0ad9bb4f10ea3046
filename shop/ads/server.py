"""The ad server of this process: its inventory, search threads and writer thread."""

import random
import time
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from shop.ads import configuration
from shop.ads.configuration import Configuration
from shop.ads.delivery import flushing, loading, metrics, renewing
from shop.ads.delivery.flushing import Writer
from shop.ads.delivery.ledger import Ledger
from shop.ads.delivery.loading import Names
from shop.ads.selection import selector
from shop.ads.selection.fan_out import FanOut
from shop.ads.selection.selector import Placed, Request


@dataclass(frozen=True, slots=True)
class AdServer:
    """The ad server of a process; all requests share its parts."""

    configuration: Configuration
    ledger: Ledger
    fan_out: FanOut
    writer: Writer
    rng: random.Random

    @property
    def names(self) -> Names:
        return self.writer.names

    def select(self, request: Request) -> list[Placed]:
        """Choose banners for a page, count their impressions, and return the banners."""
        began_s = time.perf_counter()
        placed = selector.select(request, time.time(), self.ledger, self.fan_out, self.rng)
        took_s = time.perf_counter() - began_s
        metrics.selected(request.priority, request.slots, len(placed), took_s)
        return placed

    def candidates(self, request: Request) -> list[dict[str, Any]]:
        """Return the candidates for a page with their weights, the heaviest first."""
        rows, weights = selector.wheel(request, time.time(), self.ledger, self.fan_out)
        inventory = self.ledger.view.inventory
        word_of = {number: word for word, number in self.names.concepts.items()}
        return [
            {
                "id": int(inventory.id[row]),
                "alt": inventory.alt[row],
                "concepts": sorted(
                    word_of[number]
                    for number in inventory.concepts[:, row].tolist()
                    if number in word_of
                ),
                "contracted": int(inventory.contracted[row]),
                "weight": int(weight),
            }
            for weight, row in sorted(
                zip(weights.tolist(), rows.tolist(), strict=True), reverse=True
            )
        ]

    def click(self, banner: int, page: int | None = None) -> bool:
        """Count a click on this banner, on this page; return False if no banner with this id has a
        contract.
        """
        row = self.ledger.view.inventory.row_of.get(banner)
        if row is not None:
            self.ledger.click(row, page)
            metrics.clicked()
        return row is not None

    def stop(self) -> None:
        self.fan_out.close()
        self.writer.stop()


class NotStarted(RuntimeError):  # noqa: N818
    """The error for a process in which the ad server has not been started."""


_running: AdServer | None = None


def start() -> AdServer:
    """Load the inventory and begin to report deliveries."""
    global _running
    wanted = configuration.read()
    renewing.renew(timezone.now())
    flushing.forget_silent(timezone.now())
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        loaded = loading.everything()
    connection.close()
    ledger = Ledger(loaded.inventory, loaded.delivered, wanted.block)
    _running = AdServer(
        configuration=wanted,
        ledger=ledger,
        fan_out=FanOut(wanted.priority_levels, wanted.threads),
        writer=Writer(ledger, loaded.names, loaded.revision),
        rng=random.Random(),
    )
    metrics.started(wanted.threads, len(loaded.inventory))
    _running.writer.start(wanted.flush_s)
    return _running


def running() -> AdServer:
    """Return the ad server of this process; raise NotStarted before its start."""
    if _running is None:
        raise NotStarted("the ad server of this process has not been started")
    return _running
