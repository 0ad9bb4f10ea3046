"""The deliveries that this process knows, and the deliveries that it must still report.

`View.delivered` is the total of all processes at this process's last exchange with the database,
plus this process's deliveries since then. A process never has more than `block` unreported
impressions of a banner. Therefore, two or more processes (P) together deliver at most P × block − 1
impressions of a banner beyond its contract; a single process delivers none beyond it.

If a process is killed, its unreported impressions are not counted, so at most `block` impressions
of each banner are delivered again.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shop.ads.inventory import Banner, Inventory

Totals = npt.NDArray[np.float64]


class Count(NamedTuple):
    """The impressions and clicks of a banner, or of a publisher's page."""

    impressions: int
    clicks: int


@dataclass(frozen=True, slots=True)
class Report:
    """Counts to add to the database. With `number`, the database adds each report of a process only
    once.

    `counts` maps banner ids to their counts, and is never empty. `pages` maps page ids to the
    counts of the requests and clicks that named this page.
    """

    number: int
    counts: Mapping[int, Count]
    pages: Mapping[int, Count]


class View(NamedTuple):
    """An inventory and the delivered impressions of its rows.

    Threads read these counts without a lock while the counts grow. Therefore, only `Ledger.take`
    decides whether an impression is left.
    """

    inventory: Inventory
    delivered: Totals


class Ledger:
    """The counts of impressions and clicks of one process, which all its threads share."""

    def __init__(self, inventory: Inventory, delivered: Totals, block: int) -> None:
        if block < 1:
            raise ValueError("a block must have at least one impression")
        self.block = block
        self.view = View(inventory, np.array(delivered, np.float64))
        self._lock = threading.Lock()
        self._impressions: dict[int, int] = {}  # by row, not yet in a report
        self._clicks: dict[int, int] = {}
        self._pages: dict[int, Count] = {}  # by page, not yet in a report
        self._reported: dict[int, int] = {}  # by row, in the report that is not acknowledged
        self._report: Report | None = None
        self._reports = 0
        self.hurry = threading.Event()
        """The event that is set when a banner has half a block of unreported impressions."""

    def take(self, row: int, page: int | None = None) -> bool:
        """Count an impression of this row's banner on this page; return False, without counting, if
        no impression is left or the block is used up.
        """
        with self._lock:
            inventory, delivered = self.view
            mine = self._impressions.get(row, 0)
            unreported = mine + self._reported.get(row, 0)
            if unreported >= self.block or delivered[row] >= inventory.contracted[row]:
                return False
            delivered[row] += 1
            self._impressions[row] = mine + 1
            self._on_page(page, impressions=1)
            if 2 * (unreported + 1) >= self.block:
                self.hurry.set()
            return True

    def click(self, row: int, page: int | None = None) -> None:
        """Count a click on this row's banner on this page."""
        with self._lock:
            self._clicks[row] = self._clicks.get(row, 0) + 1
            self._on_page(page, clicks=1)

    def _on_page(self, page: int | None, impressions: int = 0, clicks: int = 0) -> None:
        if page is not None:
            before = self._pages.get(page, Count(0, 0))
            self._pages[page] = Count(before.impressions + impressions, before.clicks + clicks)

    def report(self) -> Report | None:
        """Return the report to send, or None if nothing is unreported. Until a report is
        acknowledged, every call returns this report.
        """
        with self._lock:
            self.hurry.clear()
            if self._report is None and (self._impressions or self._clicks):
                ids = self.view.inventory.id
                self._reports += 1
                self._report = Report(
                    self._reports,
                    {
                        int(ids[row]): Count(
                            self._impressions.get(row, 0), self._clicks.get(row, 0)
                        )
                        for row in self._impressions.keys() | self._clicks.keys()
                    },
                    self._pages,
                )
                self._reported = self._impressions
                self._impressions, self._clicks, self._pages = {}, {}, {}
            return self._report

    def unreported(self) -> int:
        """Return the number of impressions that are not in the database yet."""
        with self._lock:
            return sum(self._impressions.values()) + sum(self._reported.values())

    def learn(
        self, acknowledged: Report | None, banners: list[Banner], totals: Mapping[int, int]
    ) -> None:
        """Take over the database's state after an exchange.

        `acknowledged` is the report that the database has added, if any. `banners` has the new or
        changed banners. `totals` maps banner ids to reported impressions, at least for every new
        banner and every banner in the acknowledged report.
        """
        with self._lock:
            inventory, delivered = self.view
            if acknowledged is not None:
                self._report, self._reported = None, {}
            if banners:
                inventory = inventory.changed(banners)
                grown = np.zeros(len(inventory))
                grown[: len(delivered)] = delivered
                delivered = grown
            for banner, total in totals.items():
                row = inventory.row_of.get(banner)
                if row is not None:
                    mine = self._impressions.get(row, 0) + self._reported.get(row, 0)
                    delivered[row] = total + mine
            self.view = View(inventory, delivered)
