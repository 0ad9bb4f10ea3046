"""Claims: what must hold of a reproduction, decided by its numbers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.intervals import Estimate, estimate
from lab.results.metrics import Results, Value
from lab.spec.cases import AnyCase

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


def held_words(verdicts: Sequence[str]) -> str:
    """`7 of 10 hold, 2 do not, 1 could not be decided`, of `yes`, `no` and any other word."""
    held, failed = verdicts.count("yes"), verdicts.count("no")
    text = f"{held} of {len(verdicts)} hold"
    if failed:
        text += f", {failed} do{'es' if failed == 1 else ''} not"
    if open_ := len(verdicts) - held - failed:
        text += f", {open_} could not be decided"
    return text


def in_range(
    results: Results, case: AnyCase, value: Value, low: float, high: float, digits: int
) -> Verdict:
    """Whether a figure is from `low` to `high` (infinite where there is no such bound); decided as
    `is_between` says."""
    found = results.estimate(case, value)
    if found is None:
        return "nothing to measure", None
    return found.text(digits), is_between(found, low, high)


def within(
    text: str, case: AnyCase, value: Value, low: float, high: float, required: str, digits: int
) -> Claim:
    """The claim that a figure is from `low` to `high`."""
    return Claim(
        text,
        required,
        [case],
        lambda results: in_range(results, case, value, low, high, digits),
    )


def at_most(text: str, case: AnyCase, value: Value, limit: float) -> Claim:
    """The claim that a percentage is not above `limit`."""
    return within(text, case, value, -math.inf, limit, f"at most {limit:g} %", 2)


def falling(text: str, required: str, ranked: Sequence[tuple[AnyCase, Value]]) -> Claim:
    """The claim that each figure is larger than the one after it.

    It is decided by the differences of neighbours, repetition by repetition: not as long as 0 is in
    their 95 % interval (where there is but one repetition, by its difference alone).
    """

    def check(results: Results) -> Verdict:
        found = [results.estimate(case, value) for case, value in ranked]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return "nothing to measure", None
        steps = {_is_larger(results, one, other) for one, other in pairwise(ranked)}
        holds = False if False in steps else None if None in steps else True
        return ", ".join(one.text(2) for one in known), holds

    return Claim(text, required, [case for case, _ in ranked], check)


def _is_larger(
    results: Results, one: tuple[AnyCase, Value], other: tuple[AnyCase, Value]
) -> bool | None:
    made = results.together(one[0], other[0])
    pairs = [(one[1](first), other[1](second)) for first, second in made.values()]
    known = [a - b for a, b in pairs if a is not None and b is not None]
    if not known or len(known) == 1 < len(made):
        return None
    return is_above_zero(estimate(known))


def is_above_zero(found: Estimate) -> bool | None:
    """None where chance alone may have made the difference: 0 is in the 95 % interval."""
    if abs(found.mean) <= (found.half_width or 0.0):
        return None
    return found.mean > 0


def is_between(found: Estimate, low: float, high: float) -> bool | None:
    """None while a bound lies within the 95 % interval: chance could have put it on either side."""
    half_width = found.half_width or 0.0
    if any(abs(found.mean - bound) < half_width for bound in (low, high)):
        return None
    return low <= found.mean <= high
