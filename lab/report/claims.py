"""Claims: statements that the results of a reproduction confirm or refute."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.intervals import Estimate, estimate
from lab.results.metrics import Results, Value
from lab.spec.cases import AnyCase

Verdict = tuple[str, bool | None]
"""The finding as text, and whether the claim holds; None if the results cannot decide this."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, and the rule that decides from the results whether it holds."""

    text: str
    required: str
    needs: Sequence[AnyCase]
    check: Callable[[Results], Verdict]

    def decide(self, results: Results) -> Verdict:
        """Return the verdict; `no runs yet` if a case that the claim needs has no runs yet."""
        if any(not results.of(case) for case in self.needs):
            return "no runs yet", None
        return self.check(results)


def held_words(verdicts: Sequence[str]) -> str:
    """Return the counts as text: `7 of 10 claims hold, 2 do not, 1 could not be decided`."""
    held, failed = verdicts.count("yes"), verdicts.count("no")
    text = f"{held} of {len(verdicts)} claims hold"
    if failed:
        text += f", {failed} do{'es' if failed == 1 else ''} not"
    if open_ := len(verdicts) - held - failed:
        text += f", {open_} could not be decided"
    return text


_NAMED = 2
"""The highest number of claims that a conclusion names."""


def conclusion(claims: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the conclusion of a report in sentences, from the rows of its claims.json; empty if
    there are no claims. The conclusion counts the claims that hold, and names the first few that do
    not.
    """
    verdicts = [str(one.get("Holds")) for one in claims]
    if not claims:
        return []
    if set(verdicts) == {"yes"}:
        return [f"All {len(claims)} claims of this report hold."]
    texts = [str(one.get("Claim", "")) for one in claims if one.get("Holds") == "no"]
    found = [f"{held_words(verdicts).replace('claims hold', 'claims of this report hold', 1)}."]
    if texts:
        named = "; ".join(f"“{text}”" for text in texts[:_NAMED])
        more = f"; and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
        found.append(f"Not confirmed: {named}{more}.")
    return found


def short_conclusion(claims: Sequence[Mapping[str, str]]) -> str:
    """Return the short conclusion that lists show: `15 of 25 claims hold`; empty if there are no
    claims."""
    held = sum(one.get("Holds") == "yes" for one in claims)
    return f"{held} of {len(claims)} claims hold" if claims else ""


NOTHING: Verdict = ("nothing to measure", None)


def decided(
    text: str,
    required: str,
    needs: Iterable[AnyCase],
    find: Callable[[Results], Estimate | None],
    decide: Callable[[Estimate], bool | None],
    digits: int = 2,
    unit: str = "",
) -> Claim:
    """Return the claim that `decide` decides from the estimate that `find` returns."""

    def check(results: Results) -> Verdict:
        found = find(results)
        return (found.text(digits) + unit, decide(found)) if found else NOTHING

    return Claim(text, required, list(needs), check)


def within(
    text: str, case: AnyCase, value: Value, low: float, high: float, required: str, digits: int
) -> Claim:
    """Return the claim that a metric is between `low` and `high`. Either can be infinite."""
    return decided(
        text,
        required,
        [case],
        lambda results: results.estimate(case, value),
        lambda found: is_between(found, low, high),
        digits,
    )


def at_most(text: str, case: AnyCase, value: Value, limit: float) -> Claim:
    """Return the claim that a percentage is at most `limit`."""
    return within(text, case, value, -math.inf, limit, f"at most {limit:g} %", 2)


def falling(text: str, required: str, ranked: Sequence[tuple[AnyCase, Value]]) -> Claim:
    """Return the claim that each metric is larger than the next metric. The differences between
    consecutive metrics in each repetition decide the claim. The claim holds if the 95 % interval of
    every difference is above 0, and fails if one interval is below 0; otherwise, it cannot be
    decided. With a single repetition, the sign of the difference decides."""

    def check(results: Results) -> Verdict:
        found = [results.estimate(case, value) for case, value in ranked]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return NOTHING
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
    return is_above(estimate(known))


def is_above(found: Estimate, limit: float = 0.0) -> bool | None:
    """Return whether an estimate, such as a difference, is above a limit; None if the 95 % interval
    contains the limit, because the estimate could then be on either side by chance.
    """
    if abs(found.mean - limit) <= (found.half_width or 0.0):
        return None
    return found.mean > limit


def is_between(found: Estimate, low: float, high: float) -> bool | None:
    """Return whether a metric is between `low` and `high`; None if the 95 % interval contains a
    limit. The metric could then be on either side of the limit by chance."""
    half_width = found.half_width or 0.0
    if any(abs(found.mean - bound) < half_width for bound in (low, high)):
        return None
    return low <= found.mean <= high
