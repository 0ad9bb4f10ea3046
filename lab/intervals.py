"""Means of repetitions with 95 % confidence intervals, from Student's t distribution."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the half-width of its 95 % interval; a single run has no half-width."""

    mean: float
    half_width: float | None

    @property
    def is_above_zero(self) -> bool:
        """Whether the whole interval is above zero; False if the estimate has no interval."""
        return self.half_width is not None and self.mean > self.half_width

    @property
    def is_below_zero(self) -> bool:
        """Whether the whole interval is below zero; False if the estimate has no interval."""
        return self.half_width is not None and self.mean < -self.half_width

    def scaled(self, factor: float) -> "Estimate":
        """Return the estimate in another unit, which is 1 / `factor` of this unit."""
        half = None if self.half_width is None else factor * self.half_width
        return Estimate(factor * self.mean, half)

    def text(self, digits: int = 0) -> str:
        """Return the estimate as text for tables: `123 ± 4`, or only the mean."""
        mean = round(self.mean, digits) + 0.0  # avoid −0
        if self.half_width is None:
            return f"{mean:,.{digits}f}"
        return f"{mean:,.{digits}f} ± {self.half_width:,.{digits}f}"


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and interval of independent repetitions. Raises ValueError for no values."""
    if not values:
        raise ValueError("no repetitions to average")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Estimate(mean, None)
    return Estimate(mean, half_width(statistics.stdev(values), len(values)))


def estimate_known(values: Iterable[float | None]) -> Estimate | None:
    """Return the mean and interval of the repetitions that have a value; None if none has one."""
    known = [value for value in values if value is not None]
    return estimate(known) if known else None


def text_of(found: Estimate | None, digits: int = 0) -> str:
    """Return an estimate as text for tables, or a dash if it is unknown."""
    return found.text(digits) if found else "–"


def half_width(deviation: float, repetitions: int) -> float:
    """Return the half-width of a mean's interval, calculated from the standard deviation of two or
    more repetitions.
    """
    return t_quantile(0.975, repetitions - 1) * deviation / math.sqrt(repetitions)


def simultaneous(values: Sequence[float], looks: int) -> Estimate:
    """Return the mean and interval of one of `looks` estimates, with Bonferroni's correction.

    With at least 95 % probability, all `looks` intervals contain their true values.
    """
    found = estimate(values)
    if found.half_width is None:
        return found
    freedom = len(values) - 1
    wider = t_quantile(1 - 0.025 / looks, freedom) / t_quantile(0.975, freedom)
    return Estimate(found.mean, found.half_width * wider)


@lru_cache(maxsize=256)
def t_quantile(probability: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution for `probability` (0.5 to 1), found by
    bisection.
    """
    low, high = 0.0, 1.0
    while _t_below(high, freedom) < probability:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _t_below(middle, freedom) < probability else (low, middle)
    return high


def _t_below(t: float, freedom: int) -> float:
    """Return the exact probability of a value below `t` in Student's t distribution (Abramowitz and
    Stegun, 26.7.3 and 26.7.4).
    """
    angle = math.atan2(t, math.sqrt(freedom))
    term = math.cos(angle) if freedom % 2 else 1.0
    total = 0.0
    for k in range(2 + freedom % 2, freedom + 1, 2):
        total += term
        term *= (k - 1) / k * math.cos(angle) ** 2
    within = math.sin(angle) * total
    if freedom % 2:
        within = 2 / math.pi * (angle + within)
    return (1 + within) / 2


def differences(these: Mapping[int, float], those: Mapping[int, float]) -> dict[int, float]:
    """Return the difference `these` minus `those` for each seed that both have."""
    return {seed: these[seed] - those[seed] for seed in sorted(these.keys() & those.keys())}


def paired(
    these: Sequence[Mapping[int, float]], those: Sequence[Mapping[int, float]]
) -> Estimate | None:
    """Return the mean of the paired differences `these` minus `those`, over several parts (loads).

    Every part maps a seed to a value. Both values of a seed come from the same customers, whose
    random differences cancel out. The result is None if `these` and `those` share no seed.
    """
    parts = [differences(one, other) for one, other in zip(these, those, strict=True)]
    return over_parts(parts) if any(parts) else None


def over_parts(parts: Sequence[Mapping[int, float]]) -> Estimate:
    """Return the mean over several parts (loads), each with its values by seed.

    Empty parts do not count. A repetition is a seed that all non-empty parts have. Without such a
    seed, the result is the mean of the parts' means, without an interval. Raises ValueError if all
    parts are empty.
    """
    there = [part for part in parts if part]
    if whole := set.intersection(*(set(part) for part in there)) if there else set():
        return estimate([statistics.fmean(part[seed] for part in there) for seed in sorted(whole)])
    return Estimate(estimate([statistics.fmean(part.values()) for part in there]).mean, None)
