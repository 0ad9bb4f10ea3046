"""The gateway's figures for Prometheus.

Owns: metric names (`doorbuster_gateway_<what>_<unit>`), labels, response time buckets.
Must not know: how the gateway works. Counting happens in plain integers where things happen; this
module reads them when it is asked, so that a request costs next to nothing here.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

BUCKETS_S: Final = (0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 60, 120)
"""Upper bounds of response times in paper seconds: pages take 0.2–0.5 s, patience is 8 s and up."""

_PREFIX: Final = "doorbuster_gateway_"


class Figures(Protocol):
    """What is read at the moment of asking."""

    def counts(self) -> dict[str, dict[str, int]]:
        """Page type → fate → requests, cumulative."""

    def gauges(self) -> dict[str, tuple[str, float]]:
        """Name without prefix → (help, value)."""

    def refusals(self) -> dict[int, int]:
        """Status → answers the gateway gave by itself, cumulative."""

    def waiting(self) -> dict[str, int]:
        """Page type → requests that wait."""

    def connections(self) -> tuple[str, dict[str, int]]:
        """The connection admission's name, and counts of TLS connections, most of them cumulative
        (`gateway.connection_gate.COUNTS`)."""

    def policy(self) -> tuple[str, Mapping[str, object]]:
        """The policy's name and snapshot."""


_ADMISSION: Final = (
    ("predicted_utilisation_ratio", "predicted_utilisation_ratio", "Utilisation that is expected"),
    (
        "measured_utilisation_ratio",
        "measured_utilisation_ratio",
        "Utilisation of the last interval",
    ),
    ("weight", "weight_ratio", "Weight k of the newest measurement"),
    ("admits", "open_bool", "1 while new sessions are admitted"),
    ("quota", "quota_sessions", "Sessions that may be admitted in an ac-interval"),
    ("admitted", "admitted_sessions_total", "New sessions admitted"),
    ("rejected", "rejected_sessions_total", "New sessions turned away"),
    ("aborted", "aborted_requests_total", "Aborted requests and refused connections"),
)
"""Figures of an admission policy's snapshot: (key there, name here, meaning)."""


class ResponseTimes:
    """Counts of ended requests by policy, page and outcome, in buckets of response time."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, str, str], list[Any]] = {}

    def add(self, policy: str, page: str, outcome: str, response_s: float) -> None:
        """One request has ended, `response_s` paper seconds after it came in."""
        cell = self._cells.get((policy, page, outcome))
        if cell is None:
            cell = self._cells[(policy, page, outcome)] = [0.0, [0] * (len(BUCKETS_S) + 1)]
        cell[0] += response_s
        cell[1][bisect_left(BUCKETS_S, response_s)] += 1

    def family(self) -> HistogramMetricFamily:
        """As Prometheus wants it: cumulative buckets."""
        family = HistogramMetricFamily(
            _PREFIX + "response_paper_seconds",
            "Time from a request's arrival to its end at the gateway, in paper seconds",
            labels=("policy", "page", "outcome"),
        )
        bounds = [*(f"{bound:g}" for bound in BUCKETS_S), "+Inf"]
        for labels, (total_s, buckets) in self._cells.items():
            steps = list(zip(bounds, accumulate(buckets), strict=True))
            family.add_metric(labels, buckets=steps, sum_value=total_s)
        return family


class GatewayMetrics:
    """A registry of its own, read through `text`."""

    def __init__(self, figures: Figures, times: ResponseTimes) -> None:
        self._figures = figures
        self._times = times
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        counts = self._figures.counts()
        for fate, name, meaning in (
            ("arrived", "arrivals", "Requests that came in"),
            ("dispatched", "dispatches", "Requests given to a worker"),
            ("abandoned_waiting", "abandonments", "Customers who left while their request waited"),
            (
                "withdrawn",
                "withdrawals",
                "Requests taken out of a queue, as nobody waited any more",
            ),
        ):
            family = CounterMetricFamily(_PREFIX + name, meaning, labels=("page",))
            for page, fates in counts.items():
                family.add_metric((page,), fates[fate])
            yield family
        waiting = GaugeMetricFamily(
            _PREFIX + "waiting_requests", "Requests that wait for a worker", labels=("page",)
        )
        for page, number in self._figures.waiting().items():
            waiting.add_metric((page,), number)
        yield waiting
        refusals = CounterMetricFamily(
            _PREFIX + "refusals", "Answers the gateway gave by itself", labels=("status",)
        )
        for status, number in self._figures.refusals().items():
            refusals.add_metric((str(status),), number)
        yield refusals
        yield from self._connections()
        yield from self._admission()
        yield self._times.family()
        for name, (meaning, value) in self._figures.gauges().items():
            if name.endswith("_total"):
                yield CounterMetricFamily(_PREFIX + name.removesuffix("_total"), meaning, value)
            else:
                yield GaugeMetricFamily(_PREFIX + name, meaning, value)

    def _connections(self) -> Iterator[Metric]:
        admission, counts = self._figures.connections()
        found = {
            ("resumed", "accepted"): counts["resumed"],
            ("new", "accepted"): counts["accepted_new"],
            ("new", "refused"): counts["refused"],
            ("unknown", "failed"): counts["handshake_failed"],
            ("unknown", "timed_out"): counts["handshake_timed_out"],
            ("unknown", "turned_away"): counts["turned_away"],
        }
        family = CounterMetricFamily(
            _PREFIX + "connections",
            "TLS connections: whether they resume a session, and what became of them",
            labels=("admission", "kind", "outcome"),
        )
        for (kind, outcome), number in found.items():
            family.add_metric((admission, kind, outcome), number)
        yield family
        yield GaugeMetricFamily(
            _PREFIX + "handshakes_under_way_connections",
            "TLS handshakes that have begun and are not over",
            counts["under_way"],
        )

    def _admission(self) -> Iterator[Metric]:
        """What the admission policy says of itself, as far as it does; `policy` is both names."""
        policy, snapshot = self._figures.policy()
        admission = snapshot.get("admission")
        if not isinstance(admission, Mapping):
            return
        for key, name, meaning in _ADMISSION:
            value = admission.get(key)
            if isinstance(value, int | float):
                kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
                family = kind(
                    f"{_PREFIX}admission_{name.removesuffix('_total')}", meaning, labels=("policy",)
                )
                family.add_metric((policy,), value)
                yield family
