"""The ad server's figures and tables: Figs. 5 to 8, Tables III and IV, and a figure of a single
client."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.analysis.ideal_gain import ideal_gain
from lab.analysis.published import published
from lab.report.drawing.pictures import Series
from lab.report.study_figures import CaseCurve, Entry, EntryTable, Figure, FormulaCurve, Panel
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
        return self.text.figure(
            "figure-5",
            [
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
            ],
        )

    def table_3(self) -> Figure:
        """Return Table III, the predictability of response times."""
        return self.text.figure(
            "table-3",
            tables=(
                EntryTable(
                    "Relative standard deviation, %, published | measured",
                    ("Threads", *self._columns()),
                    [
                        (
                            (str(threads),),
                            self._pairs(
                                FEW, threads, measures.rsd_percent, "table3", str(threads), 1
                            ),
                        )
                        for threads in self.cases.scale.threads
                    ],
                    _INTERVALS,
                ),
            ),
        )

    def table_4(self) -> Figure:
        """Return Table IV: response times by number of clients."""
        scale = self.cases.scale
        return self.text.figure(
            "table-4",
            tables=(
                EntryTable(
                    "Response time, s, published | measured",
                    ("Clients", *self._columns()),
                    [
                        (
                            (str(clients),),
                            self._pairs(
                                clients,
                                PUBLISHED_THREADS,
                                measures.response_s,
                                "table4",
                                str(clients),
                                3,
                            ),
                        )
                        for clients in scale.clients
                    ],
                    _INTERVALS,
                ),
                EntryTable(
                    "Gain, %, published | measured",
                    ("Clients", *(f"{concepts} concepts" for concepts in scale.concepts)),
                    [
                        (
                            (str(clients),),
                            [
                                Entry(
                                    self.cases.at(clients, concepts, PUBLISHED_THREADS),
                                    measures.gain_percent,
                                    _rounded(published_gain_percent(clients, concepts)),
                                )
                                for concepts in scale.concepts
                            ],
                        )
                        for clients in scale.clients
                    ],
                    "The published gain is calculated from the published response times. "
                    + _INTERVALS,
                ),
            ),
        )

    def gains(self, key: str, clients: Sequence[int]) -> Figure:
        """Return a figure of the gain against the number of threads, with a panel for each number
        of clients."""
        return self.text.figure(
            key,
            [
                Panel(
                    _FIGURES.get(number, clients_words(number)),
                    clients_words(number) if number in _FIGURES else "gain",
                    THREADS,
                    "gain, %",
                    [*self._gain_curves(number), self._ideal(max(self.cases.scale.concepts))],
                    published={
                        (f"{concepts} concepts", float(PUBLISHED_THREADS)): gain
                        for concepts in self.cases.scale.concepts
                        if (gain := _rounded(published_gain_percent(number, concepts))) is not None
                    },
                    y_from=None,
                    x_ticks=self.cases.scale.threads,
                )
                for number in clients
            ],
        )

    def figure_8(self) -> Figure:
        """Return Fig. 8: response times with many clients."""
        scale = self.cases.scale
        return self.text.figure(
            "figure-8",
            [
                Panel(
                    f"8, {concepts} concepts",
                    "mean response time",
                    THREADS,
                    "response time, s",
                    [
                        CaseCurve(
                            priority,
                            [
                                (threads, self.cases.at(MANY, concepts, threads),
                                 measures.response_s(priority))
                                for threads in scale.threads
                            ],
                        )
                        for priority in PRIORITIES
                    ],
                    digits=3,
                    x_ticks=scale.threads,
                    published={
                        (priority, float(PUBLISHED_THREADS)): pair[i]
                        for i, priority in enumerate(PRIORITIES)
                        if (pair := published_pairs("table4", concepts).get(str(MANY)))
                    },
                )
                for concepts in scale.concepts
            ],
        )  # fmt: skip

    def alone(self) -> Figure:
        """Return the figure that shows a single client's gain next to the ideal gain."""
        scale, cpus = self.cases.scale, self.cases.cpus
        return self.text.figure(
            "alone",
            [
                Panel(
                    "a",
                    clients_words(1),
                    THREADS,
                    "gain, %",
                    [*self._gain_curves(1), self._ideal(max(scale.concepts))],
                    y_from=None,
                    x_ticks=self.cases.scale.threads,
                )
            ],
            (
                EntryTable(
                    "Gain of a single client, %, ideal | measured",
                    ("Threads", *(f"{concepts} concepts" for concepts in scale.concepts)),
                    [
                        (
                            (str(threads),),
                            [
                                Entry(
                                    self.cases.at(1, concepts, threads),
                                    measures.gain_percent,
                                    _rounded(100 * ideal_gain(threads, concepts, cpus)),
                                )
                                for concepts in scale.concepts
                            ],
                        )
                        for threads in scale.threads
                    ],
                    _INTERVALS,
                ),
            ),
        )

    def _gain_curves(self, clients: int) -> list[CaseCurve]:
        return [
            CaseCurve(
                f"{concepts} concepts",
                [
                    (threads, self.cases.at(clients, concepts, threads), measures.gain_percent)
                    for threads in self.cases.scale.threads
                ],
            )
            for concepts in self.cases.scale.concepts
        ]

    def _ideal(self, concepts: int) -> FormulaCurve:
        threads = self.cases.scale.threads
        return FormulaCurve(
            f"ideal, {concepts} concepts",
            [float(each) for each in threads],
            [100 * ideal_gain(each, concepts, self.cases.cpus) for each in threads],
        )

    def _columns(self) -> list[str]:
        return [
            f"{concepts} concepts, {priority}"
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


def _rounded(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 1)


_FIGURES = {FEW: "6", MANY: "7"}
_INTERVALS = "Measured values are means ± half-width of the 95 % interval over the repetitions."
