"""SBAC's figures and tables: the cases behind each curve, and the published numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from lab.analysis.published import published
from lab.report.study_figures import (
    CaseCurve,
    Curve,
    Entry,
    EntryTable,
    Figure,
    FormulaCurve,
    Panel,
    Row,
    profile,
)
from lab.results.metrics import Value
from lab.spec.cases import Case
from lab.spec.runs import ShopRun
from lab.studies.report_text import ReportText
from lab.studies.sbac import measures
from lab.studies.sbac.cases import (
    DAYS,
    LIVE_MEANS,
    MEANS,
    SEGMENTS_S,
    STRATEGIES,
    Cases,
    LiveCases,
)
from lab.studies.study import PaperFigures
from lab.wording import title_of
from loadgen.workload.sessions import LengthKind

LOAD = "offered load, %"
THROUGHPUT = "completed sessions, % of capacity"
ABORTED = "aborted sessions, % of admitted"


def percent(load: float) -> float:
    """Return a load in percent, as on the paper's axes."""
    return round(100 * load, 6)


def mean_label(mean: float) -> str:
    """Return the label of the curve for a mean session length."""
    return f"mean {mean:g}"


BINS = ("up to m", "m to 2m", "over 2m")
RUN_READINGS: Mapping[tuple[LengthKind, bool], str] = {
    ("geometric", False): "geometric, cut at 500 s",
    ("geometric", True): "geometric, all sessions finish",
    ("exponential", False): "max(1, round(Exp)), cut at 500 s",
    ("exponential", True): "max(1, round(Exp)), all sessions finish",
}
"""The labels of four interpretations of the paper, by kind of session lengths and by whether all
sessions finish."""


