"""SBAC without admission control: Figs. 2 to 4, Table 1's workload, and how the runs were read.

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is simulated, how an exhibit is drawn.
"""

from lab.experiments.published import published
from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.exhibits import Entry, EntryTable, Exhibit, Panel, ProfileCurve
from lab.experiments.reproduction.sbac_cases import MEANS
from lab.experiments.reproduction.sbac_curves import (
    LOAD,
    THROUGHPUT,
    Curves,
    always,
    mean_label,
    percent,
)

BINS = ("up to m", "m to 2m", "over 2m")
READINGS = {
    ("geometric", False): "geometric, cut at 500 s",
    ("geometric", True): "geometric, everybody finishes",
    ("exponential", False): "max(1, round(Exp)), cut at 500 s",
    ("exponential", True): "max(1, round(Exp)), everybody finishes",
}
"""Kind of lengths, and whether sessions under way at 500 s finish."""


class OverloadFigures(Curves):
    """Sections 3, 5 and 6."""

    __slots__ = ()

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
