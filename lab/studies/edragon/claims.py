"""The claims of eDragon's reproduction.

The 95 % interval over the repetitions decides each claim. A claim is undecided if the interval
contains its limit, because the metric could then be on either side by chance. A single repetition
has no interval, so its value alone decides.
"""

from collections.abc import Sequence

from lab.report.claims import NOTHING, Claim, Verdict, decided, is_above, is_between, within
from lab.report.ratios import Ratio, below_one, ratio_within
from lab.results.metrics import Metrics, Results, Value
from lab.spec.cases import Case
from lab.spec.runs import PlatformRun
from lab.studies.edragon import measures
from lab.studies.edragon.cases import (
    APPLICATIONS,
    EQUAL,
    LINUX,
    MANAGED,
    ORIGINAL,
    PAPER,
    SATURATION_SESSIONS_PS,
    SELF_MANAGED,
    STATIC,
    TO_HIGH,
    TWO_TO_ONE,
    Arrangement,
    Cases,
    Range,
)
from lab.studies.edragon.figures import share_of_largest

KEPT_AT_LEAST_PERCENT = 90.0
FALLS_AT_MOST_PERCENT = 70.0
HALF_A_PROCESSOR: float = PAPER["claims"]["sharing_granularity_cpus"]
ALIKE_RATIO = 0.1
_EDGE = 1e-9
"""A tolerance for rounding errors, so that a difference of exactly half a processor does not count
as more."""


def claims(cases: Cases) -> list[Claim]:
    """Return the claims, from the paper and this project, that the engine of `cases` can check."""
    found = [*_over_load(cases)]
    if cases.engine == "simulated":
        found += [*_assignments(cases), *_throughputs(cases)]
    return [*found, *_zone_e(cases)]


def _over_load(cases: Cases) -> list[Claim]:
    most = cases.scale.loads[-1]
    where = f"{most:g} new sessions/s"
    original, managed = cases.one(ORIGINAL, most), cases.one(SELF_MANAGED, most)
    printed = PAPER["claims"]
    found = [
        _share(
            cases,
            SELF_MANAGED,
            KEPT_AT_LEAST_PERCENT,
            float("inf"),
            f"at least {KEPT_AT_LEAST_PERCENT:g} % (published: "
            f"{100 * printed['throughput_share_of_max_controlled']:g} %)",
        ),
        _share(
            cases,
            ORIGINAL,
            0.0,
            FALLS_AT_MOST_PERCENT,
            f"at most {FALLS_AT_MOST_PERCENT:g} % (published: "
            f"{100 * printed['throughput_share_of_max_uncontrolled']:g} %)",
        ),
        below_one(
            f"{where}: lower 95th percentile of response time under self-management (Fig. 5)",
            "self-managed / original below 1",
            Ratio(managed, original, measures.response_p95_s),
        ),
        below_one(
            f"{where}: more sessions are completed under self-management (Fig. 6)",
            "original / self-managed below 1",
            Ratio(original, managed, measures.count("completed")),
        ),
        below_one(
            f"{where}: fewer sessions are refused or time out under self-management (Fig. 7)",
            "self-managed / original below 1",
            Ratio(managed, original, measures.unattended),
        ),
        _less(
            f"{where}: the original server lets the surplus sessions time out (Fig. 7)",
            "more timed out than refused",
            original,
            measures.count("refused"),
            measures.count("timed_out"),
        ),
        _less(
            f"{where}: the self-managed server refuses the surplus sessions (Fig. 7)",
            "more refused than timed out",
            managed,
            measures.count("timed_out"),
            measures.count("refused"),
        ),
    ]
    calm = [load for load in cases.scale.loads if load <= SATURATION_SESSIONS_PS / 2][-1:]
    for load in calm:
        managed, original = cases.one(SELF_MANAGED, load), cases.one(ORIGINAL, load)
        found += [
            ratio_within(
                f"{load:g} new sessions/s: both servers have the same throughput (Fig. 4)",
                f"self-managed / original 1 ± {ALIKE_RATIO:g}",
                Ratio(managed, original, measures.throughput_ps),
                1 - ALIKE_RATIO,
                1 + ALIKE_RATIO,
                digits=3,
            ),
            below_one(
                f"{load:g} new sessions/s: the self-managed server needs fewer processors (Fig. 8)",
                "self-managed / original below 1",
                Ratio(managed, original, measures.processors),
            ),
        ]
    return found


