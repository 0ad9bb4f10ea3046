"""The metrics of a study's cases, repetition by repetition."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lab.intervals import Estimate, estimate_known
from lab.spec.cases import AnyCase

Metrics = Mapping[str, Any]

Value = Callable[[Metrics], float | None]
"""A function that reads a number from the metrics of one run; None if the number is missing."""


class Results:
    """The metrics of each case's repetitions, including `seed`, in the order of the seeds."""

    def __init__(self, found: Mapping[str, Sequence[Metrics]]) -> None:
        self._found = found

    @classmethod
    def of_runs(cls, runs: Iterable[tuple[AnyCase, int, Metrics]]) -> "Results":
        """Return the results of runs, given as (case, seed, metrics) in any order."""
        found: dict[str, list[Metrics]] = {}
        for case, seed, metrics in sorted(runs, key=lambda run: run[1]):
            found.setdefault(case.id, []).append({"seed": seed, **metrics})
        return cls(found)

    def number(self, cases: Iterable[AnyCase]) -> int:
        """Return the number of runs of these cases, each case counted once."""
        return sum(len(self._found.get(id, ())) for id in {case.id for case in cases})

    def of(self, case: AnyCase) -> Sequence[Metrics]:
        return self._found.get(case.id, ())

    def together(self, *cases: AnyCase) -> dict[int, tuple[Metrics, ...]]:
        """Return the repetitions of these cases by seed, for the seeds that all cases have."""
        by_seed = [{metrics["seed"]: metrics for metrics in self.of(case)} for case in cases]
        shared = set.intersection(*(set(each) for each in by_seed)) if by_seed else set()
        return {seed: tuple(each[seed] for each in by_seed) for seed in sorted(shared)}

    def by_seed(self, case: AnyCase, value: Value) -> dict[int, float]:
        """Return a metric by seed, without the repetitions that lack it, for paired differences."""
        return {
            metrics["seed"]: number
            for metrics in self.of(case)
            if (number := value(metrics)) is not None
        }

    def beside(self, other: "Results") -> "Results":
        """Return these results together with the results in `other`, which has different cases."""
        return Results({**self._found, **other._found})

    def estimate(self, case: AnyCase, value: Value) -> Estimate | None:
        """Return the mean and the 95 % interval of a metric; None if no repetition has this
        metric.
        """
        return estimate_known(map(value, self.of(case)))

    def mean(self, case: AnyCase, value: Value) -> float | None:
        """Return the mean without its interval."""
        found = self.estimate(case, value)
        return found and found.mean
