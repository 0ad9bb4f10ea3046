"""The wasted-work meter: time spent on requests whose clients left, and the effect of cancelling.

The meter counts only requests whose clients have left, so its lock does not delay other requests.
Times are real seconds: CPU time of the request's thread, and its waits for query results.
"""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

Outcome = Literal["effective", "too_late", "failed"]


@dataclass(slots=True)
class Counts:
    """The counts of the meter since the process started.

    - `wasted_…`: time spent after the client had left, on requests that may be cancelled; mode
      `cancel` can save this time.
    - `kept_…`: time spent after the client had left, on requests that had to be finished (not
      cancellable, or past their commit point).
    - `unanswered_…`: time spent before the client left, on requests that were therefore never
      answered.
    - `finished` and `interrupted`: requests that ran to their end, and requests that did not.
    - `cancels_attempted`: effective + too late + failed + attempts in progress.
    """

    disconnects: int = 0
    interrupted: int = 0
    finished: int = 0
    cancels_attempted: int = 0
    cancels_effective: int = 0
    cancels_too_late: int = 0
    cancels_failed: int = 0
    wasted_cpu_s: float = 0.0
    wasted_database_s: float = 0.0
    kept_cpu_s: float = 0.0
    kept_database_s: float = 0.0
    unanswered_cpu_s: float = 0.0
    unanswered_database_s: float = 0.0


_counts = Counts()
_lock = threading.Lock()


def client_left() -> None:
    with _lock:
        _counts.disconnects += 1


def cancel_attempted() -> None:
    with _lock:
        _counts.cancels_attempted += 1


def cancel_over(outcome: Outcome) -> None:
    """Count the outcome of an attempt to cancel a query.

    `effective`: the attempt ended the query. `too_late`: the query ended before the attempt.
    `failed`: the database did not confirm the attempt in time.
    """
    name = f"cancels_{outcome}"
    with _lock:
        setattr(_counts, name, getattr(_counts, name) + 1)


def request_over(
    *,
    interrupted: bool,
    kept: bool,
    before: tuple[float, float],
    after: tuple[float, float],
) -> None:
    """Count the end of a request whose client has left.

    `before` and `after` are (CPU seconds, database seconds) before and after the client left.
    """
    with _lock:
        if interrupted:
            _counts.interrupted += 1
        else:
            _counts.finished += 1
        _counts.unanswered_cpu_s += before[0]
        _counts.unanswered_database_s += before[1]
        if kept:
            _counts.kept_cpu_s += after[0]
            _counts.kept_database_s += after[1]
        else:
            _counts.wasted_cpu_s += after[0]
            _counts.wasted_database_s += after[1]


def snapshot() -> Mapping[str, int | float]:
    """Return the value of each count by its name."""
    with _lock:
        return asdict(_counts)
