"""SBAC's cases: simulated runs with the paper's servers, customers and loads, and the live runs.

Source: Cherkasova, Phaal, *Session-Based Admission Control*, IEEE Transactions on Computers 51(6),
2002. Section numbers in this package refer to that paper.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.policies import NO_ADMISSION
from lab.analysis.published import published
from lab.spec.cases import Case
from lab.spec.experiment import Spec, changed, load_spec
from lab.spec.runs import ShopRun
from lab.spec.sections import PolicyChoice
from lab.studies import SESSION_METRICS
from lab.studies.study import Engine, PaperCases
from loadgen.workload.sessions import (
    SBAC_TABLE_1,
    LengthKind,
    Schedule,
    Segment,
    SessionLengths,
    SessionModel,
)
from simulator.scenario import SPECWEB96, FifoServer, FileClass

MEANS = (5, 15, 50)
"""The mean session lengths, in requests."""

STRATEGIES = {
    "sbac-stable": "Stable",
    "sbac-responsive": "Responsive",
    "sbac-hybrid": "Hybrid",
    "sbac-predictive": "Predictive",
}
"""The admission policies in the order of Table 2, and their names in the paper."""

PLANNED_UTILISATION = 0.95
"""The share of the capacity that the predictive strategy uses in its plan: the ac-threshold.
Equation 7 plans with the full capacity. With the file sizes of SPECweb96, chance alone would then
make the wait in the queue longer than the timeout of 1 s."""

DURATION_S = 500.0
"""The duration of a run that begins with an empty system, in paper seconds. The paper does not
state a duration."""

USUAL_DAY = (1.0, 1.0, 1.3, 1.0, 1.0, 1.5, 1.0, 1.0, 1.3, 1.0)
"""The loads of the usual day, read from the plot in Fig. 10a: about 100 %, with a few intervals of
moderate overload."""

BUSY_DAY = (1.0, 1.5, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.5)
"""The loads of the busy day, read from the plot in Fig. 10b: half of the intervals are in overload,
one of them at 300 %. The load of the other half is about 100 %."""

DAYS = {"usual": USUAL_DAY, "busy": BUSY_DAY}
QUICK_FILES = (FileClass(0.8, 200.0, 1000.0), FileClass(0.2, 1000.0, 3400.0))
"""The file sizes for a server of 100 requests/s.

With the sizes of SPECweb96 (squared coefficient of variation: 15.8), the work that arrives in a
second would vary by 40 %. On the paper's server, it varies by 13 %. The sizes here have a squared
coefficient of variation of 0.69, so the work varies by 13 %, too: (1 + 0.69) / 100 is about
(1 + 15.8) / 1000.
"""

SEGMENTS_S = (50.0, 500.0)
"""The two durations of an interval, in paper seconds, with which each day is simulated. The paper
does not state a duration."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The size of the simulated server, the loads and the repetitions."""

    capacity_rps: float
    listen_queue: int
    loads: tuple[float, ...]
    weights: tuple[float, ...]
    repetitions: int
    file_classes: tuple[FileClass, ...] | None
    """For each class of files, its share, smallest size and largest size (in bytes); None means the
    published sizes of SPECweb96."""
    long_day_means: tuple[int, ...]
    """The mean session lengths of the days with long intervals."""


@dataclass(frozen=True, slots=True)
class LiveScale:
    """The loads and repetitions of the live runs."""

    loads: tuple[float, ...]
    repetitions: int


_PAPER = published()["sbac"]

SCALES: dict[Engine, dict[bool, Scale | LiveScale]] = {
    "simulated": {
        False: Scale(
            capacity_rps=float(_PAPER["server_capacity_rps"]),
            listen_queue=_PAPER["listen_queue"],
            loads=tuple(_PAPER["loads"]),
            weights=(0.1, 0.3, 0.5, 0.7, 1.0),
            repetitions=5,
            file_classes=None,
            long_day_means=MEANS,
        ),
        # A tenth of the server and fewer loads, for two cores and two minutes.
        True: Scale(
            capacity_rps=100.0,
            listen_queue=102,
            loads=(0.8, 1.0, 1.2, 1.7, 2.0, 3.0),
            weights=(0.1, 0.5, 1.0),
            repetitions=1,
            file_classes=QUICK_FILES,
            long_day_means=(5,),
        ),
    },
    "live": {
        False: LiveScale((0.8, 1.0, 1.5, 2.0, 3.0), 3),
        True: LiveScale((1.0, 2.0), 1),
    },
}


