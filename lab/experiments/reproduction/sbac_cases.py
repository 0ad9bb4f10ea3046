"""SBAC's simulations: which server, which customers, which loads (sections 4 to 6).

Owns: the cases that its figures are made of, whole and quick. Must not know: how they are drawn.

Source: Cherkasova, Phaal, *Session-Based Admission Control*, IEEE Transactions on Computers 51(6),
2002. Section numbers in this package are that paper's.
"""

from dataclasses import dataclass
from typing import Any

from lab.experiments.published import published
from lab.experiments.reproduction.cases import Case
from loadgen.sessions import SBAC_TABLE_1

MEANS = (5, 15, 50)
"""Mean session lengths, requests."""

STRATEGIES = {
    "sbac-stable": "Stable",
    "sbac-responsive": "Responsive",
    "sbac-hybrid": "Hybrid",
    "sbac-predictive": "Predictive",
}
"""Admission policies in the order of Table 2, and the paper's names for them."""

PLANNED_UTILISATION = 0.95
"""Share of the capacity that predictive plans with: the ac-threshold. Equation 7 fills the server
to its brim; with files as varied as SPECweb96's its queue then outgrows the timeout of 1 s by
chance alone."""

DURATION_S = 500.0
"""design: 500 s from an empty system; the paper does not say how long its runs are."""

USUAL_DAY = (1.0, 1.0, 1.3, 1.0, 1.0, 1.5, 1.0, 1.0, 1.3, 1.0)
"""Fig. 10a is a picture: mostly about 100 %, a few intervals of not very high overload."""

BUSY_DAY = (1.0, 1.5, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.5)
"""Fig. 10b: half of the time in overload, 300 % in one interval, else about 100 %."""

DAYS = {"usual": USUAL_DAY, "busy": BUSY_DAY}
QUICK_FILES = ((0.8, 200.0, 1000.0), (0.2, 1000.0, 3400.0))
"""Files for a server of 100 requests/s. With SPECweb96's, whose squared coefficient of variation
is 15.8, the work that comes in a second would vary by 40 % there instead of 13 %, and the
queue of one second would overflow by chance alone. These have 0.69: (1 + 0.69) / 100 is as
(1 + 15.8) / 1000."""

SEGMENTS_S = (50.0, 500.0)
"""How long each of the ten intervals of a day lasts; the paper does not say."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How big the simulated server is, and which loads are tried."""

    capacity_rps: float
    listen_queue: int
    loads: tuple[float, ...]
    weights: tuple[float, ...]
    repetitions: int
    file_classes: tuple[tuple[float, float, float], ...] | None
    """Share, smallest and largest size in bytes; None: SPECweb96's, as published."""
    long_day_means: tuple[int, ...]
    """Mean lengths for which the days are simulated with the longer segments too."""


def whole() -> Scale:
    """The paper's server."""
    paper = published()["sbac"]
    return Scale(
        capacity_rps=float(paper["server_capacity_rps"]),
        listen_queue=paper["listen_queue"],
        loads=tuple(paper["loads"]),
        weights=(0.1, 0.3, 0.5, 0.7, 1.0),
        repetitions=5,
        file_classes=None,
        long_day_means=MEANS,
    )


def quick() -> Scale:
    """A tenth of the server and fewer loads, for two cores and two minutes."""
    return Scale(
        capacity_rps=100.0,
        listen_queue=102,
        loads=(0.8, 1.0, 1.2, 1.7, 2.0, 3.0),
        weights=(0.1, 0.5, 1.0),
        repetitions=1,
        file_classes=QUICK_FILES,
        long_day_means=(5,),
    )


@dataclass(frozen=True, slots=True)
class Cases:
    """SBAC's cases at a scale."""

    scale: Scale

    def overloaded(
        self,
        mean: float,
        load: float,
        *,
        retries: int | None = None,
        think_time_s: float | None = None,
        kind: str = "geometric",
        everybody_finishes: bool = False,
    ) -> Case:
        """No admission control (section 6), or with other clients (section 5).

        The run is cut when arrivals end, unless `everybody_finishes`.
        """
        paper = published()["sbac"]
        retries = paper["retries"] if retries is None else retries
        customers = {
            "timeout_s": paper["timeout_s"],
            "think_timeout_mean_s": 0.0,
            "retry_probability": 1.0 if retries else 0.0,
            "max_retries": retries,
            "think_time_mean_s": think_time_s or paper["think_time_mean_s"],
        }
        return Case(
            policy="sq",
            parameters={"capacity": self.scale.listen_queue},
            capacity_rps=self.scale.capacity_rps,
            server=self._server(),
            customers=customers,
            lengths={"kind": kind, "mean": mean},
            rho=load,
            duration_s=DURATION_S,
            stop_s=None if everybody_finishes else DURATION_S,
            session_known_from="admission",
        )

    def admitted(self, admission: str, mean: float, load: float, **parameters: float) -> Case:
        """Behind an admission policy (sections 9, 10 and 12).

        Predictive plans with PLANNED_UTILISATION of the capacity it measures unless
        `planned_utilisation` is given.
        """
        if admission == "sbac-predictive":
            parameters = {"planned_utilisation": PLANNED_UTILISATION, **parameters}
        return self.overloaded(mean, load).with_(
            admission=admission, admission_parameters=parameters
        )

    def weighted(self, weight: float, mean: float, load: float) -> Case:
        """Behind the ac-function with weight k (Fig. 8)."""
        if weight == 1.0:
            return self.admitted("sbac-responsive", mean, load)
        if weight == 0.1:
            return self.admitted("sbac-stable", mean, load)
        return self.admitted("sbac", mean, load, ac_weight=weight)

    def day(
        self, pattern: str, admission: str, mean: float, segment_s: float, **parameters: float
    ) -> Case:
        """A usual or a busy day (section 13)."""
        return self.admitted(admission, mean, 1.0, **parameters).with_(
            schedule=tuple((segment_s, load) for load in DAYS[pattern]),
            duration_s=None,
            stop_s=segment_s * len(DAYS[pattern]),
        )

    def shop(self, admission: str, load: float) -> Case:
        """Table 1's mixture of sales and non-sales sessions."""
        return self.admitted(admission, 1, load).with_(
            lengths={"kind": "geometric", "mixture": [part._asdict() for part in SBAC_TABLE_1]}
        )

    def _server(self) -> dict[str, Any]:
        server = {
            "kind": "fifo",
            "capacity_rps": self.scale.capacity_rps,
            "rejection": "ahead",
        }
        files = self.scale.file_classes
        return server if files is None else {**server, "file_classes": files}
