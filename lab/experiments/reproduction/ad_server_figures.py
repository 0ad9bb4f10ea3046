"""Figs. 5 to 8 and Tables III and IV of the ad server as exhibits, and a client alone.

Owns: which curve and cell is made of which cases, beside which published values, and what is said
about it. Must not know: how a case is run, how an exhibit is drawn.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lab.experiments.published import published
from lab.experiments.reproduction import ad_server_values as values
from lab.experiments.reproduction.ad_server_cases import (
    FEW,
    MANY,
    PUBLISHED_THREADS,
    SERVER_THREADS,
    Cases,
    Cell,
    clients_words,
)
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.exhibits import (
    CaseCurve,
    Entry,
    EntryTable,
    Exhibit,
    FormulaCurve,
    Panel,
    Series,
)
from lab.experiments.reproduction.store import Results, Value
from loadgen.ad_clients import PRIORITIES

Pairs = Mapping[str, Sequence[float]]
THREADS = "threads for a request of high priority"


def published_pairs(table: str, concepts: int) -> Pairs:
    """[low, high] by row of `table3` (threads) or `table4` (clients); empty without a column."""
    found: Pairs = published()["ad_server"][table].get(f"concepts_{concepts}", {})
    return found


def published_gain_percent(clients: int, concepts: int) -> float | None:
    """What Table IV's response times give; None where it has none."""
    pair = published_pairs("table4", concepts).get(str(clients))
    return None if pair is None else 100 * (1 - pair[1] / pair[0])


@dataclass(frozen=True, slots=True)
class StreamCurve:
    """The response times of a priority's first requests, in the order of sending, of one run."""

    label: str
    case: Case

    def cases(self) -> Iterable[Case]:
        return (self.case,)

    def series(self, results: Results) -> Series:
        runs = results.of(self.case)
        times_s = runs[0][self.label]["stream_s"] if runs else []
        x = [float(number) for number in range(1, len(times_s) + 1)]
        return Series(self.label, x, list(times_s), [None] * len(x))


