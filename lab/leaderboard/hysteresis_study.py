"""The report on hysteresis, which shows for each policy whether it recovers after a rush."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from lab.analysis import hysteresis
from lab.analysis.hysteresis import CONDUCTS, Conduct
from lab.intervals import estimate, estimate_known
from lab.leaderboard import HYSTERESIS, board
from lab.leaderboard.ablation import ranked
from lab.leaderboard.recovery import NOT_NORMAL, Recovery, calms, case_of, recoveries, was_normal
from lab.report.claims import Claim, Verdict
from lab.report.drawing.pictures import Course, Courses
from lab.report.drawing.table import Table
from lab.report.study_figures import BuiltTable, Drawing, Figure, Study
from lab.results.metrics import Metrics, Results
from lab.spec.cases import Case
from lab.spec.experiment import Spec
from lab.spec.runs import ShopRun
from lab.wording import title_of

DOOR = ("door-lifo", "door-fifo")
COLLAPSES = "pass-through"
"""The policy that never rejects a request and has an unlimited queue."""
CEILING_S = 30.0
"""The longest response time, in paper seconds, that is drawn to scale; longer times are drawn at
the top.
"""
AT_THE_END_S = 60
_SHOWN_FROM_S = 120.0
"""The figures show this part of the calm before the rush, in paper seconds."""

Cases = Mapping[str, Case[ShopRun]]
"""The cases by policy."""


def study(base: Spec, *, quick: bool) -> Study:
    """Return the study of a board's policies, without the steps of the ablation."""
    policies = ranked(base)
    cases = {
        conduct.key: {policy: case_of(base, conduct, policy, quick=quick) for policy in policies}
        for conduct in CONDUCTS
    }
    after_s = hysteresis.schedule(quick=quick)[-1]["duration_s"]
    return Study(
        HYSTERESIS,
        "Hysteresis: the collapse that stays",
        (
            f"The load is ρ = {hysteresis.CALM_RHO:g}, which every policy can serve, then ρ = "
            f"{hysteresis.RUSH_RHO:g} for {hysteresis.RUSH_S:g} s, then ρ = "
            f"{hysteresis.CALM_RHO:g} again for {after_s:g} s. How long does it take until "
            "response times are normal again?",
        ),
        [_figure(conduct, cases[conduct.key]) for conduct in CONDUCTS],
        _claims(cases),
        [
            (
                "Normal",
                "Response times are normal if their 95th percentile over the last "
                f"{hysteresis.WINDOW_S:g} s is at most {hysteresis.NORMAL_FACTOR:g} times the "
                "percentile of the calm before the rush. The percentile of the calm is the median "
                "over the policy's repetitions, and does not include the first "
                f"{hysteresis.WARM_UP_S:g} s. All attempts that ended count, except attempts that "
                "were turned away. An attempt whose customer left has an infinite response time. "
                "If too many customers left even in the calm, its percentile is infinite, and no "
                "response time is normal.",
            ),
            (
                "Recovered",
                "The shop has recovered at the first second after the rush from which response "
                f"times stay normal for {hysteresis.STAYS_S} s. Response times must be known in at "
                "least half of these seconds, and customers must still arrive.",
            ),
            *((conduct.title, conduct.what) for conduct in CONDUCTS),
        ],
        folder=HYSTERESIS,
        readings_heading="Terms",
    )


def _figure(conduct: Conduct, cases: Cases) -> Figure:
    return Figure(
        conduct.key,
        conduct.title,
        conduct.what,
        drawing=Drawing(
            partial(_picture, cases),
            f"A small picture for each of {len(cases)} policies: response time and queue over "
            "time, before, during and after the rush. The table below shows when each policy "
            "recovered.",
            "The orange line is the 95th percentile of response times, as the median of the "
            "repetitions; it is at the top while customers leave. The blue area is the number of "
            "waiting requests, and the grey area is the rush. The green line marks the recovery. "
            "The word “stays” means that the policy did not recover in the observed time; "
            f"“{NOT_NORMAL}” means that customers left even before the rush.",
            is_wide=True,
        ),
        tables=[BuiltTable(list(cases.values()), lambda results: _table(conduct, cases, results))],
    )


