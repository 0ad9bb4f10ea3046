"""The shop's counters of requests, pages and orders since its start.

Every thread has separate counters, so no locks are needed.
"""

import threading
from dataclasses import dataclass, field

from common.page_types import NAMES


@dataclass(slots=True)
class PageCount:
    """The counters of one page type; all times are real seconds.

    `own_cpu_s` and `own_wait_s` are the pages' cost without page work (docs/shop.md). `drawn_s` is
    the sum of the times that page work drew.
    """

    served: int = 0
    cpu_s: float = 0.0
    execution_s: float = 0.0
    drawn_s: float = 0.0
    own_cpu_s: float = 0.0
    own_wait_s: float = 0.0
    queries: int = 0


@dataclass(slots=True)
class ThreadActivity:
    busy: bool = False
    requests: int = 0
    orders: int = 0
    pages: dict[str, PageCount] = field(default_factory=dict)
    lost_to: dict[str, int] = field(default_factory=dict)

    def page(self, name: str) -> PageCount:
        """Return the counters of this page type, which begin at 0."""
        count = self.pages.get(name)
        if count is None:
            count = self.pages[name] = PageCount()
        return count


_threads: list[ThreadActivity] = []
_local = threading.local()


def mine() -> ThreadActivity:
    try:
        return _local.activity  # type: ignore[no-any-return]
    except AttributeError:
        _local.activity = ThreadActivity()
        _threads.append(_local.activity)
        return _local.activity  # type: ignore[no-any-return]


def order_committed() -> None:
    mine().orders += 1


def busy_workers() -> int:
    return sum(thread.busy for thread in list(_threads))


def requests() -> int:
    """Return the number of requests of any kind that reached the application."""
    return sum(thread.requests for thread in list(_threads))


def orders() -> int:
    return sum(thread.orders for thread in list(_threads))


def pages() -> dict[str, PageCount]:
    """Return the counters of each page type, summed over all threads."""
    totals = {name: PageCount() for name in NAMES}
    for thread in list(_threads):
        for name, count in list(thread.pages.items()):
            total = totals[name]
            total.served += count.served
            total.cpu_s += count.cpu_s
            total.execution_s += count.execution_s
            total.drawn_s += count.drawn_s
            total.own_cpu_s += count.own_cpu_s
            total.own_wait_s += count.own_wait_s
            total.queries += count.queries
    return totals


def lost_to() -> dict[str, int]:
    """Return the number of requests that failed because a back end was unavailable, by back end."""
    totals: dict[str, int] = {}
    for thread in list(_threads):
        for back_end, count in list(thread.lost_to.items()):
            totals[back_end] = totals.get(back_end, 0) + count
    return totals
