"""Means with 95 % confidence intervals from repetitions.

Owns: Student's t for the few repetitions an experiment has. Must not know: what is averaged.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Student's t, 97.5 % quantile, by degrees of freedom 1 to 30; beyond that the normal quantile is
# within 4 %. A table, because nothing else here would need a statistics package.
# fmt: off
_T_975 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)
# fmt: on


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and the half-width of its 95 % interval; None where one run gives none."""

    mean: float
    half_width: float | None

    @property
    def is_above_zero(self) -> bool:
        """Whether the whole interval is; never without one."""
        return self.half_width is not None and self.mean > self.half_width

    @property
    def is_below_zero(self) -> bool:
        """Whether the whole interval is; never without one."""
        return self.half_width is not None and self.mean < -self.half_width

    def text(self, digits: int = 0) -> str:
        """For tables: `123 ± 4`, or the mean alone."""
        mean = round(self.mean, digits) + 0.0  # no negative zero
        if self.half_width is None:
            return f"{mean:,.{digits}f}"
        return f"{mean:,.{digits}f} ± {self.half_width:,.{digits}f}"


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and interval of independent repetitions; ValueError when there is none."""
    if not values:
        raise ValueError("no repetitions to average")
    mean = statistics.fmean(values)
    if len(values) == 1:
        return Estimate(mean, None)
    return Estimate(mean, half_width(statistics.stdev(values), len(values)))


def half_width(deviation: float, repetitions: int) -> float:
    """Of the mean's interval, for two repetitions or more that scatter with this deviation."""
    freedom = repetitions - 1
    quantile = _T_975[freedom - 1] if freedom <= len(_T_975) else 1.96
    return quantile * deviation / math.sqrt(repetitions)


def differences(these: Mapping[int, float], those: Mapping[int, float]) -> dict[int, float]:
    """By seed, of the seeds that both have: `these` less `those`, which met the same customers."""
    return {seed: these[seed] - those[seed] for seed in sorted(these.keys() & those.keys())}


def over_parts(parts: Sequence[Mapping[int, float]]) -> Estimate:
    """Mean over several parts (loads), each with its values by seed; ValueError when all are empty.

    A repetition is a seed that every part has. Where there is none it is the mean of the parts'
    means, without an interval.
    """
    there = [part for part in parts if part]
    if whole := set.intersection(*(set(part) for part in there)) if there else set():
        return estimate([statistics.fmean(part[seed] for part in there) for seed in sorted(whole)])
    return Estimate(estimate([statistics.fmean(part.values()) for part in there]).mean, None)
