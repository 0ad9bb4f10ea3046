"""The reproduction of LIFO-Pri: its figures and tables, and what must hold of them.

Owns: the claims, and what the report says before and after the figures.
Must not know: how a case is simulated, how an exhibit is drawn.
"""

import math
from collections.abc import Sequence

from lab.experiments.published import published
from lab.experiments.reproduction import lifo_pri_cases
from lab.experiments.reproduction import lifo_pri_values as values
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.claims import Claim, Verdict, falling, within
from lab.experiments.reproduction.exhibits import Study
from lab.experiments.reproduction.lifo_pri_cases import (
    EFFECTIVE_RHO,
    LONG_INTERVAL_S,
    SCHEMES,
    SINGLE_QUEUE,
    TIMEOUTS_S,
    Cases,
)
from lab.experiments.reproduction.lifo_pri_figures import Figures
from lab.experiments.reproduction.store import Metrics, Results
from lab.experiments.tables import ROWS
from lab.experiments.titles import TITLES

TABLE_1_TOLERANCE_POINTS = 2.0
MODE_TOLERANCE_S = 2.0
FIG3_RHO: float = published()["lifo_pri"]["claims"]["fig3_rho"]
OVERLOAD = 1.4
TAIL_FROM_S = 10.0


def study(*, quick: bool) -> Study:
    """With the paper's 24,000 sessions at each load, or fewer."""
    scale = lifo_pri_cases.quick() if quick else lifo_pri_cases.whole()
    cases = Cases(scale)
    return Study(
        paper="lifo-pri",
        title="LIFO-Pri reproduced: overload control by queueing",
        summary=(
            "Singhmar, Mathur, Apte and Manjunath, A Combined LIFO-Priority Scheme for Overload "
            "Control of E-commerce Web Servers. Published figures stand beside those simulated "
            "with the policies that Doorbuster's gateway runs.",
            f"Each load is simulated with {scale.sessions:,} sessions of the paper's shop, and "
            f"{scale.requests:,} requests at its single queue."
            + (" This is the quick grid: fewer sessions and loads." if quick else ""),
        ),
        exhibits=Figures(cases).all(),
        claims=claims(cases),
        readings=READINGS,
    )


READINGS = (
    ("The server", "30 workers share one CPU (processor sharing), waits overlap; 71.4 % of an "
     "execution time is CPU, so that ρ = 1 is 5.6 requests/s."),
    ("Execution times", "Uniform within ± 50 % of Table 2's mean."),
    ("Orphan requests", "Keep their place and are executed in full. Skipping those whose customer "
     "has gone would double what SQ completes."),
    ("Retries", "A timed-out request is sent again with p = 0.4, at most 5 times; a dropped one is "
     "not, and fails its session."),
    ("Sessions", "The file of 1,000 sessions is drawn by quota, as the paper's own counts are."),
    ("Table 1's load", f"An effective ρ of {EFFECTIVE_RHO:g}; see Table 1."),
    ("Utilisation", "Measured every second in the shop, every "
     f"{LONG_INTERVAL_S:g} s in the single-queue experiments; see Figure 3."),
)  # fmt: skip


def live_study(cases: Cases) -> Study:
    """The single-queue part on the appliance, with its CPU-intensive page."""
    return Study(
        paper="lifo-pri",
        title="LIFO-Pri live: FIFO and LIFO in a single queue",
        summary=(
            "Singhmar, Mathur, Apte and Manjunath, section 3.1, on Doorbuster's appliance: its "
            "gateway in front of its shop with a CPU-intensive page, real customers that leave.",
            f"{cases.scale.requests:,} requests in each run.",
        ),
        exhibits=Figures(cases, engine="live").single_queue(),
        claims=_single_queue(cases),
        readings=READINGS[-2:],
    )


