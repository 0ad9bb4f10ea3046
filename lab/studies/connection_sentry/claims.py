"""The claims of Connection Sentry's reproduction."""

from itertools import pairwise

from lab.report.claims import Claim, at_most
from lab.report.ratios import Ratio, below, below_one, ratio_within
from lab.studies.connection_sentry import measures
from lab.studies.connection_sentry.cases import HEAVIEST, PAPER_PROFILE, Cases, Cell
from lab.studies.connection_sentry.figures import SCHEMES, against_ignored, gain
from lab.wording import TITLES

NO_GAIN = 1.10
"""The largest throughput ratio S / X that counts as almost no gain, with 3 clients in each set."""
WASTED_AT_MOST_PERCENT = 5.0
COMPLETED_AT_LEAST = 1.5


def claims(cases: Cases) -> list[Claim]:
    """Return the claims of the paper, then the claims about wasted work."""
    return [*_of_the_paper(cases), *wasted_work_claims(cases)]


def _of_the_paper(cases: Cases) -> list[Claim]:
    patient = cases.by_patience()[-1]
    few = cases.by_clients()[-1]
    found = [
        below(
            f"Search latency S / X is lower at patience {HEAVIEST.patience_max_s:g} s than at "
            f"{patient.patience_max_s:g} s: the gain shrinks with patience (Table 1)",
            f"{HEAVIEST.patience_max_s:g} s below {patient.patience_max_s:g} s",
            gain(cases, HEAVIEST, measures.latency_s("search")),
            gain(cases, patient, measures.latency_s("search")),
        ),
        below(
            "Throughput X / S of all classes together is lower at patience "
            f"{HEAVIEST.patience_max_s:g} s than at {patient.patience_max_s:g} s (Table 2)",
            f"{HEAVIEST.patience_max_s:g} s below {patient.patience_max_s:g} s",
            _lost(cases, HEAVIEST),
            _lost(cases, patient),
        ),
    ]
    by_clients = cases.by_clients()
    for many, fewer in pairwise(by_clients):
        found.append(
            below(
                f"Search latency S / X is lower with {many.per_set} clients in each set than with "
                f"{fewer.per_set}: the gain grows with the load (Table 3)",
                f"{many.per_set} below {fewer.per_set}",
                gain(cases, many, measures.latency_s("search")),
                gain(cases, fewer, measures.latency_s("search")),
            )
        )
    found.append(
        below(
            f"Throughput X / S of all classes together is lower with {HEAVIEST.per_set} clients in "
            f"each set than with {few.per_set} (Table 4)",
            f"{HEAVIEST.per_set} below {few.per_set}",
            _lost(cases, HEAVIEST),
            _lost(cases, few),
        )
    )
    # Browse is one request in a hundred: only a few in a run.
    found += [
        below(
            f"{HEAVIEST.title}: the latency S / X of home is lower than that of {kind} (Table 1)",
            f"home below {kind}",
            gain(cases, HEAVIEST, measures.latency_s("home")),
            gain(cases, HEAVIEST, measures.latency_s(kind)),
        )
        for kind in ("search", "select")
    ]
    found.append(
        ratio_within(
            f"{few.title}: the throughput of all classes together hardly changes (Table 4)",
            f"S / X from {1 / NO_GAIN:.2f} to {NO_GAIN:.2f}",
            gain(cases, few, measures.whole_throughput),
            1 / NO_GAIN,
            NO_GAIN,
        )
    )
    for cell in (HEAVIEST, PAPER_PROFILE):
        found += [
            below_one(
                f"{cell.title}: search latency falls with the sentry",
                "S / X below 1",
                gain(cases, cell, measures.latency_s("search")),
            ),
            below_one(
                f"{cell.title}: throughput of all classes together grows with the sentry",
                "X / S below 1",
                _lost(cases, cell),
            ),
            below_one(
                f"{cell.title}: fewer pages are in service with the sentry (Fig. 7)",
                "S / X below 1",
                gain(cases, cell, measures.busy("in_service")),
            ),
        ]
    found.append(
        below_one(
            f"{HEAVIEST.title}: pages are built in less time with the sentry (Fig. 7)",
            "S / X below 1",
            gain(cases, HEAVIEST, measures.build_s),
        )
    )
    return found


def wasted_work_claims(cases: Cases) -> list[Claim]:
    """Return the claims about wasted work, in the paper's cells and with LIFO-Pri's customers. A
    simulated cancel never wastes work, so the claims that little work is wasted need live runs."""
    live = cases.cells() if cases.engine == "live" else []
    sq, lifo_pri = SCHEMES
    return [
        *(
            at_most(
                f"{cell.title}, with the sentry: share of the shop's CPU time spent on clients who "
                "had left",
                cases.run(cell, "S"),
                measures.wasted_percent,
                WASTED_AT_MOST_PERCENT,
            )
            for cell in live
        ),
        ratio_within(
            f"LIFO-Pri's customers at ρ = 2, {TITLES[sq]}: completed requests with cancelling / "
            "without cancelling",
            f"ratio at least {COMPLETED_AT_LEAST:g}",
            against_ignored(cases, sq, "cancel", measures.completed),
            COMPLETED_AT_LEAST,
            float("inf"),
        ),
        below_one(
            f"LIFO-Pri's customers at ρ = 2, {TITLES[lifo_pri]}: cancelling loses confirms",
            "with / without cancelling below 1",
            against_ignored(cases, lifo_pri, "cancel", measures.confirms),
        ),
    ]


def _lost(cases: Cases, cell: Cell) -> Ratio:
    """Return the throughput without the sentry divided by the throughput with it; a small ratio is
    a large gain."""
    return Ratio(cases.run(cell, "X"), cases.run(cell, "S"), measures.whole_throughput)