@dataclass(frozen=True, slots=True)
class Cases(PaperCases[Scale]):
    """SBAC's simulated cases for one `Scale` (full or quick)."""

    def overloaded(
        self,
        mean: float,
        load: float,
        *,
        retries: int | None = None,
        think_time_s: float | None = None,
        kind: LengthKind = "geometric",
        everybody_finishes: bool = False,
    ) -> Case[ShopRun]:
        """Return a case without admission control, with the paper's clients (section 6) or with
        other clients (section 5). If `everybody_finishes` is false, the run ends when arrivals
        end."""
        paper = published()["sbac"]
        retries = paper["retries"] if retries is None else retries
        customers = SessionModel(
            timeout_s=paper["timeout_s"],
            think_timeout_mean_s=0.0,
            retry_probability=1.0 if retries else 0.0,
            max_retries=retries,
            think_time_mean_s=think_time_s or paper["think_time_mean_s"],
            lengths=SessionLengths(kind, mean),
        )
        run = ShopRun(
            self._policy(),
            self._server(),
            customers,
            capacity_rps=self.scale.capacity_rps,
            rho=load,
            duration_s=DURATION_S,
            stop_s=None if everybody_finishes else DURATION_S,
            session_known_from="admission",
        )
        return Case(run, SESSION_METRICS)

    def admitted(
        self, admission: str, mean: float, load: float, **parameters: float
    ) -> Case[ShopRun]:
        """Return a case with an admission policy (sections 9 to 13). By default, the predictive
        strategy plans with PLANNED_UTILISATION of the measured capacity."""
        if admission == "sbac-predictive":
            parameters = {"planned_utilisation": PLANNED_UTILISATION, **parameters}
        return self.behind(admission, self.overloaded(mean, load), **parameters)

    def behind(self, admission: str, case: Case[ShopRun], **parameters: float) -> Case[ShopRun]:
        """Return the same case behind another admission policy."""
        return case.with_(policy=self._policy(admission, **parameters))

    def weighted(self, weight: float, mean: float, load: float) -> Case[ShopRun]:
        """Return a case whose ac-function has the weight k (Fig. 8)."""
        if weight == 1.0:
            return self.admitted("sbac-responsive", mean, load)
        if weight == 0.1:
            return self.admitted("sbac-stable", mean, load)
        return self.admitted("sbac", mean, load, ac_weight=weight)

    def day(
        self, pattern: str, admission: str, mean: float, segment_s: float, **parameters: float
    ) -> Case[ShopRun]:
        """Return the case that simulates a usual or a busy day (section 13)."""
        return self.admitted(admission, mean, 1.0, **parameters).with_(
            schedule=Schedule(tuple(Segment(segment_s, load) for load in DAYS[pattern])),
            duration_s=None,
            stop_s=segment_s * len(DAYS[pattern]),
        )

    def shop(self, admission: str, load: float) -> Case[ShopRun]:
        """Return a case with Table 1's mixture of sales and non-sales sessions."""
        case = self.admitted(admission, 1, load)
        lengths = SessionLengths("geometric", mixture=SBAC_TABLE_1)
        return case.with_(customers=replace(case.run.session_model, lengths=lengths))

    def _policy(self, admission: str = NO_ADMISSION, **parameters: float) -> PolicyChoice:
        return PolicyChoice(
            name="sq",
            parameters={"capacity": self.scale.listen_queue},
            admission=admission,
            admission_parameters=parameters,
        )

    def _server(self) -> FifoServer:
        files = self.scale.file_classes
        return FifoServer(self.scale.capacity_rps, SPECWEB96 if files is None else files)


LIVE_MEANS = (5, 15)
LIVE_METRICS = "studies.sbac:live"
SHIPPED_SPEC = "sbac-live"
"""The name of the spec on which `live_spec` is based."""


@dataclass(frozen=True, slots=True)
class LiveCases(PaperCases[LiveScale]):
    """The live runs, with each strategy and without admission control."""

    def keys(self) -> list[str]:
        """Return the keys of the compared policies, beginning with `sq` (no admission control)."""
        return [choice.key for choice in load_spec(SHIPPED_SPEC).policy]

    def case(self, key: str, mean: float, load: float) -> Case[ShopRun]:
        """Return the case of the policy `key` at this mean length and load."""
        spec = live_spec(mean, [load], seed=1, repetitions=1)
        return Case(ShopRun.of_spec(spec, key, load), LIVE_METRICS)


def live_spec(mean: float, loads: Sequence[float], *, seed: int, repetitions: int) -> Spec:
    """Return the spec of the live comparison, whose sessions have `mean` requests on average."""
    return changed(
        load_spec(SHIPPED_SPEC),
        title=f"SBAC live, sessions of {mean:g} requests",
        load__rho=list(loads),
        customers__lengths={"kind": "geometric", "mean": mean},
        seed=seed,
        repetitions=repetitions,
    )


def cases_on(scale: Scale | LiveScale, engine: Engine) -> Cases | LiveCases:
    """Return the cases of an engine at this scale."""
    if isinstance(scale, LiveScale):
        return LiveCases(scale, engine)
    return Cases(scale, engine)
