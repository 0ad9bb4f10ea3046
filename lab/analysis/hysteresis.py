"""Hysteresis: how long the shop stays slow after a rush is over.

Times are paper seconds.

At time t one looks at the attempts that ended in the ten seconds up to t, answered or left by
their customers; a customer who leaves counts as an endless response time, one who is turned away is
not counted (who is told at once has not waited). Their 95th percentile is *normal* as long as it is
at most twice that of the calm before the rush; where that calm is not known, or endless itself,
nothing is normal. Recovered is the first time after the rush from which on it is normal for ten
seconds without a break, of which at least half are known.
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
from loadgen.attempts import AttemptOutcome

CALM_RHO = 0.9
RUSH_RHO = 3.0
RUSH_S = 60.0
WARM_UP_S = 60.0
BEFORE_S = 360.0
"""Calm before the rush, the warm-up included."""
AFTER_S = 900.0
"""So long is watched; who has not recovered by then has not at all."""
QUICK_AFTER_S = 300.0

WINDOW_S = 10.0
STAYS_S = 10
FEWEST = 5
"""Attempts in a window that say something; with fewer the percentile is not known."""
PERCENT = 95.0
NORMAL_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Conduct:
    """How customers take it when nothing comes."""

    key: str
    title: str
    what: str
    changes: Mapping[str, Any]
    """Of the spec's section `[customers]`."""


CONDUCTS = (
    Conduct(
        "published",
        "LIFO-Pri's customers",
        "Four in ten who have waited in vain ask again, at most five times; each session offers "
        "less work to a shop that answers nobody than to one that works.",
        {},
    ),
    Conduct(
        "stubborn",
        "Stubborn customers",
        "Nine in ten ask again, up to ten times: a session whose first page never comes asks for "
        "it nearly seven times, more work than all pages it planned, so that ρ = 0.9 is an "
        "overload as long as nobody is answered.",
        {"retry_probability": 0.9, "max_retries": 10},
    ),
)


def schedule(*, quick: bool) -> list[dict[str, float]]:
    """Calm, rush, calm: the steps of `load.schedule`."""
    after_s = QUICK_AFTER_S if quick else AFTER_S
    return [
        {"duration_s": BEFORE_S, "rho": CALM_RHO},
        {"duration_s": RUSH_S, "rho": RUSH_RHO},
        {"duration_s": after_s, "rho": CALM_RHO},
    ]


def course_of(
    attempts: pa.Table, samples: Mapping[str, Sequence[Any]], arrivals_until_s: float
) -> dict[str, Any]:
    """Second by second since the start, JSON-ready.

    `response_p95_s` (None where too few attempts ended; "inf" where too many were left),
    `answered_ratio` of the attempts that ended, `waiting` requests. And `calm_p95_s`: of the calm
    before the rush; `arrivals_until_s`: what follows is the end of those who were there.
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
    ended_s: npt.NDArray[np.float64],
    times_s: npt.NDArray[np.float64],
    grid: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """The 95th percentile of the times that ended in the WINDOW_S up to each place of the grid;
    nan where fewer than FEWEST did."""
    order = np.argsort(ended_s, kind="stable")
    ended_s, times_s = ended_s[order], times_s[order]
    first = np.searchsorted(ended_s, grid - WINDOW_S, side="right")
    last = np.searchsorted(ended_s, grid, side="right")
    return np.array(
        [
            _percentile(times_s[low:high]) if high - low >= FEWEST else np.nan
            for low, high in zip(first, last, strict=True)
        ]
    )


def recovered_s(p95_s: Sequence[float | None], normal_p95_s: float | None) -> float | None:
    """Seconds after the rush until the percentile is normal and stays so; None: not at all.

    `p95_s` has a value per second from the start, the first at 1 s, the last while customers still
    arrive; None is not known, and passed over, but at least half of STAYS_S must be known. Without
    a normal (None) nobody recovers.
    """
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
    """Of the repetitions of one policy: the median of those that are known; None where none is, or
    where it is endless."""
    known = [calm for calm in calms if calm is not None]
    middle = statistics.median(known) if known else math.inf
    return middle if math.isfinite(middle) else None


def as_numbers(values: Sequence[float | str | None]) -> list[float | None]:
    """As `course_of` wrote them, read back from JSON."""
    return [math.inf if isinstance(value, str) else value for value in values]


def _plain(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return "inf" if math.isinf(value) else round(float(value), 3)


def _percentile(times_s: npt.NDArray[np.float64]) -> float:
    """The PERCENT-th by order (no interpolation, which infinite times would spoil)."""
    if not len(times_s):
        return math.nan
    rank = math.ceil(PERCENT / 100 * len(times_s)) - 1
    return float(np.sort(times_s)[rank])


def _answered(
    ended_s: npt.NDArray[np.float64],
    completed: npt.NDArray[np.bool_],
    grid: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    order = np.argsort(ended_s, kind="stable")
    ended_s = ended_s[order]
    total = np.concatenate([[0], np.cumsum(completed[order])])
    first = np.searchsorted(ended_s, grid - WINDOW_S, side="right")
    last = np.searchsorted(ended_s, grid, side="right")
    with np.errstate(invalid="ignore"):
        shares: npt.NDArray[np.float64] = (total[last] - total[first]) / np.where(
            last > first, last - first, np.nan
        )
    return shares


def _at(
    time_s: Sequence[float], values: Sequence[float], grid: npt.NDArray[np.float64]
) -> list[int]:
    """The newest value at each place of the grid."""
    place = np.searchsorted(np.asarray(time_s, dtype=float), grid, side="right") - 1
    found = np.asarray(values)[np.maximum(place, 0)]
    return [int(value) for value in np.where(place >= 0, found, 0)]
