"""The reproduction of the Connection Sentry: its tables, and what must hold of them.

Owns: the claims, and what the report says before and after the figures.
Must not know: how a case is run, how an exhibit is drawn.
"""

from itertools import pairwise

from lab.experiments.reproduction import connection_sentry_values as values
from lab.experiments.reproduction import connection_sentry_waste as waste
from lab.experiments.reproduction.claims import Claim
from lab.experiments.reproduction.connection_sentry_cases import (
    CATALOGUE_BOOKS,
    HEAVIEST,
    PAPER_PROFILE,
    SCALES,
    Cases,
    Cell,
    Engine,
)
from lab.experiments.reproduction.connection_sentry_figures import Figures
from lab.experiments.reproduction.exhibits import Study
from lab.experiments.reproduction.ratios import Ratio, below, below_one, ratio_within

NO_GAIN = 1.10
"""Throughput with 3 clients in each set may grow by a tenth: almost no gain."""


def study(*, quick: bool, engine: Engine = "simulated") -> Study:
    """In the simulator, or on the appliance."""
    return study_of(Cases(SCALES[engine][quick], engine))


def study_of(cases: Cases) -> Study:
    """The report on these runs."""
    figures = Figures(cases)
    live, scale = cases.engine == "live", cases.scale
    return Study(
        paper="connection-sentry",
        title=f"Connection Sentry {'live' if live else 'reproduced'}: cancelling orphan requests",
        summary=(
            "Kraemer, Paixão, Guedes, Meira and Almeida, Minimizing the Impact of Orphan Requests "
            "in e-Commerce Services, UFMG, 2000. A closed loop of clients in two sets: the test "
            "set leaves when its patience ends, the control set never leaves and is what is "
            "measured, without the sentry (X) and with it (S).",
            (
                "Doorbuster's gateway in front of its shop, with its sentry, on a catalogue of "
                f"{CATALOGUE_BOOKS:,} books; the database shares the shop's CPU. "
                if live
                else "Simulated with one server of published page times. "
            )
            + f"Each run lasts {scale.duration_s:g} paper seconds, the first "
            f"{scale.warm_up_s:g} left out; throughput is given for 30 minutes, as published.",
        ),
        exhibits=[*figures.all(), waste.wasted_work(cases), waste.no_help(cases)],
        claims=[*claims(cases), *waste.claims(cases)],
        readings=[*_READINGS, *(_LIVE_READINGS if live else _SIMULATED_READINGS)],
    )


_READINGS = (
    ("The clients", "The trace is not published: each request's class is drawn with the shares of "
     "Table 2 at 15 s with the sentry (home 25, browse 1, search 17, select 3, file 54 %)."),
    ("Think time", "3.5 s on average: what Tables 1 and 2 leave over of 1,800 s per request "
     "(4.1 to 4.5 s with 9 clients, 3.1 to 3.5 with 6, 2.7 with 3)."),
    ("Patience", "Uniform up to the maximum. Who leaves reloads at once in three cases of four, "
     "else goes away for 15 s on average: the paper says only that customers restart or leave."),
    ("Latency", "Mean of the control set's requests that were answered; of those there are all."),
    ("Profile paper", f"Its pages take a quarter of the work; {PAPER_PROFILE.per_set} clients in "
     "each set overload the shop with them as 9 do with the others."),
    ("Direction, not size", "What must hold are directions and orders. A claim about an order is "
     "not decided while the 95 % interval of the difference holds 0."),
)  # fmt: skip

_LIVE_READINGS = (
    ("The database", "Theirs was MySQL on a machine of its own, whose queries queued for a lock; "
     "a cancelled one was dropped when it got the lock. Ours is PostgreSQL on the shop's own "
     "CPU, the bottleneck here as there; queries share it, and a running one is cancelled."),
    ("The catalogue", f"{CATALOGUE_BOOKS:,} books instead of 4,309, so that a search is as dear "
     "to this machine as theirs was to a 200 MHz Pentium (page profile “real”)."),
    ("Sentry", "X: the shop only watches who leaves, and finishes. S: the gateway withdraws what "
     "waits and half-closes what is in service; the shop stops the page and its query."),
)  # fmt: skip

