"""The claims of SBAC's reproduction, from the paper and from this project."""

import math
from collections.abc import Iterable, Sequence
from functools import partial

from lab.analysis.published import published
from lab.report.claims import Claim, Verdict, at_most, falling, within
from lab.results.metrics import Results, Value
from lab.spec.cases import Case
from lab.spec.runs import ShopRun
from lab.studies.sbac import measures
from lab.studies.sbac.cases import DAYS, MEANS, SEGMENTS_S, STRATEGIES, Cases, LiveCases
from lab.wording import title_of

LENGTH_TOLERANCE = 0.12
BIN_TOLERANCE_POINTS = 1.0
ABORTED_AT_MOST = {15: 5.0, 50: 1.0}
USEFUL_TOLERANCE_POINTS = 4.0
NOBODY_PERCENT = 0.005
"""A percentage of aborted sessions that is below this value is printed as 0.00 %."""


def claims(cases: Cases | LiveCases) -> list[Claim]:
    """Return the claims for these cases, simulated or live."""
    if isinstance(cases, LiveCases):
        return _live(cases) if 2.0 in cases.scale.loads else []
    return [
        *_overloaded(cases),
        *_responsive(cases),
        *_table_2(cases),
        *_curves(cases),
    ]


def _overloaded(cases: Cases) -> list[Claim]:
    paper = published()["sbac"]["overloaded"]
    found = [
        within(
            f"No admission control, 300 %, mean length {mean}: mean length of completed sessions "
            "(Fig. 4a)",
            cases.overloaded(mean, 3.0),
            measures.completed_length,
            theirs * (1 - LENGTH_TOLERANCE),
            theirs * (1 + LENGTH_TOLERANCE),
            f"{theirs:g} ± 12 %",
            2,
        )
        for mean in MEANS
        for theirs in [paper["completed_length_mean_at_300"][str(mean)]]
    ]
    share = paper["bins_completed_mean_50_at_300"][0]
    found.append(
        within(
            "No admission control, 300 %, mean length 50: share of completed sessions up to the "
            "mean length (Fig. 4b)",
            cases.overloaded(50, 3.0),
            measures.bin_percent("completed_bins", 0),
            share - BIN_TOLERANCE_POINTS,
            share + BIN_TOLERANCE_POINTS,
            f"{share:g} ± {BIN_TOLERANCE_POINTS:g} %",
            2,
        )
    )
    throughput = [
        (cases.overloaded(mean, 3.0), measures.throughput(cases.scale.capacity_rps, mean))
        for mean in reversed(MEANS)
    ]
    found.append(
        falling(
            "No admission control, 300 %: longer sessions have higher throughput (Fig. 3a)",
            "mean length 50 above 15 above 5",
            throughput,
        )
    )
    useful = paper["useful_utilisation"]
    # The paper's “around 15 percent” and “less than 7 percent” are read as shares of the load.
    return [
        *found,
        _useful(cases, 2.0, 100 * useful["at_200"]),
        _useful(cases, 3.0, 100 * useful["at_300_below"]),
    ]


def _useful(cases: Cases, load: float, theirs: float) -> Claim:
    """Return the claim that the mean useful utilisation is near `theirs` % of the load."""
    needs = [cases.overloaded(mean, load) for mean in MEANS]

    def near(results: Results) -> Verdict:
        ours = [results.mean(case, measures.useful_over_load(load)) or 0.0 for case in needs]
        middle = sum(ours) / len(ours)
        text = ", ".join(f"{one:.1f}" for one in ours) + f"; mean {middle:.1f} %"
        return text, abs(middle - theirs) <= USEFUL_TOLERANCE_POINTS

    return Claim(
        f"No admission control, {100 * load:g} %: useful utilisation / offered load, mean lengths "
        "5, 15, 50 (Fig. 3b)",
        f"{theirs:g} ± {USEFUL_TOLERANCE_POINTS:g} % on average",
        needs,
        near,
    )


def _responsive(cases: Cases) -> list[Claim]:
    found = [
        at_most(
            f"sbac-responsive, 300 %, mean length {mean}: aborted sessions, % of admitted "
            "(Fig. 6b)",
            cases.admitted("sbac-responsive", mean, 3.0),
            measures.aborted_percent,
            limit,
        )
        for mean, limit in ABORTED_AT_MOST.items()
    ]
    found.append(
        within(
            "sbac-responsive, 300 %, mean length 5: many sessions are aborted (published: “up to "
            "55 percent”, Fig. 6b)",
            cases.admitted("sbac-responsive", 5, 3.0),
            measures.aborted_percent,
            25,
            60,
            "25 to 60 %",
            1,
        )
    )
    found += [
        _falling(
            f"300 %, mean length {mean}: useful utilisation is higher with admission control "
            "(Fig. 7b)",
            "with above without",
            measures.useful_utilisation,
            [cases.admitted("sbac-responsive", mean, 3.0), cases.overloaded(mean, 3.0)],
        )
        for mean in (15, 50)
    ]
    return found


