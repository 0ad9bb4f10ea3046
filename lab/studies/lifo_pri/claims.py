"""The claims of LIFO-Pri's reproduction, from the paper and from this project."""

import math
from collections.abc import Sequence

from lab.analysis.published import published
from lab.report.claims import Claim, Verdict, falling, within
from lab.report.tables import ROWS
from lab.results.metrics import Metrics, Results
from lab.spec.cases import Case
from lab.spec.runs import ShopRun
from lab.studies.lifo_pri import measures
from lab.studies.lifo_pri.cases import (
    EFFECTIVE_RHO,
    FIG3_RHO,
    SCHEMES,
    SINGLE_QUEUE,
    TIMEOUTS_S,
    Cases,
)
from lab.wording import TITLES

TABLE_1_TOLERANCE_POINTS = 2.0
MODE_TOLERANCE_S = 2.0
OVERLOAD = 1.4
TAIL_FROM_S = 10.0


def claims(cases: Cases) -> list[Claim]:
    """Return the claims for the engine of `cases`; live runs have only the claims about the single
    queue."""
    return _single_queue(cases) + (_shop(cases) if cases.engine == "simulated" else [])


def _single_queue(cases: Cases) -> list[Claim]:
    paper = published()["lifo_pri"]
    found = []
    for timeout_s in TIMEOUTS_S:
        printed = paper["table1"][f"timeout_{timeout_s}s"]
        for name in SINGLE_QUEUE:
            case = cases.single(name, EFFECTIVE_RHO, timeout_s)
            theirs = {row: shares[name.replace("-", "_")] for row, shares in printed.items()}
            found.append(_near_table_1(f"{TITLES[name]}, timeout {timeout_s} s", case, theirs))
    rho = FIG3_RHO
    below = [cases.single(name, rho, 20) for name in SINGLE_QUEUE]
    found.append(
        falling(
            f"Below capacity (ρ = {rho:g}): more requests are unanswered after 20 s with "
            "Always-LIFO than with Always-FIFO (Fig. 3)",
            "Always-LIFO above Always-FIFO",
            [
                (below[1], measures.unanswered_percent(20)),
                (below[0], measures.unanswered_percent(20)),
            ],
        )
    )
    found.append(
        Claim(
            f"Below capacity (ρ = {rho:g}): LIFO-at-overload is nearer to Always-FIFO than to "
            f"Always-LIFO, by requests unanswered after {TAIL_FROM_S:g} s (Fig. 3)",
            "nearer to Always-FIFO",
            below,
            lambda results: _nearer_to_fifo(results, below),
        )
    )
    modes = paper["claims"]["fig4_mode_s"]
    for name in SINGLE_QUEUE:
        case = cases.single(name, EFFECTIVE_RHO, 40)
        found.append(_mode(TITLES[name], case, modes[name.replace("-", "_")]))
    fifo = cases.single("always-fifo", EFFECTIVE_RHO, 40)
    limit_s = paper["claims"]["fig4_max_response_s"]["always_fifo"]
    found.append(
        Claim(
            "Timeout 40 s: Always-FIFO's response times end near 24 s (Fig. 4)",
            f"99.9th percentile {limit_s:g} ± 2 s",
            [fifo],
            lambda results: _largest(results.of(fifo), limit_s),
        )
    )
    shares = paper["claims"]["fig5_under_10s_share_20s_timeout"]
    for name in SINGLE_QUEUE:
        theirs = 100 * shares[name.replace("-", "_")]
        low, high = (-math.inf, theirs) if theirs < 50 else (theirs - 5, math.inf)
        found.append(
            within(
                f"Timeout 20 s, {TITLES[name]}: requests answered within 10 s (Fig. 5)",
                cases.single(name, EFFECTIVE_RHO, 20),
                measures.answered_between_percent(0, 10),
                low,
                high,
                f"at most {high:g} %" if theirs < 50 else f"at least {low:g} %",
                1,
            )
        )
    return found


