"""What the controller knows as Prometheus metrics, and what the database knows of the orders.

Owns: metric names (`doorbuster_shop_<what>_<unit>`). Must not know: HTTP.
"""

import time
from collections.abc import Iterator

from django.conf import settings
from django.db.models import Sum
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shop import activity, page_work, sentry
from shop.models import Order, OrderLine
from shop.page_types import PAGE_TYPES

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def orders_in_database() -> dict[str, int | float]:
    """Orders, copies sold and revenue in the shop's currency, seeded accounts and people alike."""
    sold = OrderLine.objects.aggregate(copies=Sum("quantity"))["copies"] or 0
    cents = Order.objects.aggregate(cents=Sum("total_cents"))["cents"] or 0
    return {"orders": Order.objects.count(), "books_sold": sold, "revenue": cents / 100}


def exposition() -> bytes:
    """All metrics in Prometheus' text format."""
    return generate_latest(_registry)


class _Shop(Collector):
    def collect(self) -> Iterator[Metric]:
        """Read everything afresh; nothing is kept between scrapes."""
        yield CounterMetricFamily(
            "doorbuster_shop_cpu_seconds", "CPU used by the shop's process.", time.process_time()
        )
        yield GaugeMetricFamily(
            "doorbuster_shop_workers_threads", "Worker threads.", settings.SHOP_WORKERS
        )
        yield GaugeMetricFamily(
            "doorbuster_shop_busy_workers_threads",
            "Threads that are working on a request.",
            activity.busy_workers(),
        )
        yield CounterMetricFamily(
            "doorbuster_shop_requests", "Requests of any kind.", activity.requests()
        )
        yield CounterMetricFamily(
            "doorbuster_shop_orders", "Orders committed since the start.", activity.orders()
        )
        yield GaugeMetricFamily(
            "doorbuster_shop_time_scale_ratio",
            "Paper seconds in a live second.",
            page_work.work.settings.time_scale,
        )
        yield from _per_page()
        yield from _wasted_work()


def _per_page() -> Iterator[Metric]:
    served = CounterMetricFamily("doorbuster_shop_pages_served", "Pages served.", labels=["page"])
    cpu = CounterMetricFamily(
        "doorbuster_shop_page_cpu_seconds", "CPU that pages took.", labels=["page"]
    )
    execution = CounterMetricFamily(
        "doorbuster_shop_page_execution_seconds",
        "Execution time of pages, waits included.",
        labels=["page"],
    )
    for name, count in activity.pages(page.name for page in PAGE_TYPES).items():
        served.add_metric([name], count.served)
        cpu.add_metric([name], count.cpu_s)
        execution.add_metric([name], count.execution_s)
    yield from (served, cpu, execution)


def _wasted_work() -> Iterator[Metric]:
    counts = sentry.snapshot()
    name = "doorbuster_shop_sentry"
    yield GaugeMetricFamily(
        f"{name}_watched_requests", "Requests whose sockets are watched.", sentry.watching()
    )
    yield CounterMetricFamily(
        f"{name}_disconnects",
        "Customers who left while their request was in progress.",
        counts["disconnects"],
    )
    yield CounterMetricFamily(
        f"{name}_cancels_attempted",
        "Running queries that were to be cancelled.",
        counts["cancels_attempted"],
    )
    families = (
        ("requests", "What became of requests whose customer left.", ("interrupted", "finished")),
        ("cancels", "What became of cancelled queries.", ("effective", "too_late", "failed")),
    )
    for what, help, outcomes in families:
        family = CounterMetricFamily(f"{name}_{what}", help, labels=["outcome"])
        for outcome in outcomes:
            key = outcome if what == "requests" else f"cancels_{outcome}"
            family.add_metric([outcome], counts[key])
        yield family
    for resource in ("cpu", "database"):
        family = CounterMetricFamily(
            f"{name}_{resource}_seconds",
            "Spent after the customer had left (wasted; kept if it had to be finished), or before "
            "on what was never answered (unanswered).",
            labels=["work"],
        )
        for work in ("wasted", "kept", "unanswered"):
            family.add_metric([work], counts[f"{work}_{resource}_s"])
        yield family


_registry = CollectorRegistry()
_registry.register(_Shop())
