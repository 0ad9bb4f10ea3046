"""What cancelling saves, and where it does not help: exhibits beyond the paper's own.

Owns: the wasted-work figures, LIFO-Pri's customers with their orphans cancelled and the claims
over both. Must not know: how a case is run, how an exhibit is drawn.
"""

from gateway.policies.interface import Abandonment
from lab.experiments.reproduction import connection_sentry_values as values
from lab.experiments.reproduction.claims import Claim, at_most
from lab.experiments.reproduction.connection_sentry_cases import MODES, Cases
from lab.experiments.reproduction.exhibits import CaseCurve, Entry, EntryTable, Exhibit, Panel
from lab.experiments.reproduction.ratios import Ratio, RatioEntry, below_one, ratio_within
from lab.experiments.reproduction.store import Value
from lab.experiments.titles import TITLES

SCHEMES = ("sq", "8q-lifo-pri")
ABANDONMENTS: dict[Abandonment, str] = {
    "ignore": "ignored",
    "drop-queued": "taken out of queues",
    "cancel": "cancelled",
}
WASTED_AT_MOST_PERCENT = 5.0
COMPLETED_AT_LEAST = 1.5

Column = tuple[str, Value, int]


def wasted_work(cases: Cases) -> Exhibit:
    """The wasted-work meter in each cell."""
    columns: list[Column] = [
        ("Wasted CPU, %", values.wasted_percent, 1),
        ("Unanswered CPU, %", values.unanswered_percent, 1),
        ("Left in service", values.waste("disconnects"), 0),
        ("Stopped", values.waste("interrupted"), 0),
        ("Withdrawn from a queue", values.waste("withdrawn"), 0),
    ]
    if cases.engine == "live":
        columns += [
            ("Wasted database, s", values.waste("wasted_database_s"), 0),
            ("Cancels attempted", values.waste("cancels_attempted"), 0),
            ("Effective", values.waste("cancels_effective"), 0),
            ("Too late", values.waste("cancels_too_late"), 0),
            ("Failed", values.waste("cancels_failed"), 0),
        ]
    cells = cases.cells()
    return Exhibit(
        "wasted-work",
        "Wasted work",
        "CPU spent on requests after their clients had left (wasted: what cancelling can save) and "
        "before, on requests that were then never answered, both in percent of all the CPU that "
        "was spent; clients who left a request in service, and what became of these.",
        (
            "What was spent before a client left is lost with the sentry, too: it cannot know who "
            "will leave. "
            + (
                "CPU is the shop's own; what its queries took shows in database seconds, those "
                "that pages waited for results. A cancel is too late when its query ended by "
                "itself first."
                if cases.engine == "live"
                else "A simulated cancel takes no time, so nothing is wasted; live it does. "
                "The simulator has no database."
            ),
        ),
        (
            Panel(
                "wasted",
                "CPU spent on clients who had left",
                "clients per set, patience",
                "% of server CPU",
                [
                    CaseCurve(
                        mode,
                        [
                            (i, cases.run(cell, mode), values.wasted_percent)
                            for i, cell in enumerate(cells)
                        ],
                    )
                    for mode in MODES
                ],
                kind="bars",
                x_names=[cell.short for cell in cells],
            ),
        ),
        (
            EntryTable(
                "The wasted-work meter, a run",
                ("Clients, patience", "", *(name for name, _, _ in columns)),
                [
                    (
                        (cell.short, mode),
                        [Entry(cases.run(cell, mode), value, None, n) for _, value, n in columns],
                    )
                    for cell in cells
                    for mode in MODES
                ],
                "Means of the repetitions, clients of both sets, from the first request to the "
                "last.",
            ),
        ),
    )


def no_help(cases: Cases) -> Exhibit:
    """LIFO-Pri's customers at ρ = 2, orphans executed against cancelled."""
    columns: list[Column] = [
        ("Completed requests", values.completed, 0),
        ("Wasted CPU, %", values.wasted_busy_percent, 1),
        ("Confirms", values.confirms, 1),
    ]
    rows = [
        (
            (TITLES[scheme], name),
            [Entry(cases.shoppers(scheme, abandonment), value, None, n) for _, value, n in columns]
            + [
                RatioEntry(_against_ignored(cases, scheme, abandonment, value))
                for value in (values.completed, values.confirms)
            ],
        )
        for scheme in SCHEMES
        for abandonment, name in ABANDONMENTS.items()
    ]
    return Exhibit(
        "no-help",
        "Where cancelling does not help",
        f"{cases.scale.sessions:,} sessions of LIFO-Pri's impatient customers in front of its shop "
        "at ρ = 2, simulated on either engine. “doorbuster run connection-sentry” makes the same "
        "comparison live.",
        (
            "With one queue (SQ) cancelling gives the CPU back to customers who are still there: "
            "far more requests complete (a simulated cancel takes no time, so nothing is wasted). "
            "Sales stay few: a purchase needs seven answers in a "
            "row, and a first come, first served queue at twice its capacity hardly ever gives "
            "them.",
            "8Q-LIFO-Pri serves the page with the largest N × U, the number that waits times the "
            "utility. Orphans that are left in their queues count in N. At ρ = 2 the queues of the "
            "later pages are short and hold many orphans; taking those out lowers N × U "
            "there, while the queue for the main page stays full of newcomers. So the later pages "
            "have to wait until enough people wait for them, many of those on their way to the "
            "till leave meanwhile, and confirms are lost although more requests complete. Taking "
            "orphans out of the queues alone already does this; stopping those in service adds "
            "little. The policy would have to be told of both: who waits, and how much they are "
            "worth.",
        ),
        tables=(
            EntryTable(
                "LIFO-Pri's customers at ρ = 2, a run",
                (
                    "Policy",
                    "Orphan requests are",
                    *(name for name, _, _ in columns),
                    "Completed / ignored",
                    "Confirms / ignored",
                ),
                rows,
                "Ratios repetition by repetition, under the same seed.",
            ),
        ),
    )


def claims(cases: Cases) -> list[Claim]:
    """What must hold of the waste, in the paper's cells and with LIFO-Pri's customers.

    A simulated cancel wastes nothing by construction: how little is wasted is claimed of live runs.
    """
    live = cases.cells() if cases.engine == "live" else []
    sq, lifo_pri = SCHEMES
    return [
        *(
            at_most(
                f"{cell.title}: with the sentry, the shop's CPU spent on clients who had left",
                cases.run(cell, "S"),
                values.wasted_percent,
                WASTED_AT_MOST_PERCENT,
            )
            for cell in live
        ),
        ratio_within(
            f"LIFO-Pri's customers at ρ = 2, {TITLES[sq]}: completed requests, cancelled over "
            "ignored",
            f"at least {COMPLETED_AT_LEAST:g} times",
            _against_ignored(cases, sq, "cancel", values.completed),
            COMPLETED_AT_LEAST,
            float("inf"),
        ),
        below_one(
            f"LIFO-Pri's customers at ρ = 2, {TITLES[lifo_pri]}: confirms are lost by cancelling",
            "cancelled over ignored below 1",
            _against_ignored(cases, lifo_pri, "cancel", values.confirms),
        ),
    ]


def _against_ignored(cases: Cases, scheme: str, abandonment: Abandonment, value: Value) -> Ratio:
    return Ratio(cases.shoppers(scheme, abandonment), cases.shoppers(scheme, "ignore"), value)
