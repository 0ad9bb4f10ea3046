"""SBAC's figures and tables as exhibits (sections 5, 6, 8 to 10, 12 and 13).

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is simulated, how an exhibit is drawn.
"""

from collections.abc import Callable
from dataclasses import dataclass

from lab.experiments.published import published
from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.exhibits import (
    CaseCurve,
    Entry,
    EntryTable,
    Exhibit,
    FormulaCurve,
    Panel,
    ProfileCurve,
    Value,
)
from lab.experiments.reproduction.sbac_cases import DAYS, MEANS, SEGMENTS_S, STRATEGIES, Cases

LOAD = "offered load, %"
THROUGHPUT = "completed sessions, % of capacity"
ABORTED = "aborted sessions, % of admitted"
BINS = ("up to m", "m to 2m", "over 2m")
READINGS = {
    ("geometric", False): "geometric, cut at 500 s",
    ("geometric", True): "geometric, everybody finishes",
    ("exponential", False): "max(1, round(Exp)), cut at 500 s",
    ("exponential", True): "max(1, round(Exp)), everybody finishes",
}
"""Kind of lengths, and whether sessions under way at 500 s finish."""


def percent(load: float) -> float:
    """A load as the paper's axes have it."""
    return round(100 * load, 6)


def always(value: Value) -> Callable[[float], Value]:
    """The same figure at every load."""
    return lambda load: value


def mean_label(mean: float) -> str:
    """How a curve of one mean session length is called."""
    return f"mean {mean:g}"


