"""Connection Sentry's tables and figures: the cases behind each cell, and the published numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gateway.policies import Abandonment
from lab.analysis.published import published
from lab.report.ratios import Ratio, RatioCurve, RatioEntry
from lab.report.study_figures import CaseCurve, Entry, EntryTable, Figure, Panel, Row, profile
from lab.results.metrics import Value
from lab.spec.cases import AnyCase
from lab.studies.connection_sentry import measures
from lab.studies.connection_sentry.cases import CLASSES, HEAVIEST, MODES, PAPER_PROFILE, Cases, Cell
from lab.studies.study import PaperFigures
from lab.wording import TITLES

TASKS = ("queue in the gateway", "making the page", "its CPU", "its database", "its other waits")
RATIO = "S / X"

SCHEMES = ("sq", "8q-lifo-pri")
ABANDONMENTS: dict[Abandonment, str] = {
    "ignore": "ignored",
    "drop-queued": "taken out of queues",
    "cancel": "cancelled",
}

Column = tuple[str, Value, int]

Label = Callable[[Cell], str]
Printed = Mapping[tuple[str, str], tuple[float, float]]
"""The published values without the sentry (X) and with it (S), by class of request and label of the
cell."""


def printed(table: str, cells: Sequence[Cell], label: Label) -> Printed:
    """Return the published numbers of these cells; `table` is a key of published.toml."""
    by_class = published()["connection_sentry"][table]
    found = {}
    for cell in cells:
        column = f"{cell.per_set}" if "processes" in table else f"{cell.patience_max_s:g}"
        for kind in CLASSES:
            without, with_ = by_class[kind][column]
            found[kind, label(cell)] = (without, with_)
    return found


def ratio_of(numbers: Printed, kind: str, column: str) -> float | None:
    """Return the published ratio S / X, or None if the paper has no numbers."""
    found = numbers.get((kind, column))
    return None if found is None else found[1] / found[0]


def patience_label(cell: Cell) -> str:
    """Return the title of a column of Tables 1 and 2."""
    return f"{cell.patience_max_s:g} s"


def clients_label(cell: Cell) -> str:
    """Return the title of a column of Tables 3 and 4."""
    return f"{cell.per_set} clients"


class Measure(NamedTuple):
    """A table with a value for each class of requests."""

    name: str
    """The table's name: the paper's name, or a letter if the table is not in the paper."""
    printed: Printed
    word: str
    unit: str
    value: Callable[[str], Value]
    digits: int

    @property
    def beside(self) -> str:
        """The words at the end of the table's title."""
        return ", published | reproduced" if self.printed else ""