_SIMULATED_READINGS = (
    ("The server", "One CPU that 30 requests at most share, where the paper had a web server and "
     "a database server with a lock. No network, no database; a cancel works at once."),
    ("Page times", "Home 0.2, browse 0.4 and file 0.1 s of CPU: Table 3's latencies with 3 "
     "clients, where almost nobody waits. Select 1.0 and search 1.5 s: about half the latencies "
     "printed there (1.7 to 2.1 and 3.7 to 3.9 s), as the server is two thirds busy. "
     "Each ± 50 %."),
)  # fmt: skip


def claims(cases: Cases) -> list[Claim]:
    """What the paper says must hold, as directions."""
    gain = Figures(cases).ratio
    patient = cases.by_patience()[-1]
    few = cases.by_clients()[-1]
    found = [
        below(
            f"Search latency S / X is lower at patience {HEAVIEST.patience_max_s:g} s than at "
            f"{patient.patience_max_s:g} s: the gain shrinks with patience (Table 1)",
            f"{HEAVIEST.patience_max_s:g} s below {patient.patience_max_s:g} s",
            gain(HEAVIEST, values.latency_s("search")),
            gain(patient, values.latency_s("search")),
        ),
        below(
            f"Throughput X / S of all classes is lower at patience {HEAVIEST.patience_max_s:g} s "
            f"than at {patient.patience_max_s:g} s (Table 2)",
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
                f"{fewer.per_set}: the gain shrinks with the load (Table 3)",
                f"{many.per_set} below {fewer.per_set}",
                gain(many, values.latency_s("search")),
                gain(fewer, values.latency_s("search")),
            )
        )
    found.append(
        below(
            f"Throughput X / S of all classes is lower with {HEAVIEST.per_set} clients in each set "
            f"than with {few.per_set} (Table 4)",
            f"{HEAVIEST.per_set} below {few.per_set}",
            _lost(cases, HEAVIEST),
            _lost(cases, few),
        )
    )
    # Browse is one request in a hundred: a handful in a run.
    found += [
        below(
            f"{HEAVIEST.title}: home gains more than {kind}, its latency S / X is lower (Table 1)",
            f"home below {kind}",
            gain(HEAVIEST, values.latency_s("home")),
            gain(HEAVIEST, values.latency_s(kind)),
        )
        for kind in ("search", "select")
    ]
    found.append(
        ratio_within(
            f"{few.title}: almost no gain in throughput, all classes (Table 4)",
            f"S / X from {1 / NO_GAIN:.2f} to {NO_GAIN:.2f}",
            gain(few, values.whole_throughput),
            1 / NO_GAIN,
            NO_GAIN,
        )
    )
    for cell in (HEAVIEST, PAPER_PROFILE):
        found += [
            below_one(
                f"{cell.title}: search latency falls with the sentry",
                "S / X below 1",
                gain(cell, values.latency_s("search")),
            ),
            below_one(
                f"{cell.title}: throughput of all classes grows with the sentry",
                "X / S below 1",
                _lost(cases, cell),
            ),
            below_one(
                f"{cell.title}: less multiprogramming with the sentry, pages in service (Fig. 7)",
                "S / X below 1",
                gain(cell, values.busy("in_service")),
            ),
        ]
    found.append(
        below_one(
            f"{HEAVIEST.title}: pages are made in less time with the sentry (Fig. 7)",
            "S / X below 1",
            gain(HEAVIEST, values.build_s),
        )
    )
    return found


def _lost(cases: Cases, cell: Cell) -> Ratio:
    """Throughput without the sentry over throughput with it: the smaller, the larger the gain."""
    return Ratio(cases.run(cell, "X"), cases.run(cell, "S"), values.whole_throughput)
