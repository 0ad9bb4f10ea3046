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
            "disconnects", "cancels", "switches", "failures", "fallbacks",
        )
    },
    "fds": "file descriptors",
    "served": "pages",
    "waiting": "customers",
    "service": "customers",
    "attempted": "queries",
    "way": "handshakes",
}  # fmt: skip
"""The units of metrics, by the ends of their names."""
WITHOUT_UNIT: Final = ("_info", "_open", "_draining", "_priority")

_HEAD: Final = """# Metrics

This page lists all metrics that Prometheus scrapes from Doorbuster's parts. `make pages` writes the
page from the code. [Monitoring](monitoring.md) explains how to use the metrics.

Names have the form `doorbuster_<part>_<what>_<unit>`, except under [Processes](#processes). The
names of counters end in `_total`. A metric without a unit is 1 or 0, or a plain number. Paper
seconds are real seconds × time scale
([paper time and live time](architecture.md#paper-time-and-live-time)).
Every series also has the labels `job` and `instance` of its target. The series of the gateway and
the shop also have the label `application`. Its value is `shop`, or the name of an application of a
platform or a race.
"""

_TITLES: Final = {
    "gateway": "Gateway",
    "shop": "Shop",
    "ads": "Ad server",
    "lab": "Lab",
    "cpu-manager": "CPU manager",
    LIBRARY: "Processes",
}

_NOTES: Final = {
    "gateway": """The label `page` is Br-1 … Tr-4, `ads` for requests to the ad server, or `other`
for all other requests. The label `outcome` of response times has the value answered, orphaned,
failed, cancelled, dropped, rejected or withdrawn. In metrics of response times and in
`admission_…`, the label `policy` names the queueing policy and the admission policy together
(`sq+sbac-stable`).""",
    "ads": "The values are sums over all processes of the ad server.",
    "lab": """The metrics `doorbuster_lab_run_…` describe the live runs in progress, including runs
that were started in a terminal. `experiment` is the name of a result folder, and `run` is the name
of a folder in this result folder. `finished_runs` and `unreconciled_runs` cover only the newest
five experiments.""",
    "cpu-manager": "These metrics exist only while a hosting platform runs.",
    LIBRARY: """The shop, the console and the CPU manager have these metrics of Prometheus' client
library. The gateway has only the CPU time, the resident memory and the start time, because
counting thousands of open files would delay its requests.""",
}


def page() -> str:
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