@dataclass(frozen=True, slots=True)
class Figures(PaperFigures[Cases]):
    """All figures and tables for the runs of `cases`."""

    def all(self) -> list[Figure]:
        """Return the paper's figures in their order, then the figures that the paper does not
        have."""
        return [
            self.by_patience(),
            self.by_clients(),
            self.figure_7(),
            self.paper_profile(),
            self.wasted_work(),
            self.no_help(),
        ]

    def by_patience(self) -> Figure:
        """Return Tables 1 and 2."""
        tables = ("table1_latency_by_patience_s", "table2_throughput_by_patience_s")
        return self._pair("tables-1-and-2", self.cases.by_patience(), patience_label, tables)

    def by_clients(self) -> Figure:
        """Return Tables 3 and 4."""
        tables = ("table3_latency_by_processes", "table4_throughput_by_processes")
        return self._pair("tables-3-and-4", self.cases.by_clients(), clients_label, tables)

    def paper_profile(self) -> Figure:
        """Return the tables of the cell with LIFO-Pri's pages."""
        return self._pair("paper-profile", [PAPER_PROFILE], clients_label)

    def figure_7(self) -> Figure:
        """Return Fig. 7: the time of each task of a page, without the sentry and with it."""
        live = self.cases.engine == "live"
        tasks = [
            (TASKS[0], measures.busy("queue_s")),
            (TASKS[1], measures.build_s),
            (TASKS[2], measures.task_s("cpu_s")),
            (TASKS[3], measures.task_s("database_s")),
            (TASKS[4], measures.task_s("other_s")),
        ][: None if live else 2]
        panel = Panel(
            "7",
            HEAVIEST.title,
            "task",
            "s per page",
            [
                profile(
                    mode,
                    self.cases.run(HEAVIEST, mode),
                    range(len(tasks)),
                    [value for _, value in tasks],
                )
                for mode in MODES
            ],
            kind="bars",
            x_names=[name for name, _ in tasks],
            digits=2,
        )
        fall = published()["connection_sentry"]["claims"]["page_build_time_reduction"]
        rows: list[Row] = [
            (
                *(cell.short, name),
                *(Entry(self.cases.run(cell, mode), value, digits=2) for mode in MODES),
                RatioEntry(
                    gain(self.cases, cell, value),
                    1 - fall if cell == HEAVIEST and name == TASKS[1] else None,
                ),
            )
            for cell in self.cases.cells()
            for name, value in [("pages in service", measures.busy("in_service")), *tasks]
        ]
        table = EntryTable(
            "Time per page by task (s) and pages in service; ratios published | reproduced",
            ("Clients, patience", "Task", *MODES, RATIO),
            rows,
        )
        return self.text.figure("figure-7", (panel,), (table,))

    def wasted_work(self) -> Figure:
        """Return the figure and the table of wasted work. Both show each cell twice: without the
        sentry and with it.
        """
        columns: list[Column] = [
            ("Wasted CPU, %", measures.wasted_percent, 1),
            ("Unanswered CPU, %", measures.unanswered_percent, 1),
            ("Left in service", measures.waste("disconnects"), 0),
            ("Stopped", measures.waste("interrupted"), 0),
            ("Withdrawn from a queue", measures.waste("withdrawn"), 0),
        ]
        if self.cases.engine == "live":
            columns += [
                ("Wasted database, s", measures.waste("wasted_database_s"), 0),
                ("Cancels attempted", measures.waste("cancels_attempted"), 0),
                ("Effective", measures.waste("cancels_effective"), 0),
                ("Too late", measures.waste("cancels_too_late"), 0),
                ("Failed", measures.waste("cancels_failed"), 0),
            ]
        cells = self.cases.cells()
        curves = [
            CaseCurve(
                mode,
                [
                    (i, self.cases.run(cell, mode), measures.wasted_percent)
                    for i, cell in enumerate(cells)
                ],
            )
            for mode in MODES
        ]
        panel = Panel(
            "wasted",
            "CPU spent on clients who had left",
            "clients per set, patience",
            "% of server CPU",
            curves,
            kind="bars",
            x_names=[cell.short for cell in cells],
        )
        rows: list[Row] = [
            (*(cell.short, mode), *_entries(self.cases.run(cell, mode), columns))
            for cell in cells
            for mode in MODES
        ]
        table = EntryTable(
            "Wasted work per run",
            ("Clients, patience", "", *(name for name, _, _ in columns)),
            rows,
            "Values are means ± half-width of the 95 % interval over the repetitions, for both "
            "client sets, including the warm-up.",
        )
        return self.text.figure("wasted-work", (panel,), (table,))

    def no_help(self) -> Figure:
        """Return the table of LIFO-Pri's customers at ρ = 2, by policy and abandonment."""
        columns: list[Column] = [
            ("Completed requests", measures.completed, 0),
            ("Wasted CPU, %", measures.wasted_busy_percent, 1),
            ("Confirms", measures.confirms, 1),
        ]
        rows: list[Row] = [
            (
                *(TITLES[scheme], name),
                *_entries(self.cases.shoppers(scheme, abandonment), columns),
                *(
                    RatioEntry(against_ignored(self.cases, scheme, abandonment, value))
                    for value in (measures.completed, measures.confirms)
                ),
            )
            for scheme in SCHEMES
            for abandonment, name in ABANDONMENTS.items()
        ]
        names = (name for name, _, _ in columns)
        table = EntryTable(
            "LIFO-Pri's customers at ρ = 2, a run",
            ("Policy", "Orphan requests are", *names, "Completed / ignored", "Confirms / ignored"),
            rows,
            "Ratios are calculated per repetition, between runs with the same seed.",
        )
        return self.text.figure("no-help", tables=(table,))

    def _pair(
        self, key: str, cells: Sequence[Cell], label: Label, of_paper: Sequence[str] = ()
    ) -> Figure:
        """Return the figure with the latency and the throughput of these cells, and their ratios.
        `of_paper` has the keys of the paper's tables in published.toml."""
        names = [key.partition("_")[0].replace("table", "Table ") for key in of_paper] or "ab"
        numbers = [printed(key, cells, label) for key in of_paper] or [{}, {}]
        shown = (
            Measure(names[0], numbers[0], "latency", "mean latency, s per request",
                    measures.latency_s, 1),
            Measure(names[1], numbers[1], "throughput", "requests in 30 minutes",
                    measures.throughput, 0),
        )  # fmt: skip
        tables = []
        for measure in shown:
            tables += [self._table(measure, cells, label), self._ratios(measure, cells, label)]
        panels = [self._bars(measure, cells, label) for measure in shown]
        return self.text.figure(key, panels, tables)

    def _table(self, measure: Measure, cells: Sequence[Cell], label: Label) -> EntryTable:
        def entry(kind: str, cell: Cell, i: int, mode: str) -> Entry:
            theirs = measure.printed.get((kind, label(cell)), (None, None))[i]
            return Entry(self.cases.run(cell, mode), measure.value(kind), theirs, measure.digits)

        return EntryTable(
            f"{measure.name}: {measure.unit}, control set{measure.beside}",
            ("Class", *(f"{label(cell)} {mode}" for cell in cells for mode in MODES)),
            [
                (kind, *(entry(kind, cell, i, m) for cell in cells for i, m in enumerate(MODES)))
                for kind in CLASSES
            ],
            "X: without the sentry, S: with it.",
        )

    def _ratios(self, measure: Measure, cells: Sequence[Cell], label: Label) -> EntryTable:
        def entry(kind: str, cell: Cell) -> RatioEntry:
            theirs = ratio_of(measure.printed, kind, label(cell))
            return RatioEntry(gain(self.cases, cell, measure.value(kind)), theirs)

        return EntryTable(
            f"{measure.name} as ratios S / X{measure.beside}",
            ("Class", *(label(cell) for cell in cells)),
            [(kind, *(entry(kind, cell) for cell in cells)) for kind in CLASSES],
            "Ratios are calculated per repetition: with the same seed, X and S serve the same "
            "clients.",
        )

    def _bars(self, measure: Measure, cells: Sequence[Cell], label: Label) -> Panel:
        published_at = {
            (label(cell), i): ratio_of(measure.printed, kind, label(cell))
            for cell in cells
            for i, kind in enumerate(CLASSES)
        }
        return Panel(
            measure.name,
            f"{measure.word} with the sentry / without the sentry",
            "class of request",
            f"{measure.word} S / X",
            [
                RatioCurve(
                    label(cell),
                    [
                        (i, gain(self.cases, cell, measure.value(kind)))
                        for i, kind in enumerate(CLASSES)
                    ],
                )
                for cell in cells
            ],
            kind="bars",
            x_names=CLASSES,
            published={at: ratio for at, ratio in published_at.items() if ratio is not None},
            digits=2,
        )


def _entries(case: AnyCase, columns: Sequence[Column]) -> list[Entry]:
    return [Entry(case, value, None, digits) for _, value, digits in columns]


def gain(cases: Cases, cell: Cell, value: Value) -> Ratio:
    """Return a metric with the sentry divided by the same metric without it."""
    return Ratio(cases.run(cell, "S"), cases.run(cell, "X"), value)


def against_ignored(cases: Cases, scheme: str, abandonment: Abandonment, value: Value) -> Ratio:
    """Return a metric of LIFO-Pri's customers divided by the same metric with `ignore`."""
    return Ratio(cases.shoppers(scheme, abandonment), cases.shoppers(scheme, "ignore"), value)
