"""The figures of merit of eDragon's figures, read off the metrics of one run.

Owns: their definitions. Must not know: which case they are read from.

Metrics of a run: `duration_s`, `bin_s`, and for each of `applications` counts of the run
(`sessions`, `completed`, `refused`, `timed_out`, `replies`), `response_p95_s`, `processors` (mean
assigned) and `series`, a value for every `bin_s` seconds: `sessions_ps`, `replies_ps`,
`processors`.
"""

from typing import Any

from lab.experiments.reproduction.edragon_zones import Zone, mean_over
from lab.experiments.reproduction.store import Metrics, Value


def _application(metrics: Metrics, i: int) -> Any:
    return metrics["applications"][i]


def throughput_ps(metrics: Metrics) -> float:
    """Replies/s over the whole run, all applications."""
    replies = sum(one["replies"] for one in metrics["applications"])
    return float(replies / metrics["duration_s"])


def count(name: str) -> Value:
    """Sessions of that fate, all applications."""
    return lambda metrics: float(sum(one[name] for one in metrics["applications"]))


def unattended(metrics: Metrics) -> float:
    """Sessions refused or timed out."""
    return count("refused")(metrics) + count("timed_out")(metrics)


def response_p95_s(metrics: Metrics) -> float | None:
    """95th percentile of the first application's response times; None without a reply."""
    found: float | None = _application(metrics, 0)["response_p95_s"]
    return found


def processors(metrics: Metrics) -> float:
    """Assigned to the first application, mean over the run."""
    return float(_application(metrics, 0)["processors"])


def at(series: str, application: int, i: int) -> Value:
    """One bin of a series."""

    def value(metrics: Metrics) -> float | None:
        values = _application(metrics, application)["series"][series]
        return float(values[i]) if i < len(values) else None

    return value


def over(series: str, application: int, zone: Zone) -> Value:
    """The mean of a series over a zone."""
    return lambda metrics: mean_over(
        _application(metrics, application)["series"][series], metrics["bin_s"], zone
    )


def over_both(series: str, zone: Zone) -> Value:
    """The sum of both applications' means over a zone."""

    def value(metrics: Metrics) -> float | None:
        found = [over(series, i, zone)(metrics) for i in range(len(metrics["applications"]))]
        return None if None in found else sum(one or 0.0 for one in found)

    return value