@dataclass(frozen=True, slots=True)
class Figures(PaperFigures[Cases]):
    """The simulated figures, at the scale of `cases`."""

    def all(self) -> list[Figure]:
        """Return the paper's figures in their order, then Table 1's mixture and the comparison of
        interpretations."""
        return [
            self.figure_2(),
            self.figure_3(),
            self.figure_4(),
            self.figure_5(),
            self.figure_6(),
            self.figure_7(),
            self.figure_8(),
            self.figure_9(),
            self.figure_10(),
            *(self.figure_11_and_table_2(segment_s) for segment_s in SEGMENTS_S),
            self.table_1_mixture(),
            self.reading(),
        ]

    def figure_2(self) -> Figure:
        """Return Fig. 2: the throughput by number of retries and by think time."""
        throughput = self._throughput(15)
        retries = [
            self._curve(
                "1 retry" if n == 1 else f"{n} retries",
                partial(self.cases.overloaded, 15, retries=n),
                throughput,
            )
            for n in range(4)
        ]
        think = [
            self._curve(
                f"think time {s} s",
                partial(self.cases.overloaded, 15, think_time_s=s),
                throughput,
            )
            for s in (1.0, 2.0, 5.0)
        ]
        return self.text.figure(
            "figure-2",
            (
                Panel("2a", "client retries", LOAD, THROUGHPUT, retries),
                Panel("2b", "client think time", LOAD, THROUGHPUT, think),
            ),
        )

    def figure_3(self) -> Figure:
        """Return Fig. 3: the throughput and the useful utilisation of an overloaded server."""
        paper = published()["sbac"]["overloaded"]["useful_utilisation"]
        divided = [
            CaseCurve(
                mean_label(mean),
                [
                    (percent(x), self.cases.overloaded(mean, x), measures.useful_over_load(x))
                    for x in self.cases.scale.loads
                ],
            )
            for mean in MEANS
        ]
        marks = {
            (mean_label(mean), percent(load)): 100 * share
            for mean in MEANS
            for load, share in ((2.0, paper["at_200"]), (3.0, paper["at_300_below"]))
        }
        return self.text.figure(
            "figure-3",
            (
                Panel("3a", "throughput in completed sessions", LOAD, THROUGHPUT,
                      self._throughputs(self.cases.overloaded)),
                Panel("3b", "useful utilisation", LOAD, "useful server time, %",
                      self._by_mean(self.cases.overloaded, measures.useful_utilisation)),
                Panel("3b divided", "useful utilisation over offered load", LOAD,
                      "useful server time / load, %", divided, published=marks),
            ),
        )  # fmt: skip

    def figure_4(self) -> Figure:
        """Return Fig. 4: the lengths of sessions that complete without admission control."""
        paper = published()["sbac"]["overloaded"]
        lengths = paper["completed_length_mean_at_300"]
        bins = (paper["bins_original_mean_50"], paper["bins_completed_mean_50_at_300"])
        case = self.cases.overloaded(50, 3.0)
        curves = [
            profile(label, case, range(3), [measures.bin_percent(which, i) for i in range(3)])
            for label, which in (("original", "bins"), ("completed", "completed_bins"))
        ]
        return self.text.figure(
            "figure-4",
            (
                Panel("4a", "mean length of completed sessions", LOAD, "requests",
                      self._by_mean(self.cases.overloaded, measures.completed_length),
                      published={(mean_label(mean), 300.0): lengths[str(mean)] for mean in MEANS},
                      digits=2),
                Panel("4b", "sessions by length, mean 50, 300 % load", "length",
                      "share of sessions, %", curves, kind="bars", x_names=BINS,
                      published={(curve.label, i): share for curve, shares in
                                 zip(curves, bins, strict=True)
                                 for i, share in enumerate(shares)}, digits=2),
            ),
        )  # fmt: skip

    def figure_5(self) -> Figure:
        """Return Fig. 5: the cost of rejection compared with equation 6."""
        loads = [percent(load) for load in self.cases.scale.loads if load >= 1]

        def panel(mean: int) -> Panel:
            expected = [min(100.0, 100 * (load / 100 - 1) / (mean - 1)) for load in loads]
            measured = [
                self._curve(
                    STRATEGIES[name],
                    partial(self.cases.admitted, name, mean),
                    measures.rejection_percent,
                    from_load=1.0,
                )
                for name in ("sbac-responsive", "sbac-predictive")
            ]
            curves: list[Curve] = [FormulaCurve("equation 6", loads, expected), *measured]
            unit = "rejections, % of requests handled"
            return Panel(f"5, mean {mean}", "rejection messages", LOAD, unit, curves)

        return self.text.figure("figure-5", [panel(mean) for mean in MEANS])

    def figure_6(self) -> Figure:
        """Return Fig. 6: throughput and aborted sessions with responsive admission."""
        aborted = published()["sbac"]["responsive_95"]["aborted_percent_at_300"]
        responsive = partial(self.cases.admitted, "sbac-responsive")
        return self.text.figure(
            "figure-6",
            (
                Panel("6a", "throughput in completed sessions", LOAD, THROUGHPUT,
                      self._throughputs(responsive)),
                Panel("6b", "aborted sessions", LOAD, ABORTED,
                      self._by_mean(responsive, measures.aborted_percent),
                      published={(mean_label(mean), 300.0): aborted[str(mean)]
                                 for mean in MEANS}),
            ),
        )  # fmt: skip

    def figure_7(self) -> Figure:
        """Return Fig. 7: lengths and useful utilisation with responsive admission."""
        responsive = partial(self.cases.admitted, "sbac-responsive")
        return self.text.figure(
            "figure-7",
            (
                Panel("7a", "mean length of completed sessions", LOAD, "requests",
                      self._by_mean(responsive, measures.completed_length),
                      digits=2),
                Panel("7b", "useful utilisation", LOAD, "useful server time, %",
                      self._by_mean(responsive, measures.useful_utilisation)),
            ),
        )  # fmt: skip

    def figure_8(self) -> Figure:
        """Return Fig. 8: throughput and aborted sessions with several ac-functions."""
        weights = self.cases.scale.weights

        def curves(value: Value) -> list[CaseCurve]:
            return [
                self._curve(f"k = {k:g}", partial(self.cases.weighted, k, 15), value)
                for k in weights
            ]

        return self.text.figure(
            "figure-8",
            (
                Panel("8a", "throughput in completed sessions", LOAD, THROUGHPUT,
                      curves(self._throughput(15))),
                Panel("8b", "aborted sessions", LOAD, ABORTED, curves(measures.aborted_percent)),
            ),
        )  # fmt: skip

    def figure_9(self) -> Figure:
        """Return Fig. 9: aborted sessions with an ac-interval of 5 s."""
        curves = self._by_mean(
            partial(self.cases.admitted, "sbac-responsive", ac_interval_s=5.0),
            measures.aborted_percent,
        )
        panel = Panel("9", "aborted sessions, ac-interval 5 s", LOAD, ABORTED, curves)
        return self.text.figure("figure-9", (panel,))

    def figure_10(self) -> Figure:
        """Return Fig. 10: the load patterns."""
        curves = [
            FormulaCurve(
                f"{name} day", [*range(1, len(loads) + 2)], [100 * x for x in (*loads, loads[-1])]
            )
            for name, loads in DAYS.items()
        ]
        panel = Panel("10", "load patterns", "interval", LOAD, curves, kind="steps", digits=0,
                      printed_x=range(1, 11))  # fmt: skip
        return self.text.figure("figure-10", (panel,))

    def figure_11_and_table_2(self, segment_s: float) -> Figure:
        """Return Fig. 11 and Table 2, which compare the strategies over the usual and the busy day.
        A day has ten intervals of `segment_s` paper seconds.
        """
        means = MEANS if segment_s == SEGMENTS_S[0] else self.cases.scale.long_day_means
        tables = published()["sbac"]["table2_aborted_percent"]
        panels, parts = [], []
        for letter, day in zip("ab", DAYS, strict=True):
            case = partial(self._day, day, segment_s)
            curves = [
                CaseCurve(
                    title,
                    [(i, case(name, m), self._throughput(m)) for i, m in enumerate(means)],
                )
                for name, title in STRATEGIES.items()
            ]
            panels.append(
                Panel(f"11{letter}", f"{day} day, throughput", "mean session length", THROUGHPUT,
                      curves, kind="bars", x_names=[f"{mean}" for mean in means])
            )  # fmt: skip
            theirs = tables[f"{day}_day"]
            rows: list[Row] = [
                (title, *(self._aborted(case(name, m), theirs[title.lower()][str(m)])
                          for m in means))
                for name, title in STRATEGIES.items()
            ]  # fmt: skip
            whole = partial(case, "sbac-predictive", planned_utilisation=1.0)
            rows.append(("Predictive, full capacity", *(self._aborted(whole(m)) for m in means)))
            parts.append(
                EntryTable(
                    f"Table 2{letter}: aborted sessions, % of admitted, {day} day, published | "
                    "reproduced",
                    ("Strategy", *(mean_label(mean) for mean in means)),
                    rows,
                )
            )
        return self.text.figure(f"figure-11-{segment_s:g}s", panels, parts)

    def _day(
        self, day: str, segment_s: float, name: str, mean: float, **parameters: float
    ) -> Case[ShopRun]:
        return self.cases.day(day, name, mean, segment_s, **parameters)

    def _aborted(self, case: Case[ShopRun], theirs: float | None = None) -> Entry:
        return Entry(case, measures.aborted_percent, theirs, 2)

    def table_1_mixture(self) -> Figure:
        """Return the figure for a workload with sales and non-sales sessions."""
        curves = [
            self._curve(
                f"{kind}, {label}",
                partial(self.cases.shop, admission),
                measures.kind_completed_percent(i),
            )
            for admission, label in (("none", "no admission control"), ("sbac-responsive", "SBAC"))
            for i, kind in enumerate(("sales", "non-sales"))
        ]
        unit = "completed, % of the arrived sessions"
        panel = Panel("Table 1 mixture", "completed sessions by class", LOAD, unit, curves)
        return self.text.figure("table-1-mixture", (panel,))

    def reading(self) -> Figure:
        """Return the tables that compare interpretations of the paper with its numbers."""
        paper = published()["sbac"]["overloaded"]
        lengths = paper["completed_length_mean_at_300"]
        share = paper["bins_completed_mean_50_at_300"][0]

        def length(case: Case[ShopRun], theirs: float) -> Entry:
            return Entry(case, measures.completed_length, theirs, 2)

        rows: list[Row] = []
        rows_with_admission: list[Row] = []
        for (kind, finish), name in RUN_READINGS.items():
            cases = {
                mean: self.cases.overloaded(mean, 3.0, kind=kind, everybody_finishes=finish)
                for mean in MEANS
            }
            entries = [length(case, lengths[str(mean)]) for mean, case in cases.items()]
            bins = Entry(cases[50], measures.bin_percent("completed_bins", 0), share, 2)
            rows.append((name, *entries, bins))
            if kind == "geometric":
                admitted = {m: self.cases.behind("sbac-responsive", cases[m]) for m in MEANS[1:]}
                entries = [length(case, mean) for mean, case in admitted.items()]
                rows_with_admission.append((name, *entries))
        table = EntryTable(
            "Mean length of completed sessions at 300 % load without admission control, published "
            "| reproduced",
            ("Reading", *(mean_label(mean) for mean in MEANS), "mean 50: length up to 50, %"),
            rows,
            "In runs cut at 500 s, a session counts only if it completed before the cut.",
        )
        with_admission = EntryTable(
            "Mean length of completed sessions at 300 % load behind sbac-responsive, published "
            "(“perfect”) | reproduced",
            ("Reading", *(mean_label(mean) for mean in MEANS[1:])),
            rows_with_admission,
        )
        return self.text.figure("readings", tables=(table, with_admission))

    def _throughputs(self, case: Callable[[float, float], Case[ShopRun]]) -> list[CaseCurve]:
        return [
            self._curve(mean_label(mean), partial(case, mean), self._throughput(mean))
            for mean in MEANS
        ]

    def _throughput(self, mean: float) -> Value:
        return measures.throughput(self.cases.scale.capacity_rps, mean)

    def _curve(
        self,
        label: str,
        case: Callable[[float], Case[ShopRun]],
        value: Value,
        from_load: float = 0.0,
    ) -> CaseCurve:
        """Return a curve of a metric over the loads."""
        loads = [load for load in self.cases.scale.loads if load >= from_load]
        return CaseCurve(label, [(percent(load), case(load), value) for load in loads])

    def _by_mean(
        self, case: Callable[[float, float], Case[ShopRun]], value: Value
    ) -> list[CaseCurve]:
        return [self._curve(mean_label(mean), partial(case, mean), value) for mean in MEANS]


