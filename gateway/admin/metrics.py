"""The gateway's metrics for Prometheus: their names, meanings, labels and response-time buckets.

Names begin with `doorbuster_gateway_`, except those of the process metrics. The other modules count
in plain integers. This module reads the integers only at a scrape, so counting costs almost
nothing.

To limit the number of series, only the first `MOST_QUEUES` queue names of a policy become values
of a label. All later names share the value `other`. After a switch, the response times of the
earlier policy are exported once more and then removed.
"""

import hashlib
import os
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, TypeVar

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from gateway.admin.figures import GatewayFigures

BUCKETS_S: Final = (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 120)
"""The upper bounds of the response-time buckets in paper seconds."""

MOST_QUEUES: Final = 20
"""The maximum number of queues of a policy that have separate series."""
MOST_DISCIPLINES: Final = 8
LONGEST_LABEL: Final = 200
"""The maximum length of a label's value in characters; a longer value is cut and ends in a digest.
"""
_OTHER: Final = "other"

_PREFIX: Final = "doorbuster_gateway_"
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_STARTED_S: Final = time.time()


CHOICES: Final = ("policy", "admission", "abandonment", "connection_admission")
"""The labels of the metric that names the policies and the abandonment setting in force."""

_FATES: Final = (
    ("arrived", "arrivals", "Requests that arrived"),
    ("dispatched", "dispatches", "Requests given to a worker"),
    ("abandoned_waiting", "abandonments_waiting", "Customers who left while their request waited"),
    ("withdrawn", "withdrawals", "Requests taken out of a queue because their customers had left"),
)
"""The metrics that count requests by page type: (fate, metric's name, meaning)."""

_QUEUES: Final = (
    ("queues", "queue_requests", "Requests in each queue of the policy"),
    ("capacities", "queue_capacity_requests", "Maximum length of each queue of the policy"),
    ("dynamic_priority", "queue_priority", "Dynamic priority N × U of each queue of the policy"),
)
"""The metrics of each queue: (key in the policy's snapshot, metric's name, meaning)."""

_ADMISSION: Final = (
    (
        "predicted_utilisation_ratio",
        "predicted_utilisation_ratio",
        "Utilisation predicted for the next ac-interval",
    ),
    (
        "measured_utilisation_ratio",
        "measured_utilisation_ratio",
        "Utilisation measured in the last ac-interval",
    ),
    ("weight", "weight_ratio", "Weight k of the latest measurement in the prediction"),
    ("admits", "open", "1 while new sessions are admitted"),
    ("quota", "quota_sessions", "Maximum number of new sessions admitted in an ac-interval"),
    ("admitted", "admitted_sessions_total", "New sessions admitted"),
    ("rejected", "rejected_sessions_total", "New sessions rejected"),
    (
        "aborted",
        "aborted_requests_total",
        "Requests of admitted sessions that were dropped, or whose customers left",
    ),
)
"""The metrics from an admission policy's snapshot: (key in the snapshot, metric's name, meaning).
"""


_TIMES: Final = _PREFIX + "response_paper_seconds"
_TIMES_MEANING: Final = "Time from a request's arrival to its end at the gateway, in paper seconds"
_BOUNDS: Final = (*(f"{bound:g}" for bound in BUCKETS_S), "+Inf")


def _line_beginnings(policy: str, page: str, outcome: str) -> list[str]:
    labels = f'outcome="{outcome}",page="{page}",policy="{policy}"'
    buckets = [f'{_TIMES}_bucket{{le="{bound}",{labels}}} ' for bound in _BOUNDS]
    return [*buckets, f"{_TIMES}_count{{{labels}}} ", f"{_TIMES}_sum{{{labels}}} "]


