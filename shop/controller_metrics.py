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

from shop import activity, page_work
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


_registry = CollectorRegistry()
_registry.register(_Shop())
