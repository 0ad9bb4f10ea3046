"""Connection Sentry's tables and its Figure 7 as exhibits.

Owns: which cell of a table is made of which cases, beside which published values, and what is said
about it. Must not know: how a case is run, how an exhibit is drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lab.experiments.published import published
from lab.experiments.reproduction import connection_sentry_values as values
from lab.experiments.reproduction.connection_sentry_cases import (
    CLASSES,
    HEAVIEST,
    MODES,
    PAPER_PROFILE,
    Cases,
    Cell,
)
from lab.experiments.reproduction.connection_sentry_printed import (
    Label,
    Printed,
    figure_of,
    printed,
    ratio_of,
)
from lab.experiments.reproduction.exhibits import Entry, EntryTable, Exhibit, Panel, ProfileCurve
from lab.experiments.reproduction.ratios import Ratio, RatioCurve, RatioEntry
from lab.experiments.reproduction.store import Value

TASKS = ("queue in the gateway", "making the page", "its CPU", "its database", "its other waits")
RATIO = "S / X"


def patience_label(cell: Cell) -> str:
    """A column of Tables 1 and 2."""
    return f"{cell.patience_max_s:g} s"


def clients_label(cell: Cell) -> str:
    """A column of Tables 3 and 4."""
    return f"{cell.per_set} clients"


class Measure(NamedTuple):
    """What a pair of tables shows of each class of request."""

    name: str
    """The paper's, of the table."""
    printed: Printed
    word: str
    unit: str
    value: Callable[[str], Value]
    digits: int

    @property
    def beside(self) -> str:
        """For titles."""
        return ", published | reproduced" if self.printed else ""


