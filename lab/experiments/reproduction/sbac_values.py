"""The figures of merit that SBAC's figures plot, read off the metrics of one simulation.

Owns: their definitions. Must not know: which case they are read from.
"""

from lab.experiments.reproduction.store import Metrics, Value


def throughput(capacity_rps: float, mean: float) -> Value:
    """Completed sessions, percent of S_s × time (eq. 1): what a server could complete."""

    def value(metrics: Metrics) -> float:
        return 100 * metrics["completed"] * mean / (capacity_rps * metrics["arrivals_s"])

    return value


def useful_utilisation(metrics: Metrics) -> float:
    """Server time on sessions that complete, percent of the time sessions arrive (section 6)."""
    return float(100 * metrics["useful_busy_s"] / metrics["arrivals_s"])


def useful_over_load(load: float) -> Value:
    """The same divided by the offered load, as the published values must be (design.md)."""
    return lambda metrics: useful_utilisation(metrics) / load


def completed_length(metrics: Metrics) -> float | None:
    """Mean length of completed sessions, requests."""
    return metrics["completed_length"]


def aborted_percent(metrics: Metrics) -> float | None:
    """Aborted sessions, percent of those admitted."""
    admitted = metrics["sessions"] - metrics["rejected"]
    return 100 * metrics["aborted"] / admitted if admitted else None


def completed_percent(metrics: Metrics) -> float:
    """Completed sessions, percent of all that came."""
    return float(100 * metrics["completed"] / metrics["sessions"])


def rejection_percent(metrics: Metrics) -> float | None:
    """Rejection messages, percent of the requests a server handled (section 8)."""
    handled = metrics["served"] + metrics["rejected"]
    return 100 * metrics["rejected"] / handled if handled else None


def bin_percent(which: str, position: int) -> Value:
    """Share of sessions in a bin by length (section 6); `which` names the metric."""

    def value(metrics: Metrics) -> float | None:
        total = sum(metrics[which])
        return 100 * metrics[which][position] / total if total else None

    return value


def kind_completed_percent(kind: int) -> Value:
    """Completed sessions of one class of the mixture, percent of those that came."""

    def value(metrics: Metrics) -> float | None:
        counts = metrics["kinds"][kind]
        return 100 * counts["completed"] / counts["sessions"] if counts["sessions"] else None

    return value
