"""What is kept of a run of the ad server's clients, and the values that its figures plot."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.results.metrics import Metrics, Value
from loadgen.ad_clients import PRIORITIES
from loadgen.attempts import AttemptOutcome

STREAM = 100
"""Requests of a priority that Fig. 5 shows."""


def metrics(attempts: pa.Table, requests: int) -> dict[str, Any]:
    """By priority: how many requests, mean response time, relative standard deviation, the stream.

    Of those that begin while all clients are there with equal chances: from when everybody has had
    a first answer (before, all come at once to a server that has nothing to do) until everybody has
    had the answers to `requests`. Times are seconds.
    """
    step, finished_s = attempts.column("step"), attempts.column("finished_s")
    first_s = pc.max(finished_s.filter(pc.equal(step, 0)))
    last_s = pc.max(finished_s.filter(pc.equal(step, requests - 1)))
    started_s = attempts.column("started_s")
    kept = attempts.filter(
        pc.and_(
            pc.and_(pc.greater_equal(started_s, first_s), pc.less(started_s, last_s)),
            pc.equal(attempts.column("outcome"), AttemptOutcome.COMPLETED.value),
        )
    ).sort_by("started_s")
    return {
        priority: _of(kept.filter(pc.equal(kept.column("page"), priority)))
        for priority in PRIORITIES
    }


def _of(attempts: pa.Table) -> dict[str, Any]:
    started_s = attempts.column("started_s").to_numpy()
    times_s: npt.NDArray[np.float64] = attempts.column("finished_s").to_numpy() - started_s
    count = len(times_s)
    mean_s = float(times_s.mean()) if count else None
    return {
        "requests": count,
        "mean_s": mean_s,
        "rsd_percent": 100 * float(times_s.std(ddof=1)) / mean_s if mean_s and count > 1 else None,
        "stream_s": [float(each) for each in times_s[:STREAM]],
    }


def response_s(priority: str) -> Value:
    """Mean response time of a priority's requests."""

    def value(found: Metrics) -> float | None:
        seconds: float | None = found[priority]["mean_s"]
        return seconds

    return value


def rsd_percent(priority: str) -> Value:
    """Relative standard deviation of a priority's response times: the smaller, the more
    predictable (section V.C)."""

    def value(found: Metrics) -> float | None:
        percent: float | None = found[priority]["rsd_percent"]
        return percent

    return value


def gain_percent(found: Metrics) -> float | None:
    """Return how far the mean response time of high priority is below that of low, percent."""
    low, high = (found[priority]["mean_s"] for priority in PRIORITIES)
    return None if low is None or high is None else 100 * (1 - high / low)


def rsd_drop_points(found: Metrics) -> float | None:
    """Return how much lower the relative standard deviation is with high priority, points."""
    low, high = (found[priority]["rsd_percent"] for priority in PRIORITIES)
    return None if low is None or high is None else low - high


def ideal_gain(threads: int, concepts: int, cpus: int) -> float:
    """Return the gain, 0 to 1, of a request that is all search and has the machine to itself.

    A thread searches one whole concept at a time, so the concepts are searched in rounds; threads
    beyond the CPUs share them equally.
    """
    at_a_time = min(threads, concepts)
    rounds, left = divmod(concepts, at_a_time)
    took = rounds * max(1.0, at_a_time / cpus) + (max(1.0, left / cpus) if left else 0.0)
    return 1 - took / concepts
