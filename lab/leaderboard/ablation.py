"""The ablation of DOOR, which adds DOOR's rules to 8Q-LIFO-Pri one by one and shows each gain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lab.analysis.cells import Cell
from lab.analysis.outcomes import Outcomes
from lab.intervals import Estimate, differences, estimate, over_parts
from lab.report.drawing.table import Table
from lab.spec.experiment import Spec

STEPS: tuple[tuple[str, str], ...] = (
    ("8q-lifo-pri", "8Q-LIFO-Pri"),
    ("static-stages", "later page first"),
    ("Few hands", "few hands"),
    ("Fresh door", "fresh door"),
    ("door-lifo", "orphan requests removed"),
)
"""The key of each step's policy in the spec, and the rule that it adds; the first policy adds no
rule."""


@dataclass(frozen=True, slots=True)
class Step:
    """The gain of a rule: the estimated efficiency with the rule minus the efficiency without
    it."""

    words: str
    policy: str
    gain: Estimate
    """The mean gain over all loads, from pairs of runs with the same seed."""
    by_rho: Mapping[float, Estimate]
    """The gain at each load, by ρ."""
    falls_at: tuple[float, ...]
    """The loads at which the whole interval of the gain is below 0."""

    @property
    def carries(self) -> bool:
        """Whether the whole interval of the gain over all loads is above 0."""
        return self.gain.is_above_zero

    @property
    def falls(self) -> bool:
        """Whether the interval of the gain over all loads, or at any single load, is below 0."""
        return self.gain.is_below_zero or bool(self.falls_at)


def efficiency(run: Outcomes) -> float | None:
    """Return a run's estimated efficiency; None if no customer plans to buy."""
    return run.estimated_efficiency_ratio


def is_step(policy: str) -> bool:
    """Return whether a policy is only a step of the ablation between 8Q-LIFO-Pri and DOOR."""
    return policy in {key for key, _ in STEPS[1:-1]}


def ranked(spec: Spec) -> list[str]:
    """Return the keys of the policies with a rank: all except the steps of DOOR's ablation."""
    return [choice.key for choice in spec.policy if not is_step(choice.key)]


def steps_of(cells: Sequence[Cell]) -> list[Step]:
    """Return the steps in order; empty unless the policies of all steps have runs."""
    by_policy: dict[str, dict[float, Cell]] = {}
    for cell in cells:
        if cell.rho is not None:
            by_policy.setdefault(cell.policy, {})[cell.rho] = cell
    there = [(key, words) for key, words in STEPS if key in by_policy]
    if len(there) < len(STEPS):
        return []
    steps = [
        _step(words, by_policy[before], by_policy[key], key)
        for (before, _), (key, words) in pairwise(there)
    ]
    return [step for step in steps if step is not None] if None not in steps else []


def table(steps: Sequence[Step]) -> Table:
    """Return the gains by load, and the conclusion about each step."""
    loads = sorted({rho for step in steps for rho in step.by_rho})
    made = Table(
        "The gain of each rule of DOOR",
        ("Step", *(f"ρ = {rho:g}" for rho in loads), "All loads", "Verdict"),
        note="The gain of a rule is the estimated efficiency with the rule minus the efficiency "
        "without it. It is calculated for pairs of runs with the same seed. The table shows its "
        "mean ± half-width of the 95 % interval. A step “carries” if its interval over all loads "
        "is above 0. It “falls” if this interval, or its interval at any load, is below 0. By "
        "chance alone, about one interval in forty is below 0, so a single fall among two dozen "
        "intervals can be chance.",
    )
    for step in steps:
        made.rows.append(
            (
                f"+ {step.words}",
                *(step.by_rho[rho].text(3) if rho in step.by_rho else "–" for rho in loads),
                step.gain.text(3),
                _verdict(step),
            )
        )
    return made


def words(steps: Sequence[Step]) -> str:
    """Return sentences that name the steps whose gain, or loss, is larger than chance explains, and
    the steps whose effects chance can explain."""
    whole = sum(step.gain.mean for step in steps)
    carrying = sorted((s for s in steps if s.carries), key=lambda step: -step.gain.mean)
    if carrying and whole > 0:
        told = ", ".join(f"{s.words} ({100 * s.gain.mean / whole:.0f} %)" for s in carrying)
        said = (
            f"DOOR's gain over 8Q-LIFO-Pri is {whole:.2f}. These rules cause it (share of the "
            f"gain): {told}."
        )
    else:
        said = f"All steps together gain {whole:.2f} over 8Q-LIFO-Pri."
        if not carrying:
            said = f"No step's interval is above 0. {said}"
    within = [step.words for step in steps if not step.carries and not step.falls]
    if within:
        said += f" Chance can explain the effects of: {', '.join(within)}."
    if fallen := [step.words for step in steps if step.falls]:
        said += f" The efficiency falls by more than the interval with: {', '.join(fallen)}."
    else:
        said += " No step lowers the efficiency by more than its interval."
    return said


def _verdict(step: Step) -> str:
    if step.falls:
        at = ", ".join(f"{rho:g}" for rho in step.falls_at)
        return f"falls at ρ = {at}" if at else "falls"
    return "carries" if step.carries else "within its interval"


def _step(
    words: str, before: Mapping[float, Cell], after: Mapping[float, Cell], key: str
) -> Step | None:
    pairs = {
        rho: differences(after[rho].by_seed(efficiency), before[rho].by_seed(efficiency))
        for rho in sorted(before.keys() & after.keys())
    }
    by_rho = {rho: estimate(list(gains.values())) for rho, gains in pairs.items() if gains}
    if not by_rho:
        return None
    falls_at = tuple(rho for rho, gain in by_rho.items() if gain.is_below_zero)
    return Step(words, key, over_parts(list(pairs.values())), by_rho, falls_at)