@dataclass(frozen=True, slots=True)
class Figures:
    """All of them for the runs of `cases`."""

    cases: Cases

    def all(self) -> list[Exhibit]:
        """In the order of the paper, then what it did not try."""
        return [
            self.by_patience(),
            self.by_clients(),
            self.figure_7(),
            self.paper_profile(),
        ]

    def by_patience(self) -> Exhibit:
        """Tables 1 and 2."""
        cells = self.cases.by_patience()
        return self._pair(
            "tables-1-and-2",
            "Tables 1 and 2: by patience",
            f"{HEAVIEST.per_set} clients in each set; those of the test set leave after a patience "
            "uniform up to the maximum that heads the column. Measured are the clients of the "
            "control set, who never leave.",
            (*_SIZES, *(_SIMULATED_SIZES if self.cases.engine == "simulated" else ())),
            cells,
            patience_label,
            ("Table 1", printed("table1_latency_by_patience_s", cells, patience_label)),
            ("Table 2", printed("table2_throughput_by_patience_s", cells, patience_label)),
        )

    def by_clients(self) -> Exhibit:
        """Tables 3 and 4."""
        cells = self.cases.by_clients()
        return self._pair(
            "tables-3-and-4",
            "Tables 3 and 4: by number of clients",
            f"Patience up to {HEAVIEST.patience_max_s:g} s; fewer clients in each of the two sets "
            "mean less load. Measured is the control set.",
            (
                "With 3 clients in each set the shop is not overloaded: few leave, and the work "
                "they leave behind slows the others down without making them ask for much less.",
            ),
            cells,
            clients_label,
            ("Table 3", printed("table3_latency_by_processes", cells, clients_label)),
            ("Table 4", printed("table4_throughput_by_processes", cells, clients_label)),
        )

    def paper_profile(self) -> Exhibit:
        """The heaviest cell with LIFO-Pri's pages."""
        return self._pair(
            "paper-profile",
            "With the pages of LIFO-Pri",
            "The same comparison with the page profile “paper”: every page waits and computes as "
            f"LIFO-Pri's Table 2 says, {PAPER_PROFILE.per_set} clients in each set, patience up to "
            f"{PAPER_PROFILE.patience_max_s:g} s. Nothing is published of it.",
            (
                "These pages take a quarter of the work of the others, so there are four times the "
                "clients. A page is 200 to 300 ms whatever it is, so that classes of pages are "
                "closer together; files wait in a lane of their own, beside the pages' workers.",
            ),
            [PAPER_PROFILE],
            clients_label,
            ("a", {}),
            ("b", {}),
        )

    def figure_7(self) -> Exhibit:
        """Time per task of a page, without the sentry and with it."""
        live = self.cases.engine == "live"
        tasks = [
            (TASKS[0], values.busy("queue_s")),
            (TASKS[1], values.build_s),
            (TASKS[2], values.task_s("cpu_s")),
            (TASKS[3], values.task_s("database_s")),
            (TASKS[4], values.task_s("other_s")),
        ][: None if live else 2]
        heaviest = {mode: self.cases.run(HEAVIEST, mode) for mode in MODES}
        panel = Panel(
            "7",
            HEAVIEST.title,
            "task",
            "s per page",
            [
                ProfileCurve(mode, case, range(len(tasks)), [value for _, value in tasks])
                for mode, case in heaviest.items()
            ],
            kind="bars",
            x_names=[name for name, _ in tasks],
            digits=2,
        )
        fall = published()["connection_sentry"]["claims"]["page_build_time_reduction"]
        rows = [
            (
                (cell.short, name),
                [
                    *(Entry(self.cases.run(cell, mode), value, digits=2) for mode in MODES),
                    RatioEntry(
                        self.ratio(cell, value),
                        1 - fall if cell == HEAVIEST and name == TASKS[1] else None,
                    ),
                ],
            )
            for cell in self.cases.cells()
            for name, value in [("pages in service", values.busy("in_service")), *tasks]
        ]
        return Exhibit(
            "figure-7",
            "Figure 7: where the time goes",
            "Time per task of a page, in seconds, classes of pages weighted as clients ask for "
            "them. The paper's figure is a picture; its text says that with the sentry the time "
            "for building pages falls by almost 45 %, and with it the level of multiprogramming "
            "(here: pages in service, mean over time).",
            (
                "The shop counts the pages that it makes to their end, so those that were "
                "cancelled do not lower the mean. A query's wait for the CPU counts as its "
                "database's; other waits are those for a CPU and for the interpreter. Profile "
                "“paper” does not tell the two apart."
                if live
                else "The simulator has no database of its own: making a page is the control "
                "set's mean latency less the mean wait for a worker.",
            ),
            (panel,),
            (
                EntryTable(
                    "Time per page by task (s) and pages in service; ratios published | reproduced",
                    ("Clients, patience", "Task", *MODES, RATIO),
                    rows,
                ),
            ),
        )

    def _pair(
        self,
        key: str,
        heading: str,
        what: str,
        differs: Sequence[str],
        cells: Sequence[Cell],
        label: Label,
        latency: tuple[str, Printed],
        throughput: tuple[str, Printed],
    ) -> Exhibit:
        """Latency and throughput of the same cells, and the ratios of both."""
        measures = (
            Measure(*latency, "latency", "mean latency, s per request", values.latency_s, 1),
            Measure(*throughput, "throughput", "requests in 30 minutes", values.throughput, 0),
        )
        tables = []
        for measure in measures:
            tables += [self._table(measure, cells, label), self._ratios(measure, cells, label)]
        panels = [self._bars(measure, cells, label) for measure in measures]
        return Exhibit(key, heading, what, differs, panels, tables)

    def _table(self, measure: Measure, cells: Sequence[Cell], label: Label) -> EntryTable:
        def entry(kind: str, cell: Cell, i: int, mode: str) -> Entry:
            theirs = figure_of(measure.printed, kind, label(cell), i)
            return Entry(self.cases.run(cell, mode), measure.value(kind), theirs, measure.digits)

        return EntryTable(
            f"{measure.name}: {measure.unit}, control set{measure.beside}",
            ("Class", *(f"{label(cell)} {mode}" for cell in cells for mode in MODES)),
            [
                (
                    (kind,),
                    [entry(kind, cell, i, m) for cell in cells for i, m in enumerate(MODES)],
                )
                for kind in CLASSES
            ],
            "X: without the sentry, S: with it.",
        )

    def _ratios(self, measure: Measure, cells: Sequence[Cell], label: Label) -> EntryTable:
        def entry(kind: str, cell: Cell) -> RatioEntry:
            theirs = ratio_of(measure.printed, kind, label(cell))
            return RatioEntry(self.ratio(cell, measure.value(kind)), theirs)

        return EntryTable(
            f"{measure.name} as ratios S / X{measure.beside}",
            ("Class", *(label(cell) for cell in cells)),
            [((kind,), [entry(kind, cell) for cell in cells]) for kind in CLASSES],
            "Ratios repetition by repetition: X and S meet the same clients under the same seed.",
        )

    def _bars(self, measure: Measure, cells: Sequence[Cell], label: Label) -> Panel:
        published_at = {
            (label(cell), i): ratio_of(measure.printed, kind, label(cell))
            for cell in cells
            for i, kind in enumerate(CLASSES)
        }
        return Panel(
            measure.name,
            f"{measure.word}, with the sentry over without",
            "class of request",
            f"{measure.word} S / X",
            [
                RatioCurve(
                    label(cell),
                    [(i, self.ratio(cell, measure.value(kind))) for i, kind in enumerate(CLASSES)],
                )
                for cell in cells
            ],
            kind="bars",
            x_names=CLASSES,
            published={at: ratio for at, ratio in published_at.items() if ratio is not None},
            digits=2,
        )

    def ratio(self, cell: Cell, value: Value) -> Ratio:
        """A figure with the sentry over the same without."""
        return Ratio(self.cases.run(cell, "S"), self.cases.run(cell, "X"), value)


_SIZES = (
    "Directions and orders can be required, sizes cannot: the paper does not say how its clients "
    "go on after a cancel. Here a client that leaves asks again at once three times out of four. "
    "Without the sentry each reload is one more request beside the orphan it leaves behind, both "
    "on the same CPU, and overload feeds itself; the paper's database made queries wait for a "
    "lock instead.",
    "Throughput changes by about the same factor in all classes, because the class of each "
    "request is drawn independently: who waits longer for a search asks for fewer of everything. "
    "The paper replayed a trace, in which home pages gained most; here they do in latency.",
    "Files gain most of all in the paper's latency (0.08 of it is left). Here they have a lane of "
    "their own beside the pages' workers and share the CPU with them.",
)

_SIMULATED_SIZES = (
    "In the simulator throughput with the sentry comes out near the published one, and without "
    "it lower, so that the gain is larger than published.",
)
