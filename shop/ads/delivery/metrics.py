"""The ad server's metrics for Prometheus, summed over all its processes.

Names have the form `doorbuster_ads_<what>_<unit>`. The environment variable
PROMETHEUS_MULTIPROC_DIR names a folder. Each process writes its counts to a file in this folder, so
that any process can report the sums over all processes (prometheus_client, *Multiprocess mode*).
Without the variable, a process reports only its own counts.
"""

import os
import struct
import time
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from common.waiting import retry

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS_S: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)
"""The upper bounds of the buckets for the time of a selection, in real seconds. A selection takes
from half a millisecond (few banners) to several seconds (millions of banners).
"""
CREATION_S: Final = 2.0  # the longest time that a process needs to create its file, in real seconds

registry = CollectorRegistry()

_selection = Histogram(
    "doorbuster_ads_selection_seconds",
    "Time to choose the banners of one page.",
    ["priority"],
    registry=registry,
    buckets=BUCKETS_S,
)
_slots = Counter(
    "doorbuster_ads_requested_slots",
    "Slots in the requests for banners.",
    ["priority"],
    registry=registry,
)
_impressions = Counter(
    "doorbuster_ads_impressions", "Banners placed.", ["priority"], registry=registry
)
_clicks = Counter("doorbuster_ads_clicks", "Clicks on banners.", registry=registry)
_reports = Counter(
    "doorbuster_ads_reports",
    "Attempts to exchange counts with the database; `outcome` is done (successful) or failed.",
    ["outcome"],
    registry=registry,
)
_cpu = Counter(
    "doorbuster_ads_cpu_seconds", "CPU seconds used by the server's processes.", registry=registry
)
_banners = Gauge(
    "doorbuster_ads_banners",
    "Banners in the inventory.",
    registry=registry,
    multiprocess_mode="livemax",
)
_unreported = Gauge(
    "doorbuster_ads_unreported_impressions",
    "Impressions that have been delivered but not yet reported to the database.",
    registry=registry,
    multiprocess_mode="livesum",
)
_threads = Gauge(
    "doorbuster_ads_threads",
    "Threads: the number of requests that can be answered at the same time.",
    registry=registry,
    multiprocess_mode="livesum",
)
_cpu_counted_s = 0.0


def started(threads: int, banners: int) -> None:
    _threads.set(threads)
    _banners.set(banners)


def selected(priority: int, slots: int, placed: int, took_s: float) -> None:
    level = str(priority)
    _selection.labels(level).observe(took_s)
    _slots.labels(level).inc(slots)
    _impressions.labels(level).inc(placed)


def clicked() -> None:
    _clicks.inc()


def exchanged(*, is_done: bool, banners: int, unreported: int) -> None:
    """Record whether an exchange with the database was successful; only one thread may call
    this.
    """
    global _cpu_counted_s
    _reports.labels("done" if is_done else "failed").inc()
    _banners.set(banners)
    _unreported.set(unreported)
    cpu_s = time.process_time()
    _cpu.inc(cpu_s - _cpu_counted_s)
    _cpu_counted_s = cpu_s


def exposition() -> bytes:
    """Return all metrics in Prometheus' text format.

    Raises struct.error if a file of the folder stays empty for `CREATION_S`.
    """
    if FOLDER_VARIABLE not in os.environ:
        return generate_latest(registry)
    together = CollectorRegistry()
    MultiProcessCollector(together)
    # A process that starts has created its file a moment before it fills it.
    return retry(lambda: generate_latest(together), struct.error, CREATION_S, every_s=0.01)
