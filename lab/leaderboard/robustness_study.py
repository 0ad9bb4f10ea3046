"""The report on robustness, with the results of every policy in every scenario.

In a scenario, the customers, the load or the server differ from those of the board. Durations are
paper seconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from operator import itemgetter
from statistics import fmean
from typing import Any

from lab.intervals import Estimate, differences, estimate
from lab.leaderboard import ROBUSTNESS, board, measures
from lab.leaderboard.ablation import ranked
from lab.leaderboard.measures import EFFICIENCY, Grid, estimated
from lab.report.claims import Claim, Verdict
from lab.report.drawing.pictures import Heat
from lab.report.drawing.table import Table
from lab.report.study_figures import BuiltTable, Drawing, Figure, Study
from lab.results.metrics import Results, Value
from lab.spec.experiment import Spec, changed
from lab.wording import title_of

RHO = 1.4
"""The load ρ of all scenarios that do not change the load."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A deviation from the usual conditions."""

    key: str
    title: str
    """The short title for the head of a column."""
    what: str
    """A sentence that describes the changed condition."""
    changes: Mapping[str, Any]
    """The changes to the spec, in the form that `lab.spec.experiment.changed` accepts."""

    def spec(self, base: Spec) -> Spec:
        """Return the board's spec in this scenario, with the scenario's load or at RHO."""
        steady = {"load__rho": [RHO]} if "load" not in self.changes else {}
        return changed(base, leaderboard=False, **steady, **self.changes)


def scheduled(cycle: Sequence[tuple[float, float]], cycles: int) -> dict[str, Any]:
    """Return a section `[load]` that repeats these pairs of duration and ρ."""
    steps = [{"duration_s": duration_s, "rho": rho} for duration_s, rho in cycle]
    return {"schedule": steps * cycles}


_BURSTS = ((60.0, 0.5), (60.0, 2.5))
_FLASH = ((120.0, 0.9), (30.0, 4.5), (150.0, 0.9))


def scenarios(*, quick: bool) -> tuple[Scenario, ...]:
    """Return all scenarios, the usual one first; `quick` shortens those with a changing load."""
    return (
        Scenario("usual", "usual", f"The customers are the board's, at ρ = {RHO:g}.", {}),
        Scenario(
            "bursts",
            "bursts",
            "The load alternates every minute between ρ = 0.5 and ρ = 2.5.",
            {"load": scheduled(_BURSTS, 4 if quick else 12)},
        ),
        Scenario(
            "flash-crowd",
            "flash crowd",
            "The load is ρ = 0.9, and every five minutes it is five times as high for 30 s.",
            {"load": scheduled(_FLASH, 2 if quick else 6)},
        ),
        Scenario(
            "slow-server",
            "pages twice as long",
            "Every page takes twice as long as planned, so the load is twice the stated load.",
            {"server": {"kind": "shared-cpus", "execution_factor": 2.0}},
        ),
        Scenario(
            "patience-halved",
            "half the patience",
            "Customers leave after 4 s + Exp(6 s) instead of 8 s + Exp(12 s).",
            {"customers__timeout_s": 4.0, "customers__think_timeout_mean_s": 6.0},
        ),
        Scenario(
            "patience-doubled",
            "twice the patience",
            "Customers leave after 16 s + Exp(24 s).",
            {"customers__timeout_s": 16.0, "customers__think_timeout_mean_s": 24.0},
        ),
        Scenario(
            "buys-less",
            "half as many buy",
            "After reading the details, 5 % of the customers want the book, instead of 10 %.",
            {"customers__buy_probability": 0.05},
        ),
        Scenario(
            "buys-more",
            "half as many more buy",
            "After reading the details, 15 % of the customers want the book, instead of 10 %.",
            {"customers__buy_probability": 0.15},
        ),
        Scenario(
            "think-times",
            "think times",
            "Customers pause between pages for an exponentially distributed time with a mean of 7 "
            "s, as in TPC-W.",
            {"customers__think_time_mean_s": 7.0},
        ),
    )