def _share(cases: Cases, server: str, low: float, high: float, required: str) -> Claim:
    share = share_of_largest(cases, server)
    return decided(
        f"Fully overloaded, the {server} server's throughput as a share of its maximum (Fig. 4)",
        required,
        share.cases(),
        share.estimate,
        lambda found: is_between(found, low, high),
        digits=1,
        unit=" %",
    )


def _less(
    text: str, required: str, case: Case[PlatformRun], smaller: Value, larger: Value
) -> Claim:
    """Return the claim that, in the runs of a case, one metric is smaller than another."""

    def difference(metrics: Metrics) -> float | None:
        low, high = smaller(metrics), larger(metrics)
        return None if low is None or high is None else high - low

    def check(results: Results) -> Verdict:
        found = results.estimate(case, difference)
        low, high = results.estimate(case, smaller), results.estimate(case, larger)
        if found is None or low is None or high is None:
            return NOTHING
        text = f"{low.text()} and {high.text()}, difference {found.text()}"
        return text, is_above(found)

    return Claim(text, required, [case], check)


def _assignments(cases: Cases) -> list[Claim]:
    """Return a claim for each number of processors that the paper prints. It holds if the
    reproduced number differs from the published number or range by at most half a processor."""
    return [
        _assignment(cases, arrangement, zone.name, i, theirs)
        for arrangement in MANAGED
        for zone in cases.scale.course.zones
        for i in range(len(APPLICATIONS))
        if (theirs := cases.processors_range(arrangement, zone.name, i))
    ]


def _assignment(
    cases: Cases, arrangement: Arrangement, zone: str, i: int, theirs: Range
) -> Claim:  # fmt: skip
    half = HALF_A_PROCESSOR + _EDGE
    return within(
        f"{arrangement.title}, zone {zone}: processors of {APPLICATIONS[i]} "
        f"(Fig. {arrangement.figure})",
        cases.two(arrangement),
        measures.over("processors", i, cases.scale.course.zone(zone)),
        theirs.low - half,
        theirs.high + half,
        f"{theirs.words} ± {HALF_A_PROCESSOR:g}",
        2,
    )


def _throughputs(cases: Cases) -> list[Claim]:
    """Return the claims in sections 2.1 and 5.2 that compare throughputs in a zone."""
    return [
        _more(cases, "B", 0, LINUX, STATIC, "1"),
        _more(cases, "E", 0, TWO_TO_ONE, EQUAL, "10"),
        _more(cases, "E", 1, EQUAL, TWO_TO_ONE, "10"),
        _more(cases, "D", 0, TO_HIGH, TWO_TO_ONE, "11"),
        _more(cases, "D", 1, TWO_TO_ONE, TO_HIGH, "11"),
    ]


def _more(
    cases: Cases, zone: str, i: int, more: Arrangement, less: Arrangement, figure: str
) -> Claim:  # fmt: skip
    value = measures.over("replies_ps", i, cases.scale.course.zone(zone))
    return below_one(
        f"Zone {zone}: {APPLICATIONS[i]} has more throughput with “{more.title}” than with "
        f"“{less.title}” (Fig. {figure})",
        "second arrangement / first arrangement below 1",
        Ratio(cases.two(less), cases.two(more), value),
    )


def _zone_e(cases: Cases) -> list[Claim]:
    """Return the claims that two overloaded applications have less throughput with LINUX than with
    other arrangements."""
    zone = cases.scale.course.zone("E")
    others: Sequence[Arrangement] = (STATIC, EQUAL) if cases.engine == "simulated" else (EQUAL,)
    return [
        below_one(
            f"Zone E: both applications together have less throughput with “{LINUX.title}” "
            f"(blind admission) than with “{other.title}” (Figs. 1, 9)",
            f"{LINUX.title} / other below 1",
            Ratio(cases.two(LINUX), cases.two(other), measures.over_both("replies_ps", zone)),
        )
        for other in others
    ]