def _table(conduct: Conduct, cases: Cases, results: Results) -> Table:
    table = Table(
        f"{conduct.title}: until response times are normal",
        ("Policy", "Recovered after s", "p95 of the calm, s", "Most waiting",
         f"Answered in the last {AT_THE_END_S} s, %"),
        note=(
            "Values are means of the repetitions ± half-width of the 95 % interval. “Never” means "
            "that the policy did not recover in the observed time. “Not normal before” means that "
            "customers left even before the rush, or that no request was answered. “Answered” is "
            "the share of answered attempts among all attempts that ended (including attempts "
            f"that were turned away) in the last {AT_THE_END_S} s before the last arrival."
        )
        + board.fallback_words(
            (policy, conduct.title, results.of(cases[policy])) for policy in cases
        ),
    )  # fmt: skip
    for policy in _ordered(cases, results):
        runs = results.of(cases[policy])
        if not runs:
            table.rows.append((title_of(policy), "–", "–", "–", "–"))
            continue
        table.rows.append(
            (
                _title(policy, runs),
                Recovery.of("simulated", runs).words,
                _calm_words(calms(runs)),
                estimate([float(max(run["waiting"])) for run in runs]).text(),
                estimate([100 * _at_the_end(run) for run in runs]).text(),
            )
        )
    return table


def _calm_words(calms: Sequence[float | None]) -> str:
    if math.inf in calms:
        return "customers leave"
    known = estimate_known(calms)
    return known.text(1) if known else "not known"


def _at_the_end(run: Metrics) -> float:
    """Return the answered share of the attempts that ended, as a mean over the last AT_THE_END_S
    seconds before the last arrival.
    """
    known = [value for value in run["answered_ratio"][: _end_s(run)] if value is not None]
    return _mean(known[-AT_THE_END_S:]) if known else 0.0


def _end_s(run: Metrics) -> int:
    return int(run["arrivals_until_s"])


def _ordered(cases: Cases, results: Results) -> list[str]:
    def place(policy: str) -> tuple[float, float]:
        runs = results.of(cases[policy])
        if not runs:
            return math.inf, math.inf
        found = recoveries(runs)
        never = sum(value is None for value in found)
        return never / len(found), _mean([value for value in found if value is not None])

    return sorted(cases, key=place)


def _picture(cases: Cases, results: Results) -> Courses:
    courses = [
        course(policy, runs)
        for policy in _ordered(cases, results)
        if (runs := results.of(cases[policy]))
    ]
    return Courses(courses, hysteresis.RUSH_S, CEILING_S)


def course(policy: str, runs: Sequence[Metrics]) -> Course:
    """Return the course that a policy's picture shows, calculated from all repetitions."""
    start = int(hysteresis.BEFORE_S - _SHOWN_FROM_S)
    end = min(min(len(run["waiting"]) for run in runs), *(_end_s(run) for run in runs))
    series = np.array(
        [hysteresis.as_numbers(run["response_p95_s"])[start:end] for run in runs],
        dtype=float,  # None becomes NaN
    )
    found = recoveries(runs)
    known = [value for value in found if value is not None]
    rush_ends_s = hysteresis.BEFORE_S + hysteresis.RUSH_S
    recovered_s = _mean(known) if len(known) == len(found) else None
    if recovered_s is not None:
        ending = f"{recovered_s:.0f} s"
    else:
        ending = "stays" if was_normal(runs) else NOT_NORMAL
    return Course(
        title=_title(policy, runs),
        time_s=[start + 1 + i - rush_ends_s for i in range(end - start)],
        response_s=[_middle(column) for column in series.T],
        waiting=np.mean([run["waiting"][start:end] for run in runs], axis=0).tolist(),
        recovered_s=recovered_s,
        ending=ending,
    )


def _title(policy: str, runs: Sequence[Metrics]) -> str:
    return f"{title_of(policy)}{board.fallback_mark(runs)}"


def _middle(values: np.ndarray) -> float | None:
    """Return the median of the known values. If there are two middle values, return the larger of
    them, not their mean.
    """
    known = np.sort(values[~np.isnan(values)])
    return float(known[len(known) // 2]) if len(known) else None


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else math.inf


def _claims(cases: Mapping[str, Cases]) -> list[Claim]:
    claims = [
        Claim(
            f"{conduct.title}: {title_of(policy)} recovers",
            "every repetition",
            [case],
            partial(_recovers, case),
        )
        for conduct in CONDUCTS
        for policy in DOOR
        if (case := cases[conduct.key].get(policy))
    ]
    stubborn = cases["stubborn"]
    if COLLAPSES in stubborn:
        case = stubborn[COLLAPSES]
        claims.append(
            Claim(
                f"Stubborn customers: with {title_of(COLLAPSES)}, the collapse stays",
                "no repetition recovers",
                [case],
                lambda results: _stays(results.of(case)),
            )
        )
    return claims


def _recovers(case: Case[ShopRun], results: Results) -> Verdict:
    runs = results.of(case)
    found, said = recoveries(runs), Recovery.of("simulated", runs).words
    return said if set(found) == {None} else f"{said} s", None not in found


def _stays(runs: Sequence[Metrics]) -> Verdict:
    collapsed = all(value is None for value in recoveries(runs))
    return Recovery.of("simulated", runs).words, collapsed and was_normal(runs)
