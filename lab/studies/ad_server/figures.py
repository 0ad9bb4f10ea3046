"""The ad server's Figs. 5 to 8, Tables III and IV, and a figure of a single client."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.analysis.ideal_gain import ideal_gain
from lab.analysis.published import published
from lab.report.drawing.pictures import Series
from lab.report.study_figures import CaseCurve, Entry, EntryTable, Figure, FormulaCurve, Panel, Row
from lab.results.metrics import Results, Value
from lab.spec.cases import Case
from lab.spec.runs import AdServerRun
from lab.studies.ad_server import measures
from lab.studies.ad_server.cases import (
    FEW,
    MANY,
    PUBLISHED_THREADS,
    STREAM,
    Cases,
    clients_words,
)
from lab.studies.study import PaperFigures
from loadgen.customers.ad_clients import PRIORITIES

Pairs = Mapping[str, Sequence[float]]
THREADS = "threads per high-priority request"


def published_pairs(table: str, concepts: int) -> Pairs:
    """Return the published values [low priority, high priority] by row of `table3` or `table4`.

    The result is empty if nothing is published.
    """
    found: Pairs = published()["ad_server"][table].get(f"concepts_{concepts}", {})
    return found


def published_gain_percent(clients: int, concepts: int) -> float | None:
    """Return the gain calculated from Table IV's response times, or None if the table lacks
    them."""
    pair = published_pairs("table4", concepts).get(str(clients))
    return None if pair is None else 100 * (1 - pair[1] / pair[0])


@dataclass(frozen=True, slots=True)
class StreamCurve:
    """A curve for one run and priority: the response times of the first requests, in the order in
    which they were sent."""

    label: str
    case: Case[AdServerRun]

    def cases(self) -> Iterable[Case[AdServerRun]]:
        return (self.case,)

    def series(self, results: Results) -> Series:
        runs = results.of(self.case)
        times_s = runs[0][self.label]["stream_s"] if runs else []
        x = [float(number) for number in range(1, len(times_s) + 1)]
        return Series(self.label, x, list(times_s), [None] * len(x))


@dataclass(frozen=True, slots=True)
class Figures(PaperFigures[Cases]):
    """All figures and tables for the runs of `cases`."""

    def all(self) -> list[Figure]:
        """Return the paper's figures in their order, with the gain of other numbers of clients
        after Figs. 6 and 7, then the figure of a single client."""
        between = [n for n in self.cases.scale.clients if n not in (FEW, MANY)]
        return [
            self.figure_5(),
            self.table_3(),
            self.gains("figures-6-and-7", (FEW, MANY)),
            *([self.gains("gain-between", between)] if between else []),
            self.figure_8(),
            self.table_4(),
            self.alone(),
        ]

    def figure_5(self) -> Figure:
        """Return Fig. 5, the response times of consecutive requests."""
        concepts = max(self.cases.scale.concepts)
        panels = [
            Panel(
                key,
                clients_words(clients),
                "request",
                "response time, s",
                [
                    StreamCurve(priority, self.cases.at(clients, concepts, PUBLISHED_THREADS))
                    for priority in PRIORITIES
                ],
                kind="plain",
                printed_x=[1.0, *(float(x) for x in range(10, STREAM + 1, 10))],
                digits=4,
            )
            for key, clients in (("5a", FEW), ("5b", MANY))
        ]
        return self.text.figure("figure-5", panels)

    def table_3(self) -> Figure:
        """Return Table III, the predictability of response times."""
        rows: list[Row] = [
            (str(n), *self._pairs(FEW, n, measures.rsd_percent, "table3", str(n), 1))
            for n in self.cases.scale.threads
        ]
        title = "Relative standard deviation, %, published | measured"
        table = EntryTable(title, ("Threads", *self._columns()), rows, _INTERVALS)
        return self.text.figure("table-3", tables=(table,))

    def table_4(self) -> Figure:
        """Return Table IV: response times by number of clients."""
        numbers, threads = self.cases.scale.clients, PUBLISHED_THREADS
        times = EntryTable(
            "Response time, s, published | measured",
            ("Clients", *self._columns()),
            [
                (str(n), *self._pairs(n, threads, measures.response_s, "table4", str(n), 3))
                for n in numbers
            ],
            _INTERVALS,
        )
        gains = EntryTable(
            "Gain, %, published | measured",
            ("Clients", *map(_concepts, self.cases.scale.concepts)),
            [
                (str(n), *(self._gain(n, concepts, threads, published_gain_percent(n, concepts))
                           for concepts in self.cases.scale.concepts))
                for n in numbers
            ],
            "The published gain is calculated from the published response times. " + _INTERVALS,
        )  # fmt: skip
        return self.text.figure("table-4", tables=(times, gains))

    def gains(self, key: str, clients: Sequence[int]) -> Figure:
        """Return a figure of the gain against the number of threads, with a panel for each number
        of clients."""
        panels = []
        for number in clients:
            published_gains = {
                (_concepts(concepts), float(PUBLISHED_THREADS)): round(gain, 1)
                for concepts in self.cases.scale.concepts
                if (gain := published_gain_percent(number, concepts)) is not None
            }
            name, title = clients_words(number), "gain"
            if number in _FIGURES:
                name, title = _FIGURES[number], name
            panels.append(self._gain_panel(name, title, number, published_gains))
        return self.text.figure(key, panels)

    def figure_8(self) -> Figure:
        """Return Fig. 8: response times with many clients."""
        scale = self.cases.scale

        def panel(concepts: int) -> Panel:
            curves = [
                CaseCurve(
                    priority,
                    [
                        (n, self.cases.at(MANY, concepts, n), measures.response_s(priority))
                        for n in scale.threads
                    ],
                )
                for priority in PRIORITIES
            ]
            pair = published_pairs("table4", concepts).get(str(MANY), ())
            theirs = zip(PRIORITIES, pair, strict=False)
            return Panel(
                f"8, {concepts} concepts",
                "mean response time",
                THREADS,
                "response time, s",
                curves,
                digits=3,
                x_ticks=scale.threads,
                published={(name, float(PUBLISHED_THREADS)): time_s for name, time_s in theirs},
            )

        return self.text.figure("figure-8", [panel(concepts) for concepts in scale.concepts])

    def alone(self) -> Figure:
        """Return the figure that shows a single client's gain next to the ideal gain."""
        scale, cpus = self.cases.scale, self.cases.cpus
        rows: list[Row] = [
            (str(n), *(self._gain(1, concepts, n, 100 * ideal_gain(n, concepts, cpus))
                       for concepts in scale.concepts))
            for n in scale.threads
        ]  # fmt: skip
        header = ("Threads", *map(_concepts, scale.concepts))
        title = "Gain of a single client, %, ideal | measured"
        table = EntryTable(title, header, rows, _INTERVALS)
        return self.text.figure("alone", [self._gain_panel("a", clients_words(1), 1, {})], [table])

    def _gain(self, clients: int, concepts: int, threads: int, theirs: float | None) -> Entry:
        case = self.cases.at(clients, concepts, threads)
        return Entry(case, measures.gain_percent, None if theirs is None else round(theirs, 1))

    def _gain_panel(
        self, key: str, title: str, clients: int, theirs: Mapping[tuple[str, float], float]
    ) -> Panel:
        """Return a panel of the gain by concepts, and the ideal gain for the most concepts."""
        scale = self.cases.scale
        curves = [
            CaseCurve(
                _concepts(concepts),
                [
                    (n, self.cases.at(clients, concepts, n), measures.gain_percent)
                    for n in scale.threads
                ],
            )
            for concepts in scale.concepts
        ]
        most = max(scale.concepts)
        ideal = FormulaCurve(
            f"ideal, {_concepts(most)}",
            [float(n) for n in scale.threads],
            [100 * ideal_gain(n, most, self.cases.cpus) for n in scale.threads],
        )
        return Panel(
            key,
            title,
            THREADS,
            "gain, %",
            [*curves, ideal],
            published=theirs,
            y_from=None,
            x_ticks=scale.threads,
        )

    def _columns(self) -> list[str]:
        return [
            f"{_concepts(concepts)}, {priority}"
            for concepts in self.cases.scale.concepts
            for priority in PRIORITIES
        ]

    def _pairs(
        self,
        clients: int,
        threads: int,
        value: Callable[[str], Value],
        table: str,
        row: str,
        digits: int,
    ) -> list[Entry]:
        """Return a row's entries: low and high priority for each number of concepts."""
        found = []
        for concepts in self.cases.scale.concepts:
            pair = published_pairs(table, concepts).get(row, (None, None))
            case = self.cases.at(clients, concepts, threads)
            found += [
                Entry(case, value(priority), theirs, digits)
                for priority, theirs in zip(PRIORITIES, pair, strict=True)
            ]
        return found


def _concepts(number: int) -> str:
    return f"{number} concepts"


_FIGURES = {FEW: "6", MANY: "7"}
_INTERVALS = "Measured values are means ± half-width of the 95 % interval over the repetitions."
