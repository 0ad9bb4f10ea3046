"""The text of docs/metrics.md, which `make pages` writes."""

from collections.abc import Iterator
from typing import Any, Final

import yaml

from dashboards.metrics import LIBRARY, Described, every
from runtime.monitoring import SOURCE

UNITS: Final = {
    "paper_seconds": "paper seconds",
    "timestamp_seconds": "seconds since 1970",
    **{
        unit: unit
        for unit in (
            "seconds", "ratio", "bytes", "requests", "connections", "workers", "threads",
            "sessions", "processors", "samples", "slots", "impressions", "clicks", "banners",
            "reports", "orders", "books", "queries", "launches", "runs", "attempts", "confirms",
            "viewers", "tasks", "turns", "arrivals", "dispatches", "withdrawals", "refusals",
            "disconnects", "cancels", "switches", "failures", "fallbacks", "fds",
        )
    },
    "served": "pages",
    "waiting": "customers",
    "service": "customers",
    "attempted": "queries",
    "way": "handshakes",
}  # fmt: skip
"""The units of metrics, by the ends of their names."""
WITHOUT_UNIT: Final = ("_info", "_open", "_draining", "_priority")

_HEAD: Final = """# Metrics

This page lists every metric of every part, as Prometheus scrapes it.
`make pages` writes it from the collectors.

Names are `doorbuster_<part>_<what>_<unit>` in base units; counters end in `_total`; a metric
without a unit is 1 or 0, or a plain number. Paper seconds are seconds × time scale
([paper time and live time](architecture.md#paper-time-and-live-time)).
Every series also has the labels of its target, `job` and `instance`. Series of gateway and shop
also have `application`: `shop`, or the name of an application of a platform or a race.
[Monitoring](monitoring.md) explains how to use the metrics.
"""

_TITLES: Final = {
    "gateway": "Gateway",
    "shop": "Shop",
    "ads": "Ad server",
    "lab": "Lab",
    "cpu-manager": "CPU manager",
    LIBRARY: "Every process",
}

_NOTES: Final = {
    "gateway": """`page` is Br-1 … Tr-4, `ads` for requests to the ad server, or `other` for all
other requests. `outcome` is answered, orphaned, failed, cancelled, dropped, rejected or withdrawn,
so that the count of response times by `outcome` covers all requests. For response times and
`admission_…`, `policy` names the queueing policy and the admission policy together
(`sq+sbac-stable`).""",
    "ads": "The values are sums over all its processes.",
    "lab": """Metrics that begin with `run_` describe live runs in progress, started anywhere; they
start again with each run. `experiment` is the name of a result folder, and `run` of a folder in
it; only the newest five experiments are read.""",
    "cpu-manager": "A hosting platform has these metrics while it runs.",
    LIBRARY: """Shop, console and CPU manager have these metrics of Prometheus' client library. The
gateway has only CPU, resident memory and start, because counting thousands of open files would
delay its loop.""",
}


def page() -> str:
    """Return the Markdown text of the page."""
    jobs = {job["job_name"]: job for job in configuration()["scrape_configs"]}
    lines = [_HEAD]
    for part, metrics in every().items():
        lines.append(f"## {_TITLES[part]}\n")
        if part in jobs:
            path = jobs[part].get("metrics_path", "/metrics")
            every_s = jobs[part].get(
                "scrape_interval", configuration()["global"]["scrape_interval"]
            )
            interval = f"{every_s.removesuffix('s')} s"
            lines.append(f'Prometheus scrapes `{path}` every {interval}, as `job="{part}"`.')
        if part in _NOTES:
            lines.append(_NOTES[part])
        lines += ["", *_table(metrics), ""]
    return "\n".join(lines).rstrip() + "\n"


def configuration() -> dict[str, Any]:
    """Return the content of prometheus.yml."""
    found: dict[str, Any] = yaml.safe_load((SOURCE / "prometheus.yml").read_text(encoding="utf-8"))
    return found


def unit_of(metric: Described) -> str:
    """Return the unit of a metric. Raises ValueError if its name has no known unit."""
    name = metric.name.removesuffix("_total")
    if name.endswith(WITHOUT_UNIT):
        return "–"
    for ending, unit in UNITS.items():
        if name.endswith(f"_{ending}"):
            return unit
    raise ValueError(
        f"{metric.name}: does not end in one of the units of dashboards/metrics_page.py"
    )


def _table(metrics: list[Described]) -> Iterator[str]:
    yield "| metric | type | unit | labels | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
        yield (
            f"| `{metric.name}` | {metric.type} | {unit_of(metric)} | {labels} | {metric.meaning} |"
        )
