"""The reproduction of SBAC: its figures and tables, and what must hold of them.

Owns: the claims, and what the report says before and after the figures.
Must not know: how a case is simulated, how an exhibit is drawn.
"""

from collections.abc import Sequence

from lab.experiments.published import published
from lab.experiments.reproduction import sbac_cases
from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.claims import Claim, Verdict, at_most, falling, in_range, within
from lab.experiments.reproduction.exhibits import Study
from lab.experiments.reproduction.sbac_cases import DAYS, MEANS, SEGMENTS_S, STRATEGIES, Cases
from lab.experiments.reproduction.sbac_figures import figures
from lab.experiments.reproduction.store import Results

LENGTH_TOLERANCE = 0.12
BIN_TOLERANCE_POINTS = 1.0
ABORTED_AT_MOST = {15: 5.0, 50: 1.0}
USEFUL_TOLERANCE_POINTS = 4.0
NOBODY_PERCENT = 0.005
"""Less than this of the sessions aborted prints as 0.00 %: nobody."""


def study(*, quick: bool) -> Study:
    """At the paper's scale, or a tenth of it."""
    scale = sbac_cases.quick() if quick else sbac_cases.whole()
    cases = Cases(scale)
    return Study(
        paper="sbac",
        title="SBAC reproduced: session-based admission control",
        summary=(
            "Cherkasova and Phaal, Session-Based Admission Control: A Mechanism for Peak Load "
            "Management of Commercial Web Sites, IEEE Transactions on Computers 51(6), 2002. "
            "Published figures stand beside those simulated with the policies that Doorbuster's "
            "gateway runs.",
            f"One server of {scale.capacity_rps:g} requests/s and a listen queue of "
            f"{scale.listen_queue}, clients that wait 1 s, retry once and "
            "think 5 s on average between requests; 500 s from an empty server."
            + (
                " This is the quick grid: a tenth of the paper's server and queue, fewer loads, "
                "and files of less variance than SPECweb96's, so that the work that comes in "
                "a second varies as much as it does at the whole server."
                if quick
                else ""
            ),
        ),
        exhibits=figures(cases),
        claims=claims(cases),
        readings=READINGS,
    )


READINGS = (
    ("The end of a run", "Cut at 500 s: sessions under way then are neither completed nor aborted. "
     "This reading comes near the published lengths of completed sessions (Readings compared, "
     "below); letting everybody finish does not, because the server gets quieter then."),
    ("Session lengths", "Geometric, mean exactly as published."),
    ("Throughput", "Completed sessions, as a percentage of capacity × time / mean length. An empty "
     "start costs long sessions a part of it: with mean 50 a session lives 250 s."),
    ("Aborted sessions", "Percentage of all admitted sessions, those under way at the end among "
     "them."),
    ("Rejections", "Cost one mean file, served ahead of the listen queue (section 7). Only so many "
     "short sessions are aborted at 300 %."),
    ("A new session", "Is known from its admission on; its later requests are never rejected."),
    ("Clients", "The paper's limit of 10,000 clients is not imposed: sessions in progress stay "
     "below it behind admission control."),
    ("Predictive", "Measures capacity, load and session length itself, as section 12 says, and "
     "plans with 95 % of the capacity (see Table 2). A rejection is counted as one request "
     "(equation 7)."),
)  # fmt: skip


def claims(cases: Cases) -> list[Claim]:
    """What the paper and this project say must hold."""
    return [
        *_overloaded(cases),
        *_responsive(cases),
        *_table_2(cases),
        *_curves(cases),
    ]


def _overloaded(cases: Cases) -> list[Claim]:
    paper = published()["sbac"]["overloaded"]
    found = []
    for mean in MEANS:
        theirs = paper["completed_length_mean_at_300"][str(mean)]
        low, high = theirs * (1 - LENGTH_TOLERANCE), theirs * (1 + LENGTH_TOLERANCE)
        found.append(
            within(
                f"No admission control, 300 %, mean {mean}: mean length of completed sessions "
                "(Fig. 4a)",
                cases.overloaded(mean, 3.0),
                values.completed_length,
                low,
                high,
                f"{theirs:g} ± 12 %",
                2,
            )
        )
    share = paper["bins_completed_mean_50_at_300"][0]
    found.append(
        within(
            "No admission control, 300 %, mean 50: share of completed sessions up to the mean "
            "length (Fig. 4b)",
            cases.overloaded(50, 3.0),
            values.bin_percent("completed_bins", 0),
            share - BIN_TOLERANCE_POINTS,
            share + BIN_TOLERANCE_POINTS,
            f"{share:g} ± {BIN_TOLERANCE_POINTS:g} %",
            2,
        )
    )
    throughput = [
        (cases.overloaded(mean, 3.0), values.throughput(cases.scale.capacity_rps, mean))
        for mean in reversed(MEANS)
    ]
    found.append(
        falling(
            "No admission control, 300 %: longer sessions have the better throughput (Fig. 3a)",
            "50 over 15 over 5",
            throughput,
        )
    )
    useful = paper["useful_utilisation"]
    # “Around 15 percent” and “less than 7 percent”, read off a curve, over the offered load.
    for load, theirs in ((2.0, useful["at_200"]), (3.0, useful["at_300_below"])):
        needs = [cases.overloaded(mean, load) for mean in MEANS]

        def near(
            results: Results,
            needs: Sequence[Case] = needs,
            load: float = load,
            theirs: float = theirs,
        ) -> Verdict:
            ours = [results.mean(case, values.useful_over_load(load)) or 0.0 for case in needs]
            middle = sum(ours) / len(ours)
            text = ", ".join(f"{one:.1f}" for one in ours) + f"; mean {middle:.1f} %"
            return text, abs(middle - 100 * theirs) <= USEFUL_TOLERANCE_POINTS

        found.append(
            Claim(
                f"No admission control, {100 * load:g} %: useful utilisation over load, means 5, "
                "15, 50 (Fig. 3b)",
                f"{100 * theirs:g} ± {USEFUL_TOLERANCE_POINTS:g} % on average",
                needs,
                near,
            )
        )
    return found