class ResponseTimes:
    """Counts of ended requests by policy, page and outcome, in buckets of response time."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._cells: dict[tuple[str, str, str], list[Any]] = {}

    def switched(self, policy: str) -> None:
        """Count for this policy from now on; export the previous policy's counts only once more."""
        gone = self._policy if policy != self._policy else None
        self._forget_all_but(policy, gone)
        self._policy = policy

    def _forget_all_but(self, *policies: str | None) -> None:
        self._cells = {key: cell for key, cell in self._cells.items() if key[0] in policies}

    def add(self, policy: str, page: str, outcome: str, response_s: float) -> None:
        """Count a request that ended `response_s` paper seconds after its arrival."""
        cell = self._cells.get((policy, page, outcome))
        if cell is None:
            counts = [0] * (len(BUCKETS_S) + 1)
            cell = [0.0, counts, _line_beginnings(policy, page, outcome)]
            self._cells[(policy, page, outcome)] = cell
        cell[0] += response_s
        cell[1][bisect_left(BUCKETS_S, response_s)] += 1

    def family(self) -> HistogramMetricFamily:
        """Return the counts in Prometheus' form, with cumulative buckets."""
        family = HistogramMetricFamily(_TIMES, _TIMES_MEANING, labels=("policy", "page", "outcome"))
        for labels, (total_s, buckets, _) in self._cells.items():
            steps = list(zip(_BOUNDS, accumulate(buckets), strict=True))
            family.add_metric(labels, buckets=steps, sum_value=total_s)
        return family

    def text(self) -> str:
        """Return `family` in the exposition format.

        This function is twenty times as fast as the library. The speed matters because requests
        wait while the event loop writes thousands of lines.
        """
        lines = [f"# HELP {_TIMES} {_TIMES_MEANING}\n# TYPE {_TIMES} histogram\n"]
        for total_s, buckets, beginnings in self._cells.values():
            steps = list(accumulate(buckets))
            values = (*steps, steps[-1], total_s)
            lines += [
                f"{beginning}{float(value)}\n"
                for beginning, value in zip(beginnings, values, strict=True)
            ]
        self._forget_all_but(self._policy)
        return "".join(lines)


