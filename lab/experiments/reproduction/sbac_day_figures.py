"""SBAC over a day: Figs. 10 and 11, Table 2.

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is simulated, how an exhibit is drawn.
"""

from lab.experiments.published import published
from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.exhibits import (
    CaseCurve,
    Entry,
    EntryTable,
    Exhibit,
    FormulaCurve,
    Panel,
)
from lab.experiments.reproduction.sbac_cases import DAYS, MEANS, SEGMENTS_S, STRATEGIES
from lab.experiments.reproduction.sbac_curves import LOAD, THROUGHPUT, Curves, mean_label


class DayFigures(Curves):
    """Section 13."""

    __slots__ = ()

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
