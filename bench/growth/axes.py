"""The axes of the growth benchmark: sizes, and the measured costs."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from statistics import median

FACTORS = (1, 3, 10, 30, 100)
QUICK_FACTORS = (1, 10)

Costs = Mapping[str, float]
"""The cost at one size, by curve."""
Measure = Callable[[int], Costs]


@dataclass(frozen=True)
class Axis:
    """A size that grows up to a hundredfold, and the cost that is measured at each size.

    The context manager `opened` yields the function that measures the costs at one size. `takes_s`
    has three expected durations in real seconds: of the preparation, of the measurement at the
    usual size, and of the measurement at a hundred times the usual size.
    """

    key: str
    title: str
    x_label: str
    y_label: str
    usual: int
    opened: Callable[[bool], AbstractContextManager[Measure]]
    """The argument is True for a quick measurement."""
    takes_s: tuple[float, float, float]

    def sizes(self, is_quick: bool) -> list[int]:
        return [self.usual * factor for factor in (QUICK_FACTORS if is_quick else FACTORS)]

    def expected_s(self, size: int) -> float:
        _, at_usual, at_most = self.takes_s
        share = (size / self.usual - 1) / (FACTORS[-1] - 1)
        return at_usual + share * (at_most - at_usual)


@dataclass
class Grown:
    """The measured costs of one axis: for each curve, the cost by size."""

    axis: Axis
    curves: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, size: int, costs: Costs) -> None:
        for curve, cost in costs.items():
            self.curves.setdefault(curve, {})[size] = cost

    def growth(self, curve: str) -> float:
        """Return the cost at the largest size, divided by the cost at the usual size."""
        costs = self.curves[curve]
        return costs[max(costs)] / costs[min(costs)]


def repeated(measure: Callable[[], float], rounds: int) -> float:
    return median(measure() for _ in range(rounds))
