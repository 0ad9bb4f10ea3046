"""The conclusion of a comparison: a sentence for each load, with the best policy and its lead.

The sentence also states whether chance can explain the lead. For this, the verdict uses the paired
differences by seed (`lab.intervals.paired`). Runs with the same seed have the same customers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lab.analysis.cells import Cell, wasted_percent
from lab.analysis.outcomes import Outcomes
from lab.analysis.warnings import honesty
from lab.files.conclusion import Conclusion, LoadVerdict, joined
from lab.intervals import paired
from lab.spec.experiment import Spec

_TIMES_FROM_RATIO: Final = 1.5
"""The smallest ratio that a verdict prints as a factor, for example “2.3 times as much”."""


_NEARLY_ALL_RATIO: Final = 0.95
"""If chance can explain the differences between the best policies, and each of them sold at least
this share of the bound, the verdict says that they “sold nearly all that is possible”.
"""
_REASON_FROM_PERCENT: Final = 10
"""If the wasted CPU of the worst and of the best policy differ by at least this number of
percentage points, the verdict mentions wasted CPU as a reason.
"""
_SOLD_OUT: Final = "{policies} sold nearly all that is possible: {number} confirms{limit}"


@dataclass(frozen=True, slots=True)
class _Aim:
    """The measure by which an experiment compares policies; a larger number is better."""

    of: Callable[[Cell], float]
    """The function for the number that orders policies: a sum or mean over the repetitions."""
    of_run: Callable[[Outcomes], float | None]
    """The function for the number that is compared seed by seed. For sales, this number varies less
    by chance than the number that `of` returns."""
    best: str
    """The sentence if one policy was best: `{policy} sold the most: {number}{limit}`."""
    alike: str
    """The sentence if no policy was certainly best: `chance can explain the differences between
    {policies}: {number}{limit}`."""
    equal: str
    """The sentence if the numbers are equal: `{policies} sold the same: {number}{limit}`."""
    digits: int = 0

    def text(self, number: float) -> str:
        return f"{number:,.{self.digits}f}"


def _mean_useful_rps(cell: Cell) -> float:
    found = cell.over_known(lambda run: run.useful_rps)
    return found.mean if found else 0.0


_SALES: Final = _Aim(
    of=lambda cell: float(cell.confirms),
    of_run=lambda run: (
        run.estimated_efficiency_ratio
        if run.estimated_efficiency_ratio is not None
        else float(run.confirms)
    ),
    best="{policy} sold the most: {number} confirms{limit}",
    alike="chance can explain the differences between {policies}: they sold {number} "
    "confirms{limit}",
    equal="{policies} sold the same: {number} confirms{limit}",
)
_USEFUL_WORK: Final = _Aim(
    of=_mean_useful_rps,
    of_run=lambda run: run.useful_rps,
    best="{policy} did the most useful work: {number} requests of completed sessions per paper "
    "second",
    alike="chance can explain the differences between {policies}: {number} requests of "
    "completed sessions per paper second",
    equal="{policies} did the same: {number} requests of completed sessions per paper second",
    digits=2,
)


def conclude(spec: Spec, cells: Sequence[Cell]) -> Conclusion:
    """Return the conclusion of a comparison: the verdict, and the lines of `honesty`."""
    return Conclusion(verdict=verdict(spec, cells), lines=honesty(cells))


def verdict(spec: Spec, cells: Sequence[Cell]) -> list[LoadVerdict]:
    """Return the verdict at each load at which at least two policies can be compared. A closed loop
    has no verdict, because it has no single measure by which a policy is best."""
    if spec.clients:
        return []
    aim = _USEFUL_WORK if spec.customers.lengths else _SALES
    verdicts = []
    for load in dict.fromkeys(cell.load for cell in cells):
        there = [cell for cell in cells if cell.load == load]
        if len(there) > 1:
            verdicts.append(_verdict_at(load, aim, there))
    return verdicts


def _verdict_at(load: str, aim: _Aim, cells: Sequence[Cell]) -> LoadVerdict:
    first, *others = sorted(cells, key=aim.of, reverse=True)
    signs = [_sign(aim, first, other) for other in others]
    is_unsure = False
    if aim.of(first) == 0:
        best: list[Cell] = []
        words = "no policy sold anything." if aim is _SALES else "no session was completed."
    elif None in signs:
        number = aim.text(aim.of(first))
        best = [cell for cell in [first, *others] if aim.text(aim.of(cell)) == number]
        is_unsure = True
        words = _unsure_words(aim, best, others)
    else:
        best = [first, *(other for other, sign in zip(others, signs, strict=True) if sign != 1)]
        words = _sure_words(aim, best, others)
    return LoadVerdict(
        load=load,
        sentence=f"At ρ = {load}, {words}",
        best=[cell.title for cell in best],
        is_unsure=is_unsure,
    )


def _unsure_words(aim: _Aim, best: Sequence[Cell], others: Sequence[Cell]) -> str:
    """Return the sentence if the runs share too few seeds; `best` have the same largest number."""
    first, last = best[0], others[-1]
    words = (aim.best if len(best) == 1 else aim.equal).format(
        policy=first.title,
        policies=_and(best),
        number=aim.text(aim.of(first)),
        limit=_limit(aim, first),
    )
    lead = f", {_lead(aim, first, cell)}" if (cell := _next(others, best)) else ""
    return (
        f"{words}{lead}. The runs share too few seeds to tell this from chance: "
        f"give at least two repetitions.{_reason(first, last)}"
    )


def _sure_words(aim: _Aim, best: Sequence[Cell], others: Sequence[Cell]) -> str:
    """Return the sentence if the runs share enough seeds; chance can explain the differences
    between `best`."""
    first, second, last = best[0], others[0], others[-1]
    limit = _limit(aim, first)
    if len(best) == 1:
        return (
            aim.best.format(policy=first.title, number=aim.text(aim.of(first)), limit=limit)
            + f", {_lead(aim, first, second)}. The lead is more than chance.{_reason(first, last)}"
        )
    low, high = (aim.text(aim.of(cell)) for cell in (min(best, key=aim.of), first))
    number = low if low == high else f"{low} to {high}"
    nearly_all = aim is _SALES and all(
        cell.bound and cell.confirms >= _NEARLY_ALL_RATIO * cell.bound for cell in best
    )
    words_alike = aim.equal if low == high else aim.alike
    words = (_SOLD_OUT if nearly_all else words_alike).format(
        policies=_and(best), number=number, limit=limit
    )
    next_one = _next(others, best)
    if next_one is None:
        return f"{words}."
    return (
        f"{words}. {first.title} did better than {next_one.title} "
        f"({aim.text(aim.of(next_one))}), by more than chance."
    )


def _next(others: Sequence[Cell], alike: Sequence[Cell]) -> Cell | None:
    """Return the best policy that is not among `alike`; None if all are."""
    return next((cell for cell in others if cell not in alike), None)


def _reason(first: Cell, last: Cell) -> str:
    """Return a sentence if the worst policy wasted far more CPU time than the best; else ""."""
    best, worst = first.over_waste(wasted_percent), last.over_waste(wasted_percent)
    if not best or not worst or worst.mean - best.mean < _REASON_FROM_PERCENT:
        return ""
    return (
        f" {last.title} spent {worst.mean:.0f} % of its CPU time on customers who had left; "
        f"{first.title} spent {best.mean:.0f} %."
    )


def _sign(aim: _Aim, first: Cell, other: Cell) -> int | None:
    """Return 1 if `first` is better than `other` by more than chance explains, -1 if it is worse by
    more than chance explains, and 0 if chance can explain the difference; None if the runs share
    too few seeds."""
    found = paired([first.by_seed(aim.of_run)], [other.by_seed(aim.of_run)])
    if found is None or found.half_width is None:
        return None
    return int(found.is_above_zero) - int(found.is_below_zero)


def _limit(aim: _Aim, first: Cell) -> str:
    """Return the bound of sales as text; by chance, sales can slightly exceed the bound."""
    if aim is not _SALES or not first.bound:
        return ""
    if first.confirms > first.bound:
        return f", about as many as the bound of {first.bound:,.0f} allows"
    return f" of at most {first.bound:,.0f}"


def _lead(aim: _Aim, first: Cell, second: Cell) -> str:
    """Return the best policy's lead, for example `2.4 times as much as SQ (40)`."""
    number = aim.text(aim.of(second))
    if aim.of(second) and (ratio := aim.of(first) / aim.of(second)) >= _TIMES_FROM_RATIO:
        return f"{ratio:.1f} times as much as {second.title} ({number})"
    return f"ahead of {second.title} with {number}"


def _and(cells: Sequence[Cell]) -> str:
    return joined([cell.title for cell in cells])