@dataclass(frozen=True, slots=True)
class LiveFigures(PaperFigures[LiveCases]):
    """The parts of Figs. 3a, 4a, 6 and 7a that live runs can reproduce."""

    def all(self) -> list[Figure]:
        """Return the live figures, one for each mean session length."""
        return [self.of_length(mean) for mean in LIVE_MEANS]

    def of_length(self, mean: float) -> Figure:
        """Return the figure that compares the strategies for sessions of `mean` requests on
        average."""
        shown: Sequence[tuple[str, str, str, Value, int]] = (
            ("a", "throughput", THROUGHPUT, measures.live_throughput(mean), 1),
            ("b", "aborted sessions", "aborted, % of admitted", measures.aborted_percent, 1),
            ("c", "completed sessions", "completed, % of the arrived sessions",
             measures.completed_percent, 1),
            ("d", "length of completed sessions", "requests", measures.completed_length, 2),
        )  # fmt: skip
        panels = [
            Panel(key, title, LOAD, unit, self._curves(mean, value), digits=digits)
            for key, title, unit, value, digits in shown
        ]
        return self.text.figure(f"live-{mean}", panels)

    def _curves(self, mean: float, value: Value) -> list[CaseCurve]:
        return [
            CaseCurve(
                "no admission control" if i == 0 else title_of(key.removeprefix("sq+")),
                [
                    (round(100 * load), self.cases.case(key, mean, load), value)
                    for load in self.cases.scale.loads
                ],
            )
            for i, key in enumerate(self.cases.keys())
        ]


def figures_on(cases: Cases | LiveCases, text: ReportText) -> Figures | LiveFigures:
    """Return the figures of these cases, simulated or live."""
    return LiveFigures(cases, text) if isinstance(cases, LiveCases) else Figures(cases, text)