@dataclass(frozen=True, slots=True)
class Figures:
    """All of them at the scale of `cases`."""

    cases: Cases

    def all(self) -> list[Exhibit]:
        """In the order of the paper, the readings and Table 1's mixture last."""
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

    def figure_2(self) -> Exhibit:
        """Sensitivity to retries and think time."""
        throughput = always(self._throughput(15))
        retries = [
            self._curve(
                "1 retry" if n == 1 else f"{n} retries",
                lambda load, n=n: self.cases.overloaded(15, load, retries=n),
                throughput,
            )
            for n in range(4)
        ]
        think = [
            self._curve(
                f"think time {s} s",
                lambda load, s=s: self.cases.overloaded(15, load, think_time_s=s),
                throughput,
            )
            for s in (1.0, 2.0, 5.0)
        ]
        return Exhibit(
            "figure-2",
            "Figure 2: retries and think time",
            "An overloaded server without admission control, mean session length 15: throughput in "
            "completed sessions, for clients that retry a request after a timeout of 1 s up to "
            "three times (a), and for mean think times of 1, 2 and 5 s (b).",
            (
                "The paper prints these curves without numbers; its text says that more retries "
                "and longer think times lower the throughput. “What must hold” checks both at "
                "the highest load.",
                "Runs are cut at 500 s. The longer the think time, the more sessions are still "
                "under way then; that lowers the curves of long think times at all loads.",
            ),
            (
                Panel("2a", "client retries", LOAD, THROUGHPUT, retries),
                Panel("2b", "client think time", LOAD, THROUGHPUT, think),
            ),
        )

    def figure_3(self) -> Exhibit:
        """Throughput and useful utilisation of an overloaded server."""
        paper = published()["sbac"]["overloaded"]["useful_utilisation"]
        divided = [
            self._curve(
                mean_label(mean),
                lambda load, m=mean: self.cases.overloaded(m, load),
                values.useful_over_load,
            )
            for mean in MEANS
        ]
        marks = {
            (mean_label(mean), percent(load)): 100 * share
            for mean in MEANS
            for load, share in ((2.0, paper["at_200"]), (3.0, paper["at_300_below"]))
        }
        return Exhibit(
            "figure-3",
            "Figure 3: an overloaded server without admission control",
            "Throughput in completed sessions (a), and useful server utilisation, the server time "
            "spent on sessions that complete (b), for mean session lengths 5, 15 and 50.",
            (
                "The paper gives about 15 % useful utilisation at 200 % load and less than 7 % at "
                "300 %, for all lengths together. Measured as server time, the simulated values "
                "are a multiple of that; divided by the offered load (third panel) they come "
                "near. So the published curve seems to relate useful work to what was offered.",
            ),
            (
                Panel("3a", "throughput in completed sessions", LOAD, THROUGHPUT,
                      self._by_mean(self.cases.overloaded, self._throughput)),
                Panel("3b", "useful utilisation", LOAD, "useful server time, %",
                      self._by_mean(self.cases.overloaded, always(values.useful_utilisation))),
                Panel("3b divided", "useful utilisation over offered load", LOAD,
                      "useful server time / load, %", divided, published=marks),
            ),
        )  # fmt: skip

    def figure_4(self) -> Exhibit:
        """Lengths of completed sessions without admission control."""
        paper = published()["sbac"]["overloaded"]
        lengths = paper["completed_length_mean_at_300"]
        bins = (paper["bins_original_mean_50"], paper["bins_completed_mean_50_at_300"])
        case = self.cases.overloaded(50, 3.0)
        curves = [
            ProfileCurve(label, case, range(3), [values.bin_percent(which, i) for i in range(3)])
            for label, which in (("original", "bins"), ("completed", "completed_bins"))
        ]
        return Exhibit(
            "figure-4",
            "Figure 4: lengths of completed sessions without admission control",
            "Mean length of the sessions that complete, for mean lengths 5, 15 and 50 of those "
            "that come (a); for mean 50 at 300 % load, the share of sessions up to the mean "
            "length m, up to twice that, and longer (b).",
            (
                "An overloaded server discriminates against long sessions just as published. The "
                "original distribution is what the seed drew; the paper's 63, 23 and 14 % are "
                "those of an exponential.",
            ),
            (
                Panel("4a", "mean length of completed sessions", LOAD, "requests",
                      self._by_mean(self.cases.overloaded, always(values.completed_length)),
                      published={(mean_label(mean), 300.0): lengths[str(mean)] for mean in MEANS},
                      digits=2),
                Panel("4b", "sessions by length, mean 50, 300 % load", "length",
                      "share of sessions, %", curves, kind="bars", x_names=BINS,
                      published={(curve.label, i): share for curve, shares in
                                 zip(curves, bins, strict=True)
                                 for i, share in enumerate(shares)}, digits=2),
            ),
        )  # fmt: skip

    def figure_5(self) -> Exhibit:
        """The cost of rejection against eq. 6."""
        loads = [percent(load) for load in self.cases.scale.loads if load >= 1]
        panels = [
            Panel(
                f"5, mean {mean}",
                "rejection messages",
                LOAD,
                "rejections, % of requests handled",
                (
                    FormulaCurve("equation 6", loads, [min(100.0, 100 * (load / 100 - 1)
                                 / (mean - 1)) for load in loads]),
                    self._curve("Responsive",
                                lambda load, m=mean: self.cases.admitted("sbac-responsive", m,
                                                                         load),
                                always(values.rejection_percent), from_load=1.0),
                    self._curve("Predictive",
                                lambda load, m=mean: self.cases.admitted("sbac-predictive", m,
                                                                         load),
                                always(values.rejection_percent), from_load=1.0),
                ),
            )
            for mean in MEANS
        ]  # fmt: skip
        return Exhibit(
            "figure-5",
            "Figure 5: the cost of rejection",
            "Rejection messages as a share of the requests that a server handles, measured with "
            "responsive and predictive admission, beside the paper's worst case (equation 6).",
            (
                "Equation 6 takes a server that is busy all the time with sessions that all "
                "complete. Responsive admission begins to reject at 95 % utilisation and so lies "
                "above it near capacity; where sessions are aborted (mean 5 at 300 %), or the "
                "server is still filling up (mean 50), there are fewer rejections than it says.",
            ),
            panels,
        )

    def figure_6(self) -> Exhibit:
        """Throughput and aborts with responsive admission."""
        aborted = published()["sbac"]["responsive_95"]["aborted_percent_at_300"]
        return Exhibit(
            "figure-6",
            "Figure 6: admission control, throughput and aborted sessions",
            "Behind sbac-responsive with a threshold of 95 % and an ac-interval of 1 s: throughput "
            "in completed sessions (a), and sessions aborted of those admitted (b).",
            (
                "Published at 300 % are up to 55 % aborted for mean 5, none for means 15 and 50. "
                "Rejections are served ahead of the listen queue; were they free for the server, "
                "or waited in the queue, the abort rate of short sessions would be far lower.",
            ),
            (
                Panel("6a", "throughput in completed sessions", LOAD, THROUGHPUT,
                      self._by_mean(self._responsive, self._throughput)),
                Panel("6b", "aborted sessions", LOAD, ABORTED,
                      self._by_mean(self._responsive, always(values.aborted_percent)),
                      published={(mean_label(mean), 300.0): aborted[str(mean)]
                                 for mean in MEANS}),
            ),
        )  # fmt: skip

    def figure_7(self) -> Exhibit:
        """Lengths and useful utilisation with responsive admission."""
        return Exhibit(
            "figure-7",
            "Figure 7: admission control, lengths and useful utilisation",
            "Behind sbac-responsive: mean length of completed sessions (a) and useful server "
            "utilisation (b).",
            (
                "The paper calls the lengths of means 15 and 50 perfect over the whole range: "
                "completed sessions are as long as those that came. Simulated, they are shorter, "
                "by the same amount at every load: of the sessions that begin in the last "
                "minutes before the cut at 500 s only the short ones complete. The cut is what "
                "Fig. 4a asks for; with everybody finishing, Fig. 7a comes out as published and "
                "Fig. 4a does not (Readings compared, below).",
                "For the same reason useful utilisation misses what was spent on sessions under "
                "way at the cut, most of all for mean 50. At 300 % the paper has almost 14 % of "
                "the server's time on rejections for mean 15.",
            ),
            (
                Panel("7a", "mean length of completed sessions", LOAD, "requests",
                      self._by_mean(self._responsive, always(values.completed_length)),
                      digits=2),
                Panel("7b", "useful utilisation", LOAD, "useful server time, %",
                      self._by_mean(self._responsive, always(values.useful_utilisation))),
            ),
        )  # fmt: skip

    def figure_8(self) -> Exhibit:
        """The family of ac-functions."""
        weights = {
            f"k = {weight:g}": (
                lambda load, k=weight: self.cases.weighted(k, 15, load)
            )
            for weight in self.cases.scale.weights
        }  # fmt: skip
        return Exhibit(
            "figure-8",
            "Figure 8: from ac-stable to ac-responsive",
            "Mean session length 15, ac-functions of weight k from 0.1 (stable) to 1 "
            "(responsive): throughput in completed sessions (a), aborted sessions (b).",
            (
                "Published: the more stable functions complete more below 170 % load, the more "
                "responsive ones above, and the more stable abort more at high loads.",
            ),
            (
                Panel("8a", "throughput in completed sessions", LOAD, THROUGHPUT,
                      [self._curve(label, case, always(self._throughput(15)))
                       for label, case in weights.items()]),
                Panel("8b", "aborted sessions", LOAD, ABORTED,
                      [self._curve(label, case, always(values.aborted_percent))
                       for label, case in weights.items()]),
            ),
        )  # fmt: skip

    def figure_9(self) -> Exhibit:
        """An ac-interval of 5 s."""
        return Exhibit(
            "figure-9",
            "Figure 9: an ac-interval of 5 s",
            "Behind sbac-responsive as in Figure 6, but measuring utilisation over 5 s: sessions "
            "aborted of those admitted.",
            (
                "Published without numbers: unsatisfactory for mean lengths below 50.",
            ),
            (
                Panel("9", "aborted sessions, ac-interval 5 s", LOAD, ABORTED,
                      self._by_mean(self.long_interval, always(values.aborted_percent))),
            ),
        )  # fmt: skip

    def figure_10(self) -> Exhibit:
        """The load patterns."""
        curves = [
            FormulaCurve(
                f"{name} day", [*range(1, len(loads) + 2)], [100 * x for x in (*loads, loads[-1])]
            )
            for name, loads in DAYS.items()
        ]
        panel = Panel("10", "load patterns", "interval", LOAD, curves, kind="steps", digits=0,
                      printed_x=range(1, 11))  # fmt: skip
        return Exhibit(
            "figure-10",
            "Figure 10: a usual and a busy day",
            "Ten equal intervals of piecewise constant load. The paper shows both days as "
            "pictures: the usual day is near capacity with a few mild overloads, the busy day is "
            "half of the time in overload, 300 % in one interval.",
            (
                "The loads of the intervals are our reading of the pictures' descriptions, and "
                "how long an interval lasts is not said. Values depend on both; orderings less.",
            ),
            (panel,),
        )

    def figure_11_and_table_2(self, segment_s: float) -> Exhibit:
        """Strategies compared over a day of ten intervals of `segment_s`."""
        means = MEANS if segment_s == SEGMENTS_S[0] else self.cases.scale.long_day_means
        tables = published()["sbac"]["table2_aborted_percent"]
        panels, parts = [], []
        for letter, day in zip("ab", DAYS, strict=True):
            panels.append(
                Panel(
                    f"11{letter}", f"{day} day, throughput", "mean session length", THROUGHPUT,
                    [CaseCurve(title, [
                        (i, self.cases.day(day, name, mean, segment_s), self._throughput(mean))
                        for i, mean in enumerate(means)]) for name, title in STRATEGIES.items()],
                    kind="bars", x_names=[f"{mean}" for mean in means],
                )
            )  # fmt: skip
            rows = [
                (
                    (title,),
                    [
                        Entry(
                            self.cases.day(day, name, mean, segment_s),
                            values.aborted_percent,
                            tables[f"{day}_day"][title.lower()][str(mean)],
                            2,
                        )
                        for mean in means
                    ],
                )
                for name, title in STRATEGIES.items()
            ]
            measured = [
                self.cases.day(day, "sbac-predictive", mean, segment_s, planned_utilisation=1.0)
                for mean in means
            ]
            rows.append(
                (
                    ("Predictive, all of the capacity",),
                    [Entry(case, values.aborted_percent, None, 2) for case in measured],
                )
            )
            parts.append(
                EntryTable(
                    f"Table 2{letter}: aborted sessions, % of admitted, {day} day, published | "
                    "reproduced",
                    ("Strategy", *(mean_label(mean) for mean in means)),
                    rows,
                )
            )
        return Exhibit(
            f"figure-11-{segment_s:g}s",
            f"Figure 11 and Table 2: the strategies compared, intervals of {segment_s:g} s",
            f"A usual and a busy day of ten intervals of {segment_s:g} s each: throughput in "
            "completed sessions under the four strategies, and the share of admitted sessions "
            "that are aborted.",
            (
                "Predictive plans with 95 % of the capacity it measures, the ac-threshold; the "
                "last row is equation 7 with all of it. Taken so, a server is filled to its "
                "brim, and the chance variation of file sizes takes its queue past the timeout "
                "again and again: the paper's 0.1 to 0.3 % need some headroom, which it does "
                "not mention.",
                "The days are pictures in the paper, so orderings can be compared, values cannot. "
                + (
                    "A day of 500 s starts from an empty server: sessions of mean 50 live 250 s, "
                    "so that for half of the day fewer of them are under way than the load means."
                    if segment_s == SEGMENTS_S[0]
                    else "With 500 s an interval is longer than a session of mean 50 lives, and "
                    "the empty start hardly matters."
                ),
            ),
            panels,
            parts,
        )

    def table_1_mixture(self) -> Exhibit:
        """Sales and non-sales sessions as workload."""
        curves = [
            self._curve(
                f"{kind}, {label}",
                lambda load, a=admission: self.cases.shop(a, load),
                always(values.kind_completed_percent(i)),
            )
            for admission, label in (("none", "no admission control"), ("sbac-responsive", "SBAC"))
            for i, kind in enumerate(("sales", "non-sales"))
        ]
        return Exhibit(
            "table-1-mixture",
            "Table 1's workload: who gets to buy",
            "The sessions of the paper's real shop: 18.3 % are sales of 73.6 requests on average, "
            "81.7 % are others of 28.2. The share of the sessions of each class that complete, of "
            "all that come, without admission control and behind sbac-responsive.",
            (
                "The paper measured this mixture and argued from it, but did not simulate it. "
                "SBAC gives both classes the same chance; without it the longer sales sessions "
                "are the first to go.",
            ),
            (
                Panel("Table 1 mixture", "completed sessions by class", LOAD,
                      "completed, % of sessions that came", curves),
            ),
        )  # fmt: skip

    def reading(self) -> Exhibit:
        """Which reading of lengths and of the end of a run comes near the published figures."""
        paper = published()["sbac"]["overloaded"]
        lengths = paper["completed_length_mean_at_300"]
        rows = []
        for (kind, finish), name in READINGS.items():
            cases = [
                self.cases.overloaded(mean, 3.0, kind=kind, everybody_finishes=finish)
                for mean in MEANS
            ]
            entries = [
                Entry(case, values.completed_length, lengths[str(mean)], 2)
                for case, mean in zip(cases, MEANS, strict=True)
            ]
            first = paper["bins_completed_mean_50_at_300"][0]
            entries.append(Entry(cases[-1], values.bin_percent("completed_bins", 0), first, 2))
            rows.append(((name,), entries))
        table = EntryTable(
            "Mean length of completed sessions at 300 % load without admission control, and share "
            "of the first bin for mean 50 in percent, published | reproduced",
            ("Reading", *(mean_label(mean) for mean in MEANS), "first bin, %"),
            rows,
            "Cut at 500 s: only sessions count that had completed when arrivals ended.",
        )
        with_admission = EntryTable(
            "Mean length of completed sessions at 300 % load behind sbac-responsive, published "
            "(“perfect”) | reproduced",
            ("Reading", *(mean_label(mean) for mean in MEANS[1:])),
            [
                (
                    (name,),
                    [
                        Entry(
                            self.cases.overloaded(mean, 3.0, everybody_finishes=finish).with_(
                                admission="sbac-responsive"
                            ),
                            values.completed_length,
                            mean,
                            2,
                        )
                        for mean in MEANS[1:]
                    ],
                )
                for (kind, finish), name in READINGS.items()
                if kind == "geometric"
            ],
        )
        return Exhibit(
            "readings",
            "Readings compared: lengths, and the end of a run",
            "The paper says that lengths are exponentially distributed, not how they become whole "
            "numbers, and not whether sessions under way at the end of a run finish.",
            (
                "Without admission control the cut at 500 s comes near the published lengths, "
                "whichever way lengths are rounded; letting everybody finish does not. With "
                "admission control it is the other way round: the paper's “perfect” lengths need "
                "sessions that all finish. No single reading gives both; the figures above are "
                "cut, with geometric lengths.",
            ),
            tables=(table, with_admission),
        )

    def long_interval(self, mean: float, load: float) -> Case:
        """Responsive admission that measures over 5 s (Fig. 9)."""
        return self.cases.admitted("sbac-responsive", mean, load, ac_interval_s=5.0)

    def _responsive(self, mean: float, load: float) -> Case:
        return self.cases.admitted("sbac-responsive", mean, load)

    def _throughput(self, mean: float) -> Value:
        return values.throughput(self.cases.scale.capacity_rps, mean)

    def _curve(
        self,
        label: str,
        case: Callable[[float], Case],
        value: Callable[[float], Value],
        from_load: float = 0.0,
    ) -> CaseCurve:
        """Over the loads; `value` may depend on the load, `always` makes one that does not."""
        loads = [load for load in self.cases.scale.loads if load >= from_load]
        return CaseCurve(label, [(percent(load), case(load), value(load)) for load in loads])

    def _by_mean(
        self, case: Callable[[float, float], Case], value: Callable[[float], Value]
    ) -> list[CaseCurve]:
        return [
            self._curve(mean_label(mean), lambda load, m=mean: case(m, load), always(value(mean)))
            for mean in MEANS
        ]