def _responsive(cases: Cases) -> list[Claim]:
    found = [
        at_most(
            f"sbac-responsive, 300 %, mean {mean}: aborted of admitted (Fig. 6b)",
            cases.admitted("sbac-responsive", mean, 3.0),
            values.aborted_percent,
            limit,
        )
        for mean, limit in ABORTED_AT_MOST.items()
    ]
    short = cases.admitted("sbac-responsive", 5, 3.0)
    found.append(
        Claim(
            "sbac-responsive, 300 %, mean 5: many are aborted, published “up to 55 percent” "
            "(Fig. 6b)",
            "25 to 60 %",
            [short],
            lambda results: in_range(results, short, values.aborted_percent, 25, 60, 1),
        )
    )
    for mean in (15, 50):
        with_, without = cases.admitted("sbac-responsive", mean, 3.0), cases.overloaded(mean, 3.0)
        found.append(
            falling(
                f"300 %, mean {mean}: useful utilisation is better with admission control "
                "(Fig. 7b)",
                "with over without",
                [(with_, values.useful_utilisation), (without, values.useful_utilisation)],
            )
        )
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
                        f"{day.capitalize()} day, intervals of {segment_s:g} s, mean {mean}: "
                        "stable aborts most wherever any strategy aborts (Table 2)",
                        "stable first, or nobody aborted",
                        needs,
                        lambda results, needs=needs: _stable_most(results, needs),
                    )
                )
        busy = {name: cases.day("busy", name, 5, segment_s) for name in STRATEGIES}
        found.append(
            falling(
                f"Busy day, intervals of {segment_s:g} s, mean 5: predictive aborts less than "
                "responsive (Table 2)",
                "responsive over predictive",
                [(busy["sbac-responsive"], values.aborted_percent),
                 (busy["sbac-predictive"], values.aborted_percent)],
            )
        )  # fmt: skip
        usual = {name: cases.day("usual", name, 5, segment_s) for name in STRATEGIES}
        throughput = values.throughput(cases.scale.capacity_rps, 5)
        found.append(
            falling(
                f"Usual day, intervals of {segment_s:g} s, mean 5: predictive completes more than "
                "responsive (published: 14 % more, Fig. 11a)",
                "predictive over responsive",
                [(usual["sbac-predictive"], throughput), (usual["sbac-responsive"], throughput)],
            )
        )
    return found


def _curves(cases: Cases) -> list[Claim]:
    scale = cases.scale
    throughput = values.throughput(scale.capacity_rps, 15)
    top = scale.loads[-1]
    found = [
        falling(
            f"No admission control, {100 * top:g} %, mean 15: more retries, less throughput "
            "(Fig. 2a)",
            "0 over 1 over 2 over 3 retries",
            [(cases.overloaded(15, top, retries=n), throughput) for n in range(4)],
        ),
        falling(
            f"No admission control, {100 * top:g} %, mean 15: a longer think time, less "
            "throughput (Fig. 2b)",
            "1 s over 2 s over 5 s",
            [(cases.overloaded(15, top, think_time_s=s), throughput) for s in (1.0, 2.0, 5.0)],
        ),
        falling(
            f"{100 * top:g} %, mean 15: the stable function aborts more than the responsive one "
            "(Fig. 8b)",
            "k = 0.1 over k = 1",
            [(cases.weighted(k, 15, top), values.aborted_percent) for k in (0.1, 1.0)],
        ),
        falling(
            "100 %, mean 15: the stable function completes more than the responsive one (Fig. 8a)",
            "k = 0.1 over k = 1",
            [(cases.weighted(k, 15, 1.0), throughput) for k in (0.1, 1.0)],
        ),
    ]
    for mean in (5, 15):
        long_ = cases.admitted("sbac-responsive", mean, top, ac_interval_s=5.0)
        short = cases.admitted("sbac-responsive", mean, top)
        found.append(
            falling(
                f"{100 * top:g} %, mean {mean}: an ac-interval of 5 s aborts more than one of 1 s "
                "(Fig. 9)",
                "5 s over 1 s",
                [(long_, values.aborted_percent), (short, values.aborted_percent)],
            )
        )
    found.append(
        falling(
            "Table 1's workload, 200 %: more sales sessions complete with SBAC",
            "with over without",
            [(cases.shop(admission, 2.0), values.kind_completed_percent(0))
             for admission in ("sbac-responsive", "none")],
        )
    )  # fmt: skip
    return found


def _stable_most(results: Results, needs: Sequence[Case]) -> Verdict:
    aborted = [results.mean(case, values.aborted_percent) or 0.0 for case in needs]
    titles = list(STRATEGIES.values())
    text = ", ".join(f"{title} {one:.2f}" for title, one in zip(titles, aborted, strict=True))
    nobody = max(aborted) < NOBODY_PERCENT
    return f"{text} %", nobody or aborted[0] > max(aborted[1:])
