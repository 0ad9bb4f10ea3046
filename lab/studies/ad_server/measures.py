"""The metrics of a run of the ad server's clients, and the values of the figures."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.results.metrics import Metrics, Value
from lab.studies.ad_server.cases import STREAM
from loadgen.customers.ad_clients import PRIORITIES
from loadgen.records.attempts import AttemptOutcome


def metrics(attempts: pa.Table, requests: int) -> dict[str, Any]:
    """Return, for each priority, the number of requests and the metrics of their response times.

    The metrics are the mean, the relative standard deviation, and the first response times. A
    completed request counts if it began after every client had its first answer, and before the
    last client had its answer number `requests`. Times are in real seconds.
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
    """Return a metric: the mean response time of the requests of one priority."""
    return lambda found: found[priority]["mean_s"]


def rsd_percent(priority: str) -> Value:
    """Return a metric: the relative standard deviation of the response times of one priority.
    A smaller deviation means more predictable response times (section IV.C)."""
    return lambda found: found[priority]["rsd_percent"]


def gain_percent(found: Metrics) -> float | None:
    """Return the gain: by how many percent high priority lowers the mean response time."""
    low, high = (found[priority]["mean_s"] for priority in PRIORITIES)
    return None if low is None or high is None else 100 * (1 - high / low)


def rsd_drop_points(found: Metrics) -> float | None:
    """Return by how many percentage points high priority lowers the relative standard deviation."""
    low, high = (found[priority]["rsd_percent"] for priority in PRIORITIES)
    return None if low is None or high is None else low - high
