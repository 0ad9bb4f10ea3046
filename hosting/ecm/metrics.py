"""The CPU manager's metrics for Prometheus."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

_PREFIX: Final = "doorbuster_cpu_manager_"

_OF_APPLICATIONS: Final = (
    ("requested_processors", "requested", "Processors that the application requests (R_i)"),
    ("assigned_processors", "assigned", "Processors that the application has (A_i)"),
    ("priority", "priority", "Weight of the application (P_i)"),
    (
        "application_cpu_seconds_total",
        "total_cpu_s",
        "CPU time used by the application's process tree",
    ),
)
"""The metrics of each application: (name, field of `CpuManager.status`, meaning)."""


_Values = Mapping[tuple[str, ...], float]
"""The values of a metric by the values of its labels."""


class CpuManagerMetrics(Collector):
    """A collector of the manager's metrics, with a separate registry."""

    def __init__(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """Keep `status`, the function that returns the state (`CpuManager.status`)."""
        self._status = status
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def collect(self) -> Iterator[Metric]:
        values: _Values
        status = self._status()
        # An application that has left may return with the same name.
        present = [one for one in status["applications"] if not one["has_left"]]
        yield _family(
            "info",
            "Always 1; the label names the rule for applications that share a processor",
            {(status["sharing"],): 1},
            "sharing",
        )
        for name, meaning, value in (
            ("processors", "Processors of the platform", len(status["cpus"])),
            ("cpu_seconds_total", "CPU time used by the manager itself", time.process_time()),
            ("interval_seconds", "Configured time between two decisions", status["interval_s"]),
            (
                "last_interval_seconds",
                "Measured time between the last two decisions",
                status["last_interval_s"],
            ),
            (
                "turns_total",
                "Intervals since the manager's start, each usually with one decision",
                status["turns"],
            ),
        ):
            yield _family(name, meaning, {(): value})
        for name, key, meaning in _OF_APPLICATIONS:
            values = {(one["application"],): one[key] for one in present}
            yield _family(name, meaning, values, "application")
        yield _family(
            "processor_info",
            "Always 1; the labels name an application and a processor that it has or shares",
            {(one["application"], str(cpu)): 1 for one in present for cpu in one["processors"]},
            "application",
            "processor",
        )


def _family(name: str, meaning: str, values: _Values, *labels: str) -> Metric:
    kind = CounterMetricFamily if name.endswith("_total") else GaugeMetricFamily
    family = kind(_PREFIX + name.removesuffix("_total"), f"{meaning}.", labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