def _shop(cases: Cases) -> list[Claim]:
    paper = published()["lifo_pri"]
    calm = {name: cases.shop(name, 0.85) for name in SCHEMES}
    busy = {name: cases.shop(name, OVERLOAD) for name in SCHEMES}
    upwards = list(reversed(SCHEMES))
    found = [
        within(
            f"ρ = 0.85, {TITLES[name]}: all requests complete (Tables 4 and 5)",
            case,
            _completed_percent,
            99.0,
            math.inf,
            "at least 99 %",
            2,
        )
        for name, case in calm.items()
    ]
    for text, value in (
        ("completed requests (%)", _completed_percent),
        ("confirms", lambda metrics: float(metrics["outcomes"]["confirms"])),
        ("attempts at Br-1 answered within 5 s (%)", measures.answered_between_percent(0, 5)),
    ):
        found.append(
            falling(
                f"ρ = {OVERLOAD:g}: {text}: most with 8Q-LIFO-Pri, fewest with SQ "
                "(Tables 4, 5, Fig. 7)",
                "8Q-LIFO-Pri above 8Q-AF above SQ",
                [(busy[name], value) for name in upwards],
            )
        )
    found.append(
        falling(
            f"ρ = {OVERLOAD:g}: timed-out attempts (%): most with SQ, fewest with 8Q-LIFO-Pri "
            "(Table 5)",
            "SQ above 8Q-AF above 8Q-LIFO-Pri",
            [(busy[name], measures.outcome_percent("timed_out")) for name in SCHEMES],
        )
    )
    heaviest = cases.scale.rhos[-1]
    theirs = paper["claims"]["lifo_pri_throughput_rps_at_rho_2"]
    found += [
        falling(
            f"ρ = {heaviest:g}: throughput: highest with 8Q-LIFO-Pri, lowest with SQ (Fig. 6)",
            "8Q-LIFO-Pri above 8Q-AF above SQ",
            [(cases.shop(name, heaviest), measures.throughput_rps) for name in upwards],
        ),
        within(
            "ρ = 2: 8Q-LIFO-Pri's throughput (Fig. 6)",
            cases.shop("8q-lifo-pri", 2.0),
            measures.throughput_rps,
            theirs,
            paper["capacity_rps"],
            f"from the published {theirs:g} to the capacity of {paper['capacity_rps']:g} requests "
            "per paper second",
            2,
        ),
        falling(
            f"ρ = {OVERLOAD:g}: mean response time: 8Q-LIFO-Pri below 8Q-AF (Fig. 8)",
            "8Q-AF above 8Q-LIFO-Pri",
            [
                (busy["8q-af"], measures.response_mean_s),
                (busy["8q-lifo-pri"], measures.response_mean_s),
            ],
        ),
    ]
    return found


def _completed_percent(metrics: Metrics) -> float:
    return 100 * measures.outcomes(metrics).completed_ratio


def _near_table_1(who: str, case: Case[ShopRun], theirs: dict[str, float]) -> Claim:
    def check(results: Results) -> Verdict:
        shares = {row: results.mean(case, measures.outcome_percent(row)) or 0.0 for row in theirs}
        text = ", ".join(f"{ROWS[row].lower()} {share:.1f}" for row, share in shares.items())
        away = max(abs(shares[row] - theirs[row]) for row in theirs)
        return f"{text} %", away <= TABLE_1_TOLERANCE_POINTS

    printed = ", ".join(f"{ROWS[row].lower()} {share:g}" for row, share in theirs.items())
    return Claim(
        f"{who}: the outcomes of requests (Table 1)",
        f"{printed} %, each within {TABLE_1_TOLERANCE_POINTS:g} points",
        [case],
        check,
    )


def _mode(who: str, case: Case[ShopRun], theirs: float) -> Claim:
    def check(results: Results) -> Verdict:
        ours = measures.mode_s(results.of(case))
        return f"{ours:g} s", abs(ours - theirs) <= MODE_TOLERANCE_S

    return Claim(
        f"Timeout 40 s: {who}'s most frequent response time (Fig. 4)",
        f"{theirs:g} ± {MODE_TOLERANCE_S:g} s",
        [case],
        check,
    )


def _largest(repetitions: Sequence[Metrics], limit_s: float) -> Verdict:
    ours = measures.largest_answered_s(repetitions)
    return f"{ours:g} s", abs(ours - limit_s) <= MODE_TOLERANCE_S


def _nearer_to_fifo(results: Results, cases: Sequence[Case[ShopRun]]) -> Verdict:
    tail = measures.unanswered_percent(TAIL_FROM_S)
    fifo, lifo, switched = (results.mean(case, tail) or 0.0 for case in cases)
    text = f"Always-FIFO {fifo:.1f}, Always-LIFO {lifo:.1f}, LIFO-at-overload {switched:.1f} %"
    return text, abs(switched - fifo) < abs(switched - lifo)