def _table_2(cases: Cases) -> list[Claim]:
    found = []
    for segment_s in SEGMENTS_S:
        means = MEANS if segment_s == SEGMENTS_S[0] else cases.scale.long_day_means
        for day in DAYS:
            for mean in means:
                needs = [cases.day(day, name, mean, segment_s) for name in STRATEGIES]
                found.append(
                    Claim(
                        f"{day.capitalize()} day, intervals of {segment_s:g} s, mean length "
                        f"{mean}: stable aborts the most sessions, if any are aborted (Table 2)",
                        "stable aborts most, or no session is aborted",
                        needs,
                        partial(_stable_most, needs),
                    )
                )
        pair = ("sbac-predictive", "sbac-responsive")
        found += [
            _falling(
                f"Busy day, intervals of {segment_s:g} s, mean length 5: predictive aborts fewer "
                "sessions than responsive (Table 2)",
                "responsive above predictive",
                measures.aborted_percent,
                [cases.day("busy", name, 5, segment_s) for name in reversed(pair)],
            ),
            _falling(
                f"Usual day, intervals of {segment_s:g} s, mean length 5: predictive completes "
                "more sessions than responsive (published: 14 % more, Fig. 11a)",
                "predictive above responsive",
                measures.throughput(cases.scale.capacity_rps, 5),
                [cases.day("usual", name, 5, segment_s) for name in pair],
            ),
        ]
    return found


def _curves(cases: Cases) -> list[Claim]:
    scale = cases.scale
    throughput = measures.throughput(scale.capacity_rps, 15)
    top = scale.loads[-1]
    return [
        _falling(
            f"No admission control, {100 * top:g} %, mean length 15: more retries lower the "
            "throughput (Fig. 2a)",
            "0 above 1 above 2 above 3 retries",
            throughput,
            [cases.overloaded(15, top, retries=n) for n in range(4)],
        ),
        _falling(
            f"No admission control, {100 * top:g} %, mean length 15: a longer think time lowers "
            "the throughput (Fig. 2b)",
            "1 s above 2 s above 5 s",
            throughput,
            [cases.overloaded(15, top, think_time_s=s) for s in (1.0, 2.0, 5.0)],
        ),
        _falling(
            f"{100 * top:g} %, mean length 15: the stable function aborts more sessions than the "
            "responsive function (Fig. 8b)",
            "k = 0.1 above k = 1",
            measures.aborted_percent,
            [cases.weighted(k, 15, top) for k in (0.1, 1.0)],
        ),
        _falling(
            "100 %, mean length 15: the stable function completes more sessions than the "
            "responsive function (Fig. 8a)",
            "k = 0.1 above k = 1",
            throughput,
            [cases.weighted(k, 15, 1.0) for k in (0.1, 1.0)],
        ),
        *(
            _falling(
                f"{100 * top:g} %, mean length {mean}: more sessions are aborted with an "
                "ac-interval of 5 s than of 1 s (Fig. 9)",
                "5 s above 1 s",
                measures.aborted_percent,
                [
                    cases.admitted("sbac-responsive", mean, top, ac_interval_s=5.0),
                    cases.admitted("sbac-responsive", mean, top),
                ],
            )
            for mean in (5, 15)
        ),
        _falling(
            "Table 1's workload, 200 %: more sales sessions complete with SBAC than without",
            "with above without",
            measures.kind_completed_percent(0),
            [cases.shop(admission, 2.0) for admission in ("sbac-responsive", "none")],
        ),
    ]


def _falling(text: str, required: str, value: Value, ranked: Iterable[Case[ShopRun]]) -> Claim:
    """Return the claim that a metric falls from case to case."""
    return falling(text, required, [(case, value) for case in ranked])


def _stable_most(needs: Sequence[Case[ShopRun]], results: Results) -> Verdict:
    aborted = [results.mean(case, measures.aborted_percent) or 0.0 for case in needs]
    titles = list(STRATEGIES.values())
    text = ", ".join(f"{title} {one:.2f}" for title, one in zip(titles, aborted, strict=True))
    nobody = max(aborted) < NOBODY_PERCENT
    return f"{text} %", nobody or aborted[0] > max(aborted[1:])


def _live(cases: LiveCases) -> list[Claim]:
    none, *strategies = cases.keys()
    found = [
        within(
            f"ρ = 2, mean length 15, {title_of(key.removeprefix('sq+'))}: share of the admitted "
            "sessions that complete",
            cases.case(key, 15, 2.0),
            measures.completed_of_admitted_percent,
            95.0,
            math.inf,
            "at least 95 %",
            1,
        )
        for key in strategies
    ]
    found.append(
        within(
            "ρ = 2, mean length 15, no admission control: share of the sessions that complete",
            cases.case(none, 15, 2.0),
            measures.completed_percent,
            -math.inf,
            70.0,
            "at most 70 %",
            1,
        )
    )
    return found
