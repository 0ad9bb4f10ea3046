"""The wasted-work meter: real seconds spent on requests whose clients left.

Only such requests use the lock, so it does not delay others.
"""

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

Outcome = Literal["effective", "too_late", "failed"]


@dataclass(slots=True)
class Counts:
    """The counts of the meter since the process started.

    `wasted_…` is time after the client had left that mode `cancel` can save, `kept_…` that had to
    be finished, and `unanswered_…` time before the client left. `finished` requests ran to their
    end. `cancels_attempted` are effective, too late, failed, or still in progress.
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
    """Count a cancel: `effective`, `too_late` (the query ended first) or `failed` (unconfirmed)."""
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
