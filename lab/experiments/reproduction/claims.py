"""What must hold of a reproduction, decided by its numbers.

Owns: claims and the usual ways of deciding them. Must not know: any paper, what is drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.experiments.reproduction.cases import AnyCase
from lab.experiments.reproduction.store import Results, Value

Verdict = tuple[str, bool | None]
"""What was found, and whether the claim holds; None when the results do not say yet."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that must hold, and how the results decide it."""

    text: str
    required: str
    needs: Sequence[AnyCase]
    check: Callable[[Results], Verdict]

    def decide(self, results: Results) -> Verdict:
        """None while a case it needs has not been made."""
        if any(not results.of(case) for case in self.needs):
            return "not simulated", None
        return self.check(results)


def in_range(
    results: Results, case: AnyCase, value: Value, low: float, high: float, digits: int
) -> Verdict:
    """Whether the mean of a figure is from `low` to `high`."""
    found = results.estimate(case, value)
    if found is None:
        return "nothing to measure", None
    return found.text(digits), low <= found.mean <= high


def within(
    text: str, case: AnyCase, value: Value, low: float, high: float, required: str, digits: int
) -> Claim:
    """The claim that the mean of a figure is from `low` to `high`."""
    return Claim(
        text,
        required,
        [case],
        lambda results: in_range(results, case, value, low, high, digits),
    )


def at_most(text: str, case: AnyCase, value: Value, limit: float) -> Claim:
    """The claim that a percentage is not above `limit`."""
    return within(text, case, value, 0.0, limit, f"at most {limit:g} %", 2)


def falling(text: str, required: str, ranked: Sequence[tuple[AnyCase, Value]]) -> Claim:
    """The claim that each figure is larger than the one after it."""

    def check(results: Results) -> Verdict:
        found = [results.estimate(case, value) for case, value in ranked]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return "nothing to measure", None
        holds = all(a.mean > b.mean for a, b in pairwise(known))
        return ", ".join(one.text(2) for one in known), holds

    return Claim(text, required, [case for case, _ in ranked], check)
