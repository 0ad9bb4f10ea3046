"""Session-based admission control by predicted utilisation: sbac, sbac-responsive and
sbac-stable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.policies.interface import LoadSample, Outcome, Reject, Request
from gateway.policies.session_census import SessionCensus
from gateway.policies.sheet import Parameter, Sheet

# Times that differ only by the rounding of floats count as equal.
TOLERANCE_S = 1e-9


@dataclass(frozen=True, slots=True)
class AcInterval:
    """A finished ac-interval: its mean utilisation U_measured, and the time, in paper seconds, that
    its samples cover.
    """

    measured_utilisation_ratio: float
    covered_s: float


class AcIntervals:
    """An object that divides the load samples into ac-intervals. The lengths of live samples vary.
    After each sample, the object calculates the time that is still missing to `ac_interval_s`. The
    interval ends if this time is at most half of the sample's length. U_measured is
    the mean of the samples, weighted by the time that each sample covers.
    """

    def __init__(self, ac_interval_s: float) -> None:
        self.ac_interval_s = ac_interval_s
        self._covered_s = 0.0
        self._busy_s = 0.0

    def sample(self, sample: LoadSample) -> AcInterval | None:
        """Add a sample; return the interval if the sample ends it, otherwise None."""
        self._covered_s += sample.interval_s
        self._busy_s += sample.cpu_utilisation_ratio * sample.interval_s
        missing_s = self.ac_interval_s - self._covered_s
        if self._covered_s <= 0 or missing_s > sample.interval_s / 2 + TOLERANCE_S:
            return None
        over = AcInterval(self._busy_s / self._covered_s, self._covered_s)
        self._covered_s = self._busy_s = 0.0
        return over


class UtilisationAdmission:
    """A policy that rejects all new sessions of an ac-interval if the utilisation predicted for
    this interval is above `ac_threshold`.

    f(1) = ac_threshold, f(i+1) = (1 − weight) f(i) + weight U_measured(i) (SBAC, section 7).
    """

    def __init__(
        self,
        name: str,
        *,
        ac_weight: float,
        ac_threshold: float,
        ac_interval_s: float,
        retry_after_s: float,
    ) -> None:
        self.name = name
        self.weight = ac_weight
        self.ac_threshold = ac_threshold
        self.retry_after_s = retry_after_s
        self.predicted_utilisation_ratio = ac_threshold
        self.measured_utilisation_ratio: float | None = None
        self.admitted = 0
        self.rejected = 0
        self.aborted = 0
        self.left: set[int] = set()  # requests in the system whose customers have left
        self._intervals = AcIntervals(ac_interval_s)

    @property
    def admits(self) -> bool:
        """Whether new sessions are admitted."""
        return self.predicted_utilisation_ratio <= self.ac_threshold

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        if not request.session_is_new:
            return None
        if self.admits:
            self.admitted += 1
            return None
        self.rejected += 1
        return Reject(request.id, self._reason(), self.retry_after_s)

    def dropped(self, time_s: float, id: int) -> None:
        self.aborted += id not in self.left
        self.left.discard(id)

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        self.left.discard(id)

    def abandonment(self, time_s: float, id: int) -> None:
        self.aborted += 1
        self.left.add(id)

    def withdrawn(self, time_s: float, id: int) -> None:
        self.left.discard(id)

    def load_sample(self, time_s: float, sample: LoadSample) -> None:
        over = self._intervals.sample(sample)
        if over is not None:
            self._interval_over(time_s, over)

    def snapshot(self) -> Mapping[str, object]:
        return {
            "predicted_utilisation_ratio": self.predicted_utilisation_ratio,
            "measured_utilisation_ratio": self.measured_utilisation_ratio,
            "weight": self.weight,
            "admits": self.admits,
            "quota": None,
            "admitted": self.admitted,
            "rejected": self.rejected,
            "aborted": self.aborted,
        }

    def _interval_over(self, time_s: float, over: AcInterval) -> None:
        k = self.weight = self._next_weight(over)
        self.measured_utilisation_ratio = over.measured_utilisation_ratio
        self.predicted_utilisation_ratio = (
            1 - k
        ) * self.predicted_utilisation_ratio + k * over.measured_utilisation_ratio

    def _next_weight(self, over: AcInterval) -> float:
        """Return k for the next ac-interval; here, k is constant."""
        return self.weight

    def _reason(self) -> str:
        return (
            "no new sessions for now "
            f"(predicted utilisation {self.predicted_utilisation_ratio:.3f} "
            f"> {self.ac_threshold:g})"
        )


class CountingAdmission(UtilisationAdmission):
    """A policy that admits sessions by predicted utilisation, and keeps a census of sessions."""

    def __init__(self, name: str, **parameters: Any) -> None:
        super().__init__(name, **parameters)
        self.census = SessionCensus()

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        rejection = super().arrival(time_s, request)
        if rejection is None:
            self.census.request(time_s, request.id, request.session)
        return rejection

    def dropped(self, time_s: float, id: int) -> None:
        super().dropped(time_s, id)
        self.census.request_dropped(id)

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        super().completion(time_s, id, outcome)
        self.census.request_ended(id, outcome)

    def abandonment(self, time_s: float, id: int) -> None:
        super().abandonment(time_s, id)
        self.census.request_aborted(id)

    def withdrawn(self, time_s: float, id: int) -> None:
        super().withdrawn(time_s, id)
        self.census.request_dropped(id)

    def _interval_over(self, time_s: float, over: AcInterval) -> None:
        self.census.count_ended(time_s)
        super()._interval_over(time_s, over)


AC_THRESHOLD = Parameter(
    "ac_threshold",
    0.95,
    "ratio",
    "U_ac, the predicted utilisation above which new sessions are rejected",
    "SBAC, section 9",
    0.0,
    1.0,
)
AC_INTERVAL_S = Parameter(
    "ac_interval_s",
    1.0,
    "s",
    "length of an ac-interval, which combines shorter load samples",
    "SBAC, section 9",
    0.1,
    3600.0,
)
RETRY_AFTER_S = Parameter(
    "retry_after_s",
    300.0,
    "s",
    "time after which a rejected customer may come back",
    "SBAC, section 8 (“say, in five minutes”)",
    1.0,
    86_400.0,
)
COMMON = (AC_THRESHOLD, AC_INTERVAL_S, RETRY_AFTER_S)


def ac_weight(meaning: str, default: float, source: str, *, low: float = 0.0) -> Parameter:
    """Return the parameter for the weight k of the ac-function."""
    return Parameter("ac_weight", default, "ratio", meaning, source, low, 1.0)


def _rule(weight: str) -> str:
    return (
        f"the predicted utilisation is f(1) = ac_threshold, f(i+1) = {weight}, where U_i is the "
        "mean utilisation of ac-interval i (ac_interval_s long). If f(i+1) > ac_threshold, reject "
        "all new sessions in interval i+1 with a page that names retry_after_s; otherwise admit "
        "them. Admit every request of a session in progress"
    )


_INTERVALS = (
    "An ac-interval ends with a load sample, so its length can differ from ac_interval_s by "
    "up to half the length of a sample. A client without a session cookie counts as a new session "
    "on every request."
)

SBAC = Sheet(
    name="sbac",
    title="SBAC",
    idea=(
        "A session that cannot be finished should not begin: under overload, no new sessions "
        "are admitted."
    ),
    rule=_rule("(1 − ac_weight) f(i) + ac_weight U_i"),
    source="SBAC, section 7 (ac-function), section 10 (weights between responsive and stable)",
    deviations=_INTERVALS,
    parameters=(
        ac_weight(
            "k, the weight of the last ac-interval; all earlier intervals together have the "
            "weight 1 − k",
            0.5,
            "a value between responsive (1) and stable (0.1)",
        ),
        *COMMON,
    ),
)
SBAC_RESPONSIVE = Sheet(
    name="sbac-responsive",
    title="SBAC responsive",
    idea="This strategy considers only the last ac-interval. It therefore reacts fast, and few "
    "sessions are aborted.",
    rule=_rule("U_i (weight k = 1)"),
    source="SBAC, section 7 (ac-responsive)",
    deviations="as in sbac",
    parameters=COMMON,
)
SBAC_STABLE = Sheet(
    name="sbac-stable",
    title="SBAC stable",
    idea="This strategy has a long memory, so a short burst after low load does not lead to "
    "rejections.",
    rule=_rule("0.9 f(i) + 0.1 U_i (weight k = 0.1)"),
    source="SBAC, section 7 (ac-stable)",
    deviations="as in sbac",
    parameters=COMMON,
)

RESPONSIVE_WEIGHT = 1.0
STABLE_WEIGHT = 0.1


def sbac(**parameters: Any) -> UtilisationAdmission:
    """Return the policy SBAC with the weight k as a parameter."""
    return UtilisationAdmission(SBAC.name, **parameters)


def sbac_responsive(**parameters: Any) -> UtilisationAdmission:
    """Return the policy SBAC, ac-responsive: k = 1."""
    return UtilisationAdmission(SBAC_RESPONSIVE.name, ac_weight=RESPONSIVE_WEIGHT, **parameters)


def sbac_stable(**parameters: Any) -> UtilisationAdmission:
    """Return the policy SBAC, ac-stable: k = 0.1."""
    return UtilisationAdmission(SBAC_STABLE.name, ac_weight=STABLE_WEIGHT, **parameters)
