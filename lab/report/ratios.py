"""Ratios of a metric in one case to a metric in another case. Both cases have the same seeds, so
each repetition gives one ratio, in which the effects of the seed cancel out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.intervals import Estimate, differences, estimate, estimate_known
from lab.report.claims import NOTHING, Claim, Verdict, decided, is_above, is_between
from lab.report.drawing.pictures import Series
from lab.report.study_figures import beside
from lab.results.metrics import Results, Value
from lab.spec.cases import AnyCase


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of `value` in `over` to `value` in `under`."""

    over: AnyCase
    under: AnyCase
    value: Value

    def cases(self) -> Iterable[AnyCase]:
        return (self.over, self.under)

    def each(self, results: Results) -> dict[int, float]:
        """Return the ratio for each seed for which both cases have the metric."""
        found = {}
        for seed, (over, under) in results.together(self.over, self.under).items():
            above, below = self.value(over), self.value(under)
            if above is not None and below:
                found[seed] = above / below
        return found

    def estimate(self, results: Results) -> Estimate | None:
        """Return the mean of the ratios with its interval, or None if there are no ratios."""
        return estimate_known(self.each(results).values())


@dataclass(frozen=True, slots=True)
class RatioEntry:
    """A cell of a table: the published ratio next to the measured ratio."""

    ratio: Ratio
    published: float | None = None
    digits: int = 2

    def cases(self) -> Iterable[AnyCase]:
        return self.ratio.cases()

    def text(self, results: Results) -> str:
        theirs = None if self.published is None else f"{self.published:.{self.digits}f}"
        return beside(theirs, self.ratio.estimate(results), self.digits)


@dataclass(frozen=True, slots=True)
class RatioCurve:
    """A curve of ratios, with one ratio at each x."""

    label: str
    points: Sequence[tuple[float, Ratio]]

    def cases(self) -> Iterable[AnyCase]:
        return (case for _, ratio in self.points for case in ratio.cases())

    def series(self, results: Results) -> Series:
        found = [ratio.estimate(results) for _, ratio in self.points]
        return Series.of(self.label, [x for x, _ in self.points], found)


def below(text: str, required: str, smaller: Ratio, larger: Ratio) -> Claim:
    """Return the claim that one ratio is smaller than another ratio. The differences between the
    ratios in each repetition decide the claim. The claim cannot be decided if the 95 % interval of
    the difference contains 0. A single difference decides only if there is a single repetition."""

    def check(results: Results) -> Verdict:
        known = differences(larger.each(results), smaller.each(results))
        low, high = smaller.estimate(results), larger.estimate(results)
        if not known or low is None or high is None:
            return NOTHING
        found = estimate(list(known.values()))
        text = f"{low.text(2)} and {high.text(2)}, difference {found.text(2)}"
        made = results.together(*smaller.cases(), *larger.cases())
        return text, is_above(found) if len(known) > 1 or len(made) == 1 else None

    return Claim(text, required, [*smaller.cases(), *larger.cases()], check)


def below_one(text: str, required: str, ratio: Ratio) -> Claim:
    """Return the claim that a ratio is below 1. The claim cannot be decided if the ratio's 95 %
    interval contains 1.
    """

    def decide(found: Estimate) -> bool | None:
        is_larger = is_above(found, 1.0)
        return None if is_larger is None else not is_larger

    return decided(text, required, ratio.cases(), ratio.estimate, decide)


def ratio_within(
    text: str, required: str, ratio: Ratio, low: float, high: float, digits: int = 2
) -> Claim:
    """Return the claim that a ratio is between `low` and `high`, decided by `is_between`."""
    return decided(
        text,
        required,
        ratio.cases(),
        ratio.estimate,
        lambda found: is_between(found, low, high),
        digits,
    )