@dataclass(frozen=True, slots=True)
class Figures:
    """All of them for the runs of `cases`."""

    cases: Cases

    def all(self) -> list[Exhibit]:
        """In the order of the paper, then what it did not try."""
        between = [n for n in self.cases.scale.clients if n not in (FEW, MANY)]
        return [
            self.figure_5(),
            self.table_3(),
            self.gains("figures-6-and-7", "Figures 6 and 7: the gain", (FEW, MANY)),
            *([self.gains("gain-between", _BETWEEN, between)] if between else []),
            self.figure_8(),
            self.table_4(),
            self.alone(),
        ]

    def run(self, clients: int, concepts: int, threads: int) -> Case:
        """The case of a cell."""
        return self.cases.run(Cell(clients, concepts, threads))

    def figure_5(self) -> Exhibit:
        """Streams of requests."""
        concepts = max(self.cases.scale.concepts)
        return Exhibit(
            "figure-5",
            "Figure 5: streams of requests",
            "Response times of one run's requests after one another, in the order in which they "
            f"were sent: the first {values.STREAM} of each priority, {concepts} concepts, "
            f"{PUBLISHED_THREADS} threads for high priority.",
            (
                "The paper does not say of which run its figure is. There the response time of "
                "high-priority requests is almost constant.",
            ),
            [
                Panel(
                    key,
                    clients_words(clients),
                    "request",
                    "response time, s",
                    [
                        StreamCurve(priority, self.run(clients, concepts, PUBLISHED_THREADS))
                        for priority in PRIORITIES
                    ],
                    kind="plain",
                    printed_x=[1.0, *(float(x) for x in range(10, values.STREAM + 1, 10))],
                    digits=4,
                )
                for key, clients in (("5a", FEW), ("5b", MANY))
            ],
        )

    def table_3(self) -> Exhibit:
        """Predictability."""
        return Exhibit(
            "table-3",
            "Table III: predictability",
            f"Relative standard deviation of the response times with {FEW} clients, in percent: "
            "the smaller, the better a response time can be foretold.",
            (
                "Published are 70 to 90 % for either priority, with little between the two. Why so "
                "much is not said; here all requests of a run ask for as many concepts of the same "
                "inventory, so that only the others who are served at the time make a difference.",
            ),
            tables=(
                EntryTable(
                    "Relative standard deviation, %, published | measured",
                    ("Threads", *self._columns()),
                    [
                        (
                            (str(threads),),
                            self._pairs(
                                FEW, threads, values.rsd_percent, "table3", str(threads), 1
                            ),
                        )
                        for threads in self.cases.scale.threads
                    ],
                    _INTERVALS,
                ),
            ),
        )

    def table_4(self) -> Exhibit:
        """Response times by clients."""
        scale = self.cases.scale
        return Exhibit(
            "table-4",
            f"Table IV: response times at {PUBLISHED_THREADS} threads",
            "Mean response times by number of clients, and the gain that follows from them.",
            (
                "Seconds of a 200 MHz Pentium Pro with four processors are not those of this "
                "machine: gains are what to compare.",
            ),
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
                                values.response_s,
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
                                    self.run(clients, concepts, PUBLISHED_THREADS),
                                    values.gain_percent,
                                    _rounded(published_gain_percent(clients, concepts)),
                                )
                                for concepts in scale.concepts
                            ],
                        )
                        for clients in scale.clients
                    ],
                    "Published: what its response times give. " + _INTERVALS,
                ),
            ),
        )

    def gains(self, key: str, heading: str, clients: Sequence[int]) -> Exhibit:
        """Gain over threads by concepts, a panel for each number of clients."""
        return Exhibit(
            key,
            heading,
            "By how much the mean response time of high-priority requests is below that of "
            "low-priority requests, percent, by the threads that search for them and the concepts "
            "of a request. The last curve is the ideal of a request alone on "
            f"{self.cases.cpus} CPUs, 1 − 1 / min(threads, CPUs, concepts).",
            _GAINS_DIFFER,
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

    def figure_8(self) -> Exhibit:
        """Response times with many clients."""
        scale = self.cases.scale
        return Exhibit(
            "figure-8",
            f"Figure 8: response times of {MANY} clients",
            "Mean response times by the threads that search for a request of high priority.",
            (
                "The text says that with 8 threads high priority takes half as long as low "
                "priority in this figure; Table IV, at 6 threads, has 7 to 10 % less.",
            ),
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
                                (threads, self.run(MANY, concepts, threads),
                                 values.response_s(priority))
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

    def alone(self) -> Exhibit:
        """One client: how near the ideal."""
        scale, cpus = self.cases.scale, self.cases.cpus
        return Exhibit(
            "alone",
            "A client alone: how near the ideal",
            "The paper has ten clients at least. Alone, a request has the machine to itself, and "
            f"the ideal is a bound: 1 − 1 / min(threads, CPUs, concepts), with {cpus} CPUs here.",
            (
                "What is missing to the ideal is what is no search (HTTP, Django, the draw), what "
                "the clients' process takes of the same CPUs, and getting the interpreter back "
                "after each operation. Threads beyond the CPUs gain nothing and cost a little.",
            ),
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
                    "Gain of a client alone, %, ideal | measured",
                    ("Threads", *(f"{concepts} concepts" for concepts in scale.concepts)),
                    [
                        (
                            (str(threads),),
                            [
                                Entry(
                                    self.run(1, concepts, threads),
                                    values.gain_percent,
                                    _rounded(100 * values.ideal_gain(threads, concepts, cpus)),
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
                    (threads, self.run(clients, concepts, threads), values.gain_percent)
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
            [100 * values.ideal_gain(each, concepts, self.cases.cpus) for each in threads],
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
        """Low and high for each number of concepts."""
        found = []
        for concepts in self.cases.scale.concepts:
            pair = published_pairs(table, concepts).get(row, (None, None))
            case = self.run(clients, concepts, threads)
            found += [
                Entry(case, value(priority), theirs, digits)
                for priority, theirs in zip(PRIORITIES, pair, strict=True)
            ]
        return found


def _rounded(percent: float | None) -> float | None:
    return None if percent is None else round(percent, 1)


_FIGURES = {FEW: "6", MANY: "7"}
_BETWEEN = "The gain between Figures 6 and 7"
_INTERVALS = "Mean ± half-width of the 95 % interval over the repetitions."
_GAINS_DIFFER = (
    "With two threads the paper saw no gain; here there is one. Of its two threads perhaps one "
    "waited for the other instead of searching (that can only be inferred); here the thread that "
    "takes the request searches as well.",
    "With many clients no CPU is ever idle, and a second thread takes from others what it gives: "
    "what is left of the gain is a larger share of interpreter and CPUs, so it goes on growing "
    "with the threads and may pass the ideal of a request alone. The server answers "
    f"{SERVER_THREADS} requests at a time; further ones wait for one of these in the order of "
    "their coming, whatever their priority, and that wait is in both response times.",
    "A request is never searched by more threads than it has concepts.",
)
