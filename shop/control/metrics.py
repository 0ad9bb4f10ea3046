"""The shop's counts as Prometheus metrics, and the totals of all orders in the database."""

import time
from collections.abc import Iterator, Mapping

from django.conf import settings
from django.db.models import Sum
from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shop import activity, banners, sentry
from shop.models import Order, OrderLine
from shop.page_costs import page_work
from shop.stock import shelf_filling

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def orders_in_database() -> dict[str, int | float]:
    """Return the totals of all accounts' orders: their number, the copies sold, and the revenue in
    the shop's currency.
    """
    sold = OrderLine.objects.aggregate(copies=Sum("quantity"))["copies"] or 0
    cents = Order.objects.aggregate(cents=Sum("total_cents"))["cents"] or 0
    return {"orders": Order.objects.count(), "books_sold": sold, "revenue": cents / 100}


def exposition() -> bytes:
    return generate_latest(registry)


class _Shop(Collector):
    def collect(self) -> Iterator[Metric]:
        """Read all counts again for each scrape."""
        wasted = sentry.snapshot()
        for name, meaning, value in (
            ("cpu_seconds_total", "CPU seconds used by the shop's process.", time.process_time()),
            ("workers", "Worker threads.", settings.SHOP_WORKERS),
            ("busy_workers", "Threads that are working on a request.", activity.busy_workers()),
            ("requests_total", "Requests of any kind that reached the shop.", activity.requests()),
            ("orders_total", "Orders committed since the shop started.", activity.orders()),
            (
                "time_scale_ratio",
                "Paper seconds per real second.",
                page_work.work.settings.time_scale,
            ),
            # This number is not read from the database now, because a busy database would delay the
            # scrape. The first call of /status reads it.
            ("books", "Books in the catalogue.", shelf_filling.known_size()),
            (
                "sentry_watched_requests",
                "Requests that the sentry watches.",
                sentry.watching(),
            ),
            (
                "sentry_disconnects_total",
                "Customers who left while their request was in progress.",
                wasted["disconnects"],
            ),
            (
                "sentry_cancels_attempted_total",
                "Running queries that the sentry tried to cancel.",
                wasted["cancels_attempted"],
            ),
        ):
            kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
            yield kind(f"doorbuster_shop_{name.removesuffix('_total')}", meaning, value)
        yield _settings()
        yield from _per_page()
        yield from _wasted_work(wasted)


def _settings() -> Metric:
    family = GaugeMetricFamily(
        "doorbuster_shop_settings_info",
        "Always 1; the labels show the present settings of page work, sentry and banners.",
        labels=["profile", "sentry", "ads"],
    )
    ads = "on" if banners.banners.wanted else "off"
    family.add_metric([page_work.work.settings.profile, sentry.mode(), ads], 1)
    return family


_OF_PAGES = (
    ("pages_served", "served", "Pages served."),
    ("page_cpu_seconds", "cpu_s", "CPU time that pages used."),
    ("page_execution_seconds", "execution_s", "Time that pages took in the shop, with all waits."),
    (
        "page_back_end_wait_seconds",
        "own_wait_s",
        "Time that pages waited for PostgreSQL and Redis; under profile paper, only the part that "
        "counts towards the drawn time.",
    ),
    ("page_queries", "queries", "Database queries of pages."),
)
"""The counters of each page type: (name, field of `activity.PageCount`, meaning)."""


def _counter(name: str, meaning: str, label: str, values: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily(f"doorbuster_shop_{name}", meaning, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family


def _per_page() -> Iterator[Metric]:
    pages = activity.pages()
    for name, field, meaning in _OF_PAGES:
        counts = {page: getattr(count, field) for page, count in pages.items()}
        yield _counter(name, meaning, "page", counts)


def _wasted_work(counts: Mapping[str, float]) -> Iterator[Metric]:
    yield _counter(
        "sentry_requests",
        "Requests whose customer left: stopped (interrupted), or served to the end (finished).",
        "outcome",
        {outcome: counts[outcome] for outcome in ("interrupted", "finished")},
    )
    yield _counter(
        "sentry_cancels",
        "Attempts to cancel a query: the attempt ended the query (effective), the query ended "
        "before the attempt (too_late), or PostgreSQL did not confirm in time (failed).",
        "outcome",
        {outcome: counts[f"cancels_{outcome}"] for outcome in ("effective", "too_late", "failed")},
    )
    for resource, spent in (("cpu", "CPU time"), ("database", "Waiting time for PostgreSQL")):
        yield _counter(
            f"sentry_{resource}_seconds",
            f"{spent} of requests whose customer left: before the customer left (unanswered), "
            "or afterwards (kept if the request had to be finished, otherwise wasted).",
            "work",
            {work: counts[f"{work}_{resource}_s"] for work in ("wasted", "kept", "unanswered")},
        )


registry = CollectorRegistry()
registry.register(_Shop())
ProcessCollector(registry=registry)
