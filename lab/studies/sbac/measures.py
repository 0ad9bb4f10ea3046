"""The metrics of SBAC's live runs, and the values of its figures."""

from operator import itemgetter

from lab.analysis.outcomes import completed_by, outcomes_of
from lab.files.run_folder import RunFolder
from lab.results.metrics import Metrics, Value
from lab.spec.runs import ShopRun


def _percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def throughput(capacity_rps: float, mean: float) -> Value:
    """Return a metric: the completed sessions as a percentage of the sessions of `mean` requests
    that the server could handle (equation 1)."""

    return lambda metrics: (
        100 * metrics["completed"] * mean / (capacity_rps * metrics["arrivals_s"])
    )


def useful_utilisation(metrics: Metrics) -> float:
    """Return the server time spent on completed sessions, as a percentage of the time with arrivals
    (section 6)."""
    return float(100 * metrics["useful_busy_s"] / metrics["arrivals_s"])


def useful_over_load(load: float) -> Value:
    """Return the function that divides useful utilisation by the offered load. This project assumes
    that the published values are this ratio."""
    return lambda metrics: useful_utilisation(metrics) / load


completed_length: Value = itemgetter("completed_length")
"""The mean length of completed sessions, in requests."""


def aborted_percent(metrics: Metrics) -> float | None:
    """Return the aborted sessions as a percentage of the admitted sessions."""
    return _percent(metrics["aborted"], metrics["sessions"] - metrics["rejected"])


def completed_percent(metrics: Metrics) -> float:
    """Return the completed sessions as a percentage of all sessions that arrived."""
    return float(100 * metrics["completed"] / metrics["sessions"])


def rejection_percent(metrics: Metrics) -> float | None:
    """Return the rejection messages as a percentage of the requests that the server handled
    (section 8)."""
    return _percent(metrics["rejected"], metrics["served"] + metrics["rejected"])


def bin_percent(which: str, position: int) -> Value:
    """Return a metric: the percentage of sessions whose lengths are in a bin (section 6). `which`
    is the name of the metric that has the bins."""

    return lambda metrics: _percent(metrics[which][position], sum(metrics[which]))


def kind_completed_percent(kind: int) -> Value:
    """Return a metric: the completed sessions of one class of the mixture, as a percentage of the
    class's sessions that arrived."""

    return lambda metrics: _percent(
        metrics["kinds"][kind]["completed"], metrics["kinds"][kind]["sessions"]
    )


def completed_of_admitted_percent(metrics: Metrics) -> float | None:
    """Return the completed sessions as a percentage of the admitted sessions, for runs in which all
    admitted sessions finish."""
    aborted = aborted_percent(metrics)
    return None if aborted is None else 100 - aborted


def live_throughput(mean: float) -> Value:
    """Return a metric: the throughput of the sessions that a live run completes before arrivals
    end, as a percentage of the capacity."""

    return lambda metrics: throughput(metrics["capacity_rps"], mean)(
        {**metrics, "completed": metrics["completed_by_end"]}
    )


def live_metrics(folder: RunFolder, run: ShopRun, capacity_rps: float | None) -> Metrics:
    """Return the metrics of a live run's sessions. The counts have the names of the simulated
    metrics."""
    attempts = folder.attempts()
    fates = outcomes_of(attempts, run.rho).fates
    assert run.duration_s is not None
    return {
        "arrivals_s": run.duration_s,
        "completed_by_end": completed_by(attempts, run.duration_s),
        "capacity_rps": capacity_rps,
        "sessions": fates.arrived,
        "rejected": fates.rejected,
        "completed": fates.completed,
        "aborted": fates.lost + fates.never_let_in,
        "completed_length": fates.mean_completed_length,
    }