class _Names:
    """The allowed values of a label: the first few names that a policy uses, and `other` for all
    later names.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def label(self, name: str) -> str:
        if name not in self._known:
            if len(self._known) >= self._most:
                return _OTHER
            self._known.add(name)
        return _short(name)

    def forget(self) -> None:
        self._known.clear()


def _short(name: str) -> str:
    if len(name) <= LONGEST_LABEL:
        return name
    digest = hashlib.sha256(name.encode(errors="replace")).hexdigest()[:12]
    return f"{name[: LONGEST_LABEL - 13]} {digest}"


class GatewayMetrics(Collector):
    """A collector of the gateway's metrics. A metric that the policy in force does not have is
    exported without a value.
    """

    def __init__(self, figures: GatewayFigures, times: ResponseTimes) -> None:
        self._figures = figures
        self._times = times
        self._queues = _Names(MOST_QUEUES)
        self._disciplines = _Names(MOST_DISCIPLINES)
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def switched(self, policy: str) -> None:
        """Count response times for this policy from now on; forget the previous policy's labels."""
        self._times.switched(policy)
        self._queues.forget()
        self._disciplines.forget()

    def text(self) -> bytes:
        """Return all metrics in the exposition format."""
        return generate_latest(self._registry) + self._times.text().encode()

    def families(self) -> Iterator[Metric]:
        """Iterate over all metrics in `text`."""
        yield from self.collect()
        yield self._times.family()

    def collect(self) -> Iterator[Metric]:
        """Iterate over the metrics for the registry, without the response times (see `text`)."""
        yield from self._requests()
        yield from self._policies()
        yield from self._connections()
        for name, (meaning, value) in self._figures.gauges().items():
            yield _family(name, meaning, {} if value is None else {(): value})
        yield from _process()

    def _requests(self) -> Iterator[Metric]:
        counts = self._figures.counts()
        for fate, name, meaning in _FATES:
            by_page = {(page,): fates[fate] for page, fates in counts.items()}
            yield _family(f"{name}_total", meaning, by_page, "page")
        waiting = {(page,): number for page, number in self._figures.waiting().items()}
        yield _family("waiting_requests", "Requests that wait for a worker", waiting, "page")
        refusals = {(str(status),): n for status, n in self._figures.refusals().items()}
        meaning = "Answers by the gateway itself, such as error pages and rejections"
        yield _family("refusals_total", meaning, refusals, "status")

    def _policies(self) -> Iterator[Metric]:
        chosen = self._figures.in_force()
        meaning = "Always 1; the labels name the policies and the abandonment setting in force"
        in_force = {tuple(chosen[each] for each in CHOICES): 1}
        yield _family("policy_info", meaning, in_force, *CHOICES)
        name, snapshot = self._figures.policy()
        discipline = snapshot.get("discipline")
        meaning = "Always 1; the label names the order in which the policy serves its queues"
        served = {(self._disciplines.label(str(discipline)),): 1} if discipline else {}
        yield _family("discipline_info", meaning, served, "discipline")
        meaning = "Changes of the order in which the policy in force serves a queue"
        switches = _numbers({(): snapshot.get("discipline_switches")})
        yield _family("discipline_switches_total", meaning, switches)
        for key, metric, meaning in _QUEUES:
            by_queue: dict[tuple[str, ...], float] = {}
            for queue, value in _numbers(_mapping(snapshot, key)).items():
                label = (self._queues.label(str(queue)),)
                by_queue[label] = by_queue.get(label, 0) + value
            yield _family(metric, meaning, by_queue, "queue")
        admission = _mapping(snapshot, "admission")
        for key, metric, meaning in _ADMISSION:
            found = _numbers({(name,): admission.get(key)})
            yield _family(f"admission_{metric}", meaning, found, "policy")
        meaning = (
            "Requests by shadow and verdict; the verdict compares the shadow's decision with the "
            "decision of the policy in force"
        )
        requests = {
            (_short(shadow), verdict): number
            for shadow, verdicts in self._figures.shadow_counts().items()
            for verdict, number in verdicts.items()
        }
        yield _family("shadow_requests_total", meaning, requests, "policy", "verdict")

    def _connections(self) -> Iterator[Metric]:
        counts = self._figures.connections()
        found = {
            ("resumed", "accepted"): counts["resumed"],
            ("new", "accepted"): counts["accepted_new"],
            ("new", "refused"): counts["refused"],
            ("unknown", "failed"): counts["handshake_failed"],
            ("unknown", "timed_out"): counts["handshake_timed_out"],
            ("unknown", "evicted"): counts["evicted"],
            ("unknown", "turned_away"): counts["turned_away"],
        }
        meaning = "TLS connections by kind (new, resumed or unknown) and outcome"
        yield _family("tls_connections_total", meaning, found, "kind", "outcome")
        under_way = {(): counts["under_way"]}
        yield _family("tls_handshakes_under_way", "TLS handshakes in progress", under_way)
        eac = self._figures.connection_admission()
        kinds = _numbers({(kind,): eac.get(f"predicted_{kind}") for kind in ("resumed", "new")})
        meaning = "Connections that EAC predicts for the current interval"
        yield _family("connection_admission_predicted_connections", meaning, kinds, "kind")
        acceptable = _numbers({(): eac.get("acceptable_new")})
        meaning = "New connections that EAC can accept in the current interval"
        yield _family("connection_admission_acceptable_connections", meaning, acceptable)


def _process() -> Iterator[Metric]:
    """Iterate over three metrics of the process. The library's ProcessCollector would also count
    the open files. With 5,000 customers, this count would block the event loop for 7 ms.
    """
    meaning = "Total user and system CPU time spent in seconds."
    yield CounterMetricFamily("process_cpu_seconds", meaning, time.process_time())
    meaning = "Start time of the process since unix epoch in seconds."
    yield GaugeMetricFamily("process_start_time_seconds", meaning, _STARTED_S)
    resident = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    meaning = "Resident memory size in bytes."
    yield GaugeMetricFamily("process_resident_memory_bytes", meaning, resident)


K = TypeVar("K")
L = TypeVar("L", bound=tuple[str, ...])


def _family(name: str, meaning: str, values: Mapping[L, float], *labels: str) -> Metric:
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family = kind(_PREFIX + name.removesuffix("_total"), meaning, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _mapping(snapshot: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = snapshot.get(key)
    return found if isinstance(found, Mapping) else {}


def _numbers(values: Mapping[K, object]) -> dict[K, float]:
    """Return only the numbers: a student's policy may put any value into its snapshot."""
    return {key: value for key, value in values.items() if isinstance(value, int | float)}
