"""Hysteresis: the time for which the shop stays slow after a rush. Times are paper seconds.

The percentile at time t is the 95th percentile of the response times of the attempts that ended in
the ten seconds before t. If the customer left, the response time is infinite. Attempts that were
turned away do not count.

The percentile is *normal* while it is at most twice the normal percentile. The normal percentile is
the median, over a policy's repetitions, of the percentile in the calm before the rush; it must be
known and finite. The shop has recovered at the first time after the rush from which the percentile
stays normal for ten seconds. In these seconds, there are ten percentiles, one per second. The first
percentile and at least four others must be known.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lab.analysis.outcomes import is_outcome
from loadgen.records.attempts import AttemptOutcome

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

CALM_RHO = 0.9
RUSH_RHO = 3.0
RUSH_S = 60.0
WARM_UP_S = 60.0
BEFORE_S = 360.0
"""The duration of the calm before the rush, including the warm-up, in paper seconds."""
AFTER_S = 900.0
"""The paper seconds for which a run is observed after the rush; a later recovery does not count."""
QUICK_AFTER_S = 300.0

WINDOW_S = 10.0
STAYS_S = 10
FEWEST = 5
"""The minimum number of attempts in a window for which a percentile is calculated."""
PERCENT = 95.0
NORMAL_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Conduct:
    """The behaviour of customers whose requests get no answer."""

    key: str
    title: str
    what: str
    changes: Mapping[str, Any]
    """The changes that this behaviour makes to the spec's section `[customers]`."""


CONDUCTS = (
    Conduct(
        "published",
        "LIFO-Pri's customers",
        "Four in ten customers whose patience ends try again, at most five times. A session causes "
        "less work at a shop that does not answer than at a shop that answers.",
        {},
    ),
    Conduct(
        "stubborn",
        "Stubborn customers",
        "Nine in ten customers whose patience ends try again, at most ten times. If the first page "
        "never comes, a customer requests it nearly seven times on average. These requests are "
        "more work than all planned pages, so ρ = 0.9 is an overload as long as the shop does not "
        "answer.",
        {"retry_probability": 0.9, "max_retries": 10},
    ),
)


def schedule(*, quick: bool) -> list[dict[str, float]]:
    """Return the steps of `load.schedule` for calm, rush and calm."""
    after_s = QUICK_AFTER_S if quick else AFTER_S
    return [
        {"duration_s": BEFORE_S, "rho": CALM_RHO},
        {"duration_s": RUSH_S, "rho": RUSH_RHO},
        {"duration_s": after_s, "rho": CALM_RHO},
    ]


def course_of(
    attempts: pa.Table, samples: Mapping[str, Sequence[Any]], arrivals_until_s: float
) -> dict[str, Any]:
    """Return the course of a run as JSON-ready values. Each list has one value per paper second.

    - `response_p95_s`: the percentile; None if too few attempts ended, "inf" if it is infinite,
    - `answered_ratio`: the answered share of the attempts that ended,
    - `waiting`: the number of waiting requests,
    - `calm_p95_s`: the percentile of the calm before the rush,
    - `arrivals_until_s`: the time of the last arrival.
    """
    rows = attempts.filter(pc.not_equal(attempts.column("attempt"), 0))
    completed = is_outcome(rows, AttemptOutcome.COMPLETED)
    left = is_outcome(rows, AttemptOutcome.TIMED_OUT)
    ended_s = rows.column("finished_s").to_numpy()
    times_s = np.where(left, np.inf, ended_s - rows.column("started_s").to_numpy())
    counted = completed | left
    last_s = math.ceil(float(np.max(samples["time_s"], initial=0.0)))
    grid = np.arange(1.0, last_s + 1.0)
    calm = counted & (ended_s > WARM_UP_S) & (ended_s <= BEFORE_S)
    return {
        "arrivals_until_s": arrivals_until_s,
        "calm_p95_s": _plain(_percentile(times_s[calm])),
        "response_p95_s": [
            _plain(value) for value in rolling(ended_s[counted], times_s[counted], grid)
        ],
        "answered_ratio": [_plain(value) for value in _answered(ended_s, completed, grid)],
        "waiting": _at(samples["time_s"], samples["waiting"], grid),
    }


def rolling(
    ended_s: Floats,
    times_s: Floats,
    grid: Floats,
) -> Floats:
    """Return the 95th percentile of the response times in the WINDOW_S seconds before each grid
    point.

    The value is nan if fewer than FEWEST attempts ended in the window.
    """
    order, first, last = _windows(ended_s, grid)
    times_s = times_s[order]
    return np.array(
        [
            _percentile(times_s[low:high]) if high - low >= FEWEST else np.nan
            for low, high in zip(first, last, strict=True)
        ]
    )


def recovered_s(p95_s: Sequence[float | None], normal_p95_s: float | None) -> float | None:
    """Return the seconds from the end of the rush until the percentile stays normal; None if it
    never stays normal or `normal_p95_s` is None. `p95_s` has a value for each second from 1 s to
    the last arrival; unknown values are None."""
    if normal_p95_s is None:
        return None
    limit_s = NORMAL_FACTOR * normal_p95_s
    for second in range(int(BEFORE_S + RUSH_S), len(p95_s) - STAYS_S + 2):
        first, *more = p95_s[second - 1 : second - 1 + STAYS_S]
        known = [value for value in (first, *more) if value is not None]
        if first is None or 2 * len(known) < STAYS_S:
            continue
        if all(value <= limit_s for value in known):
            return float(second - BEFORE_S - RUSH_S)
    return None


def normal_p95_s(calms: Sequence[float | None]) -> float | None:
    """Return the median of `calms`, the percentiles of the calm in a policy's repetitions; None if
    no percentile is known or the median is infinite.
    """
    known = [calm for calm in calms if calm is not None]
    middle = statistics.median(known) if known else math.inf
    return middle if math.isfinite(middle) else None


def as_numbers(values: Sequence[float | str | None]) -> list[float | None]:
    """Return the values of a JSON list from `course_of` as numbers; "inf" becomes infinity."""
    return [math.inf if isinstance(value, str) else value for value in values]


def _plain(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else round(float(value), 3)


def _percentile(times_s: Floats) -> float:
    """Return the percentile (PERCENT) by rank, because infinite times cannot be interpolated."""
    if not len(times_s):
        return math.nan
    rank = math.ceil(PERCENT / 100 * len(times_s)) - 1
    return float(np.sort(times_s)[rank])


def _windows(ended_s: Floats, grid: Floats) -> tuple[Indices, Indices, Indices]:
    """Return the indices that sort `ended_s`, and the begin and the end of each grid point's window
    in the sorted order."""
    order = np.argsort(ended_s, kind="stable")
    first, last = (
        np.searchsorted(ended_s[order], at, side="right") for at in (grid - WINDOW_S, grid)
    )
    return order, first, last


def _answered(
    ended_s: Floats,
    completed: npt.NDArray[np.bool_],
    grid: Floats,
) -> Floats:
    order, first, last = _windows(ended_s, grid)
    total = np.concatenate([[0], np.cumsum(completed[order])])
    with np.errstate(invalid="ignore"):
        shares: Floats = (total[last] - total[first]) / np.where(last > first, last - first, np.nan)
    return shares


def _at(time_s: Sequence[float], values: Sequence[float], grid: Floats) -> list[int]:
    place = np.searchsorted(np.asarray(time_s, dtype=float), grid, side="right") - 1
    found = np.asarray(values)[np.maximum(place, 0)]
    return [int(value) for value in np.where(place >= 0, found, 0)]