def claims(cases: Cases) -> list[Claim]:
    """What the paper and this project say must hold."""
    return [*_single_queue(cases), *_shop(cases)]


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
            f"Below capacity (ρ = {rho:g}): Always-LIFO leaves more requests unanswered for 20 s "
            "than Always-FIFO, the longer tail (Fig. 3)",
            "Always-LIFO over Always-FIFO",
            [(below[1], values.unanswered_percent(20)), (below[0], values.unanswered_percent(20))],
        )
    )
    found.append(
        Claim(
            f"Below capacity (ρ = {rho:g}): LIFO-at-overload is nearer to Always-FIFO than to "
            f"Always-LIFO, by requests over {TAIL_FROM_S:g} s (Fig. 3)",
            "between the two, nearer to Always-FIFO",
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
            f"99.9 % within {limit_s:g} ± 2 s",
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
                f"Timeout 20 s: {TITLES[name]} answers within 10 s (Fig. 5)",
                cases.single(name, EFFECTIVE_RHO, 20),
                values.answered_between_percent(0, 10),
                low,
                high,
                f"at most {high:g} %" if theirs < 50 else f"nearly {theirs:g} %, at least {low:g}",
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
        ("completed requests", _completed_percent),
        ("confirms", lambda metrics: float(metrics["outcomes"]["confirms"])),
        ("requests within 5 s at Br-1, %", values.answered_between_percent(0, 5)),
    ):
        found.append(
            falling(
                f"ρ = {OVERLOAD:g}: {text}, 8Q-LIFO-Pri first, SQ last (Tables 4, 5, Fig. 7)",
                "8Q-LIFO-Pri over 8Q-AF over SQ",
                [(busy[name], value) for name in upwards],
            )
        )
    found.append(
        falling(
            f"ρ = {OVERLOAD:g}: timed-out requests, SQ first, 8Q-LIFO-Pri last (Table 5)",
            "SQ over 8Q-AF over 8Q-LIFO-Pri",
            [(busy[name], values.outcome_percent("timed_out")) for name in SCHEMES],
        )
    )
    heaviest = cases.scale.rhos[-1]
    theirs = paper["claims"]["lifo_pri_throughput_rps_at_rho_2"]
    found += [
        falling(
            f"ρ = {heaviest:g}: throughput, 8Q-LIFO-Pri first, SQ last (Fig. 6)",
            "8Q-LIFO-Pri over 8Q-AF over SQ",
            [(cases.shop(name, heaviest), values.throughput_rps) for name in upwards],
        ),
        within(
            "ρ = 2: 8Q-LIFO-Pri's throughput (Fig. 6)",
            cases.shop("8q-lifo-pri", 2.0),
            values.throughput_rps,
            theirs,
            paper["capacity_rps"],
            f"at least the published {theirs:g} requests/s",
            2,
        ),
        falling(
            f"ρ = {OVERLOAD:g}: mean response time, 8Q-LIFO-Pri below the others (Fig. 8)",
            "8Q-AF over 8Q-LIFO-Pri",
            [
                (busy["8q-af"], values.response_mean_s),
                (busy["8q-lifo-pri"], values.response_mean_s),
            ],
        ),
    ]
    return found


def _completed_percent(metrics: Metrics) -> float:
    return 100 * values.outcomes(metrics).completed_ratio


def _near_table_1(who: str, case: Case, theirs: dict[str, float]) -> Claim:
    def check(results: Results) -> Verdict:
        shares = {row: results.mean(case, values.outcome_percent(row)) or 0.0 for row in theirs}
        text = ", ".join(f"{ROWS[row].lower()} {share:.1f}" for row, share in shares.items())
        away = max(abs(shares[row] - theirs[row]) for row in theirs)
        return f"{text} %", away <= TABLE_1_TOLERANCE_POINTS

    printed = ", ".join(f"{ROWS[row].lower()} {share:g}" for row, share in theirs.items())
    return Claim(
        f"{who}: what becomes of requests (Table 1)",
        f"{printed} %, each within {TABLE_1_TOLERANCE_POINTS:g} points",
        [case],
        check,
    )


def _mode(who: str, case: Case, theirs: float) -> Claim:
    def check(results: Results) -> Verdict:
        ours = values.mode_s(results.of(case))
        return f"{ours:g} s", abs(ours - theirs) <= MODE_TOLERANCE_S

    return Claim(
        f"Timeout 40 s: {who}'s most frequent response time (Fig. 4)",
        f"{theirs:g} ± {MODE_TOLERANCE_S:g} s",
        [case],
        check,
    )


def _largest(repetitions: Sequence[Metrics], limit_s: float) -> Verdict:
    ours = values.largest_answered_s(repetitions)
    return f"{ours:g} s", abs(ours - limit_s) <= MODE_TOLERANCE_S


def _nearer_to_fifo(results: Results, cases: Sequence[Case]) -> Verdict:
    tail = values.unanswered_percent(TAIL_FROM_S)
    fifo, lifo, switched = (results.mean(case, tail) or 0.0 for case in cases)
    text = f"Always-FIFO {fifo:.1f}, Always-LIFO {lifo:.1f}, LIFO-at-overload {switched:.1f} %"
    return text, abs(switched - fifo) < abs(switched - lifo)