DOOR = ("door-lifo", "door-fifo")
REQUIRED_OF_DOOR = 0.9
"""The share of the bound that DOOR must reach in every scenario with a steady load."""
FOLLOWING = "DOOR-FIFO wait automatic"
"""The row of DOOR-FIFO with a wait limit that follows the observed patience. Claims do not include
this row, because they are about DOOR's default settings."""


@dataclass(frozen=True, slots=True)
class _Grid(Grid):
    scenarios: Sequence[Scenario]

    def of(self, results: Results, policy: str, scenario: str, value: Value) -> Estimate | None:
        """Return the mean and the interval of a metric for one cell."""
        return results.estimate(self.cases[policy][scenario], value)

    def ahead(self, results: Results, policy: str, other: str, scenario: str) -> dict[int, float]:
        """Return the estimated efficiency of `policy` minus that of `other`, by seed."""
        return differences(
            *(results.by_seed(self.cases[one][scenario], estimated) for one in (policy, other))
        )

    def overall(self, results: Results, policy: str) -> float:
        """Return the mean over all scenarios, or -inf if a scenario is missing."""
        (found,) = self.means(results, [policy])
        known = [mean for mean in found if mean is not None]
        return fmean(known) if known and len(known) == len(found) else -inf

    def title(self, results: Results, policy: str) -> str:
        """Return the title of a row, with a mark if FIFO replaced the policy in a scenario."""
        every = [run for case in self.cases[policy].values() for run in results.of(case)]
        return f"{title_of(policy)}{board.fallback_mark(every)}"

    def ranked(self, results: Results) -> list[str]:
        """Return the policies from best to worst over all scenarios, followed by the policies that
        lack a scenario.
        """
        return sorted(self.cases, key=lambda policy: -self.overall(results, policy))


def study(base: Spec, *, quick: bool) -> Study:
    """Return the study of a board's policies, without the steps of the ablation."""
    every = scenarios(quick=quick)
    base = _with_following(base)
    policies = ranked(base)
    specs = {each.key: each.spec(base) for each in every}
    grid = _Grid(
        {
            policy: {
                each.key: measures.case_of(specs[each.key], policy, EFFICIENCY) for each in every
            }
            for policy in policies
        },
        every,
    )
    cases = grid.all_cases()
    return Study(
        ROBUSTNESS,
        "Robustness: conditions for which no policy was tuned",
        (
            "This report shows the board's policies, with the board's settings, in scenarios in "
            "which customers, load or server differ from the usual scenario. DOOR-FIFO has a "
            "second row, with wait_automatic = 1.",
        ),
        [
            Figure(
                "robustness",
                "How close each policy comes to the bound in each scenario",
                "In each scenario, 1 is the bound for its customers, load and server. If the load "
                "changes in a scenario, 1 is the bound at the mean load, as if work could wait "
                "until the rush is over. No policy can reach 1 in such a scenario, so compare the "
                "policies with each other.",
                drawing=Drawing(
                    partial(_heat, grid),
                    f"Heat table of {len(policies)} policies by {len(every)} scenarios: revenue "
                    "efficiency as estimated. The table below has the numbers.",
                    "The best policy over all scenarios is at the top.",
                    is_wide=True,
                ),
                tables=[
                    BuiltTable(cases, partial(_table, grid, estimated, _ESTIMATED)),
                    BuiltTable(cases, partial(_table, grid, itemgetter("counted"), _COUNTED)),
                ],
            ),
        ],
        _claims(grid),
        [(each.title, each.what) for each in every],
        folder=ROBUSTNESS,
        readings_heading="The scenarios",
    )


def _with_following(base: Spec) -> Spec:
    if "door-fifo" not in {choice.key for choice in base.policy}:
        return base
    policies = [choice.model_dump(mode="json", exclude_none=True) for choice in base.policy]
    parameters = {"wait_automatic": 1}
    following = {"name": "door-fifo", "label": FOLLOWING, "parameters": parameters}
    return changed(base, policy=[*policies, following])


