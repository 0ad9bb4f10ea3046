"""SBAC under constant load: Figs. 5 to 9.

Owns: which curve is made of which cases, beside which published values, and what is said about it.
Must not know: how a case is simulated, how an exhibit is drawn.
"""

from lab.experiments.published import published
from lab.experiments.reproduction import sbac_values as values
from lab.experiments.reproduction.cases import Case
from lab.experiments.reproduction.exhibits import Exhibit, FormulaCurve, Panel
from lab.experiments.reproduction.sbac_cases import MEANS
from lab.experiments.reproduction.sbac_curves import (
    ABORTED,
    LOAD,
    THROUGHPUT,
    Curves,
    always,
    mean_label,
    percent,
)


class AdmissionFigures(Curves):
    """Sections 8 to 10 and 12."""

    __slots__ = ()

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
                "Rejections are served ahead of the listen queue; how the paper serves them is "
                "not said, and decides how many short sessions are aborted.",
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

    def long_interval(self, mean: float, load: float) -> Case:
        """Responsive admission that measures over 5 s (Fig. 9)."""
        return self.cases.admitted("sbac-responsive", mean, load, ac_interval_s=5.0)