_ESTIMATED = (
    "Revenue efficiency, estimated",
    "Values are estimated from the share of the requests for each page that the shop served: means "
    "of the repetitions ± half-width of the 95 % interval.",
)
_COUNTED = (
    "Counted confirms divided by the bound",
    "Here, the efficiency is calculated from the actual purchases. The values vary by "
    "ten per cent and more between runs.",
)


def _table(grid: _Grid, value: Value, words: tuple[str, str], results: Results) -> Table:
    title, note = words
    note += board.fallback_words(
        (policy, each.title, results.of(grid.cases[policy][each.key]))
        for policy in grid.cases
        for each in grid.scenarios
    )
    table = Table(title, ("Policy", *(each.title for each in grid.scenarios)), note=note)
    for policy in grid.ranked(results):
        cells = []
        for each in grid.scenarios:
            known = grid.of(results, policy, each.key, value)
            marked = board.fallback_mark(results.of(grid.cases[policy][each.key]))
            cells.append(f"{known.text(2)}{marked}" if known else "–")
        table.rows.append((grid.title(results, policy), *cells))
    return table


def _heat(grid: _Grid, results: Results) -> Heat:
    ranked = grid.ranked(results)
    return Heat(
        [grid.title(results, policy) for policy in ranked],
        [each.title.replace(" ", "\n") for each in grid.scenarios],
        grid.means(results, ranked),
    )


def _claims(grid: _Grid) -> list[Claim]:
    there = [policy for policy in DOOR if policy in grid.cases]
    steady = [each for each in grid.scenarios if "load" not in each.changes]
    claims = [
        Claim(
            f"{title_of(policy)} comes near the bound in every scenario with a steady load",
            f"at least {REQUIRED_OF_DOOR:.2f} in each",
            [grid.cases[policy][each.key] for each in steady],
            partial(_near, grid, policy, steady),
        )
        for policy in there
    ]
    if there and grid.cases.keys() - {*there, FOLLOWING}:
        claims += [
            Claim(
                f"{each.title.capitalize()}: DOOR is the best or level with the best",
                "no other policy is above the better form of DOOR by more than chance explains, in "
                "pairs of runs with the same seed",
                [row[each.key] for row in grid.cases.values()],
                partial(_leads, grid, each, there),
            )
            for each in grid.scenarios
        ]
    return claims


def _near(grid: _Grid, policy: str, steady: Sequence[Scenario], results: Results) -> Verdict:
    found = [grid.of(results, policy, each.key, estimated) for each in steady]
    means = [one.mean for one in found if one is not None]
    told = ", ".join(f"{each.title} {mean:.2f}" for each, mean in zip(steady, means, strict=False))
    return told, all(mean >= REQUIRED_OF_DOOR for mean in means)


def _leads(grid: _Grid, each: Scenario, there: Sequence[str], results: Results) -> Verdict:
    """Return whether no policy is ahead of DOOR. The intervals of the paired differences decide; if
    there are no repetitions, the differences themselves decide."""
    found = {
        policy: known
        for policy in grid.cases
        if (known := grid.of(results, policy, each.key, estimated)) is not None
    }
    doors = [policy for policy in there if policy in found]
    if not doors:
        return "nothing to measure", None
    ours = max(doors, key=lambda policy: found[policy].mean)
    others = [policy for policy in found if policy not in {*there, FOLLOWING}]
    ahead = {
        policy: estimate(list(pairs.values()))
        for policy in others
        if (pairs := grid.ahead(results, policy, ours, each.key))
    }
    if not ahead:
        return "nothing to measure", None
    best = max(ahead, key=lambda policy: found[policy].mean)
    above = [policy for policy, more in ahead.items() if more.mean > (more.half_width or 0.0)]
    told = (
        f"{title_of(ours)} {found[ours].text(2)}, best of the others {title_of(best)} "
        f"{found[best].text(2)}, difference {ahead[best].text(3)}"
    )
    if better := [policy for policy in above if policy != best]:
        told += f"; better, too: {', '.join(sorted(map(title_of, better)))}"
    return told, not above
