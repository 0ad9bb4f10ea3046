"""The parts of eDragon in an application: the load monitor ELM (eDragon, section 3.2.1) and the
admission control EAC (section 3.2.2).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.policies.processor_assignment import INTERVAL_S
from gateway.policies.sheet import Parameter, Sheet

# A sum of floats that differs from a whole number only by rounding counts as whole.
_TOLERANCE = 1e-9


@dataclass
class LoadMonitor:
    """The load monitor ELM, which predicts the connections of the next interval and the processors
    that they need.

    The number O of resumed connections is predicted by eq. 3: Ô(2) = O(1), Ô(k) = ewma_alpha Ô(k−1)
    + (1 − ewma_alpha) O(k−1). The number N of new connections, which includes refused connections,
    is predicted in the same way (eq. 4).
    """

    cto_s: float
    ctn_s: float
    k_apl_s: float
    ewma_alpha: float

    def __post_init__(self) -> None:
        self.predicted_resumed: float | None = None
        self.predicted_new: float | None = None
        self._resumed = 0
        self._new = 0

    def connection(self, *, resumed: bool) -> None:
        """Count a connection in the current interval."""
        if resumed:
            self._resumed += 1
        else:
            self._new += 1

    def interval_over(self, took_s: float) -> None:
        """At the end of an interval that took `took_s` paper seconds (> 0), predict the connections
        of the next interval.

        The counts of an interval that ended late are scaled to the length `k_apl_s`.
        """
        share = self.k_apl_s / took_s
        self.predicted_resumed = self._smoothed(self.predicted_resumed, self._resumed * share)
        self.predicted_new = self._smoothed(self.predicted_new, self._new * share)
        self._resumed = self._new = 0

    @property
    def demand_processors(self) -> float | None:
        """The number of processors needed, R_i, before rounding (eq. 2); None before the first
        prediction.
        """
        if self.predicted_resumed is None or self.predicted_new is None:
            return None
        work_s = self.predicted_resumed * self.cto_s + self.predicted_new * self.ctn_s
        return work_s / self.k_apl_s

    def acceptable_new(self, processors: float) -> float | None:
        """Return AN_i (eq. 5), the number of new connections per interval that `processors` can
        serve, at least 0; None before the first prediction.
        """
        if self.predicted_resumed is None:
            return None
        left_s = self.k_apl_s * processors - self.predicted_resumed * self.cto_s
        return max(0.0, left_s / self.ctn_s)

    def _smoothed(self, predicted: float | None, counted: float) -> float:
        if predicted is None:
            return counted
        return self.ewma_alpha * predicted + (1 - self.ewma_alpha) * counted


class ProcessorAdmission:
    """The admission control EAC, which accepts every resumed connection, but only as many new
    connections as the processors can serve.
    """

    asks_for_processors = True

    def __init__(
        self,
        *,
        cto_s: float,
        ctn_s: float,
        k_apl_s: float,
        ewma_alpha: float,
        processors: float,
    ) -> None:
        self.name = EAC.name
        self.monitor = LoadMonitor(cto_s=cto_s, ctn_s=ctn_s, k_apl_s=k_apl_s, ewma_alpha=ewma_alpha)
        self.k_apl_s = k_apl_s
        self.is_fixed = processors > 0
        self.processors: float | None = processors if self.is_fixed else None
        self.accepted_new = 0
        self.refused = 0
        self.began_s: float | None = None
        self._left: int | None = None
        self._acceptable: float | None = None
        self._fraction = 0.0

    @property
    def requested(self) -> int | None:
        """R_i, the number of processors to request, rounded up and at least 1; None before the
        first prediction. With 0 processors, an application could never show that it needs one.
        """
        demand = self.monitor.demand_processors
        return None if demand is None else max(1, math.ceil(demand - _TOLERANCE))

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        self.monitor.connection(resumed=resumed)
        if resumed:
            return True
        if self._left is not None:
            if self._left == 0:
                self.refused += 1
                return False
            self._left -= 1
        self.accepted_new += 1
        return True

    def assigned(self, time_s: float, processors: float) -> None:
        if not self.is_fixed:
            self.processors = processors

    def timer_due(self, time_s: float) -> None:
        if self.began_s is not None and time_s > self.began_s:
            self.monitor.interval_over(time_s - self.began_s)
        self.began_s = time_s
        self._begin_interval()

    def next_timer_s(self) -> float | None:
        return 0.0 if self.began_s is None else self.began_s + self.k_apl_s

    def snapshot(self) -> Mapping[str, object]:
        return {
            "predicted_resumed": self.monitor.predicted_resumed,
            "predicted_new": self.monitor.predicted_new,
            "demand_processors": self.monitor.demand_processors,
            "requested": self.requested,
            "processors": self.processors,
            "acceptable_new": self._acceptable,
            "accepted_new": self.accepted_new,
            "refused": self.refused,
        }

    def _begin_interval(self) -> None:
        """Set the number of new connections that may be accepted in this interval; None means no
        limit yet. A fraction of AN_i is carried over to the next interval.
        """
        acceptable = None
        if self.processors is not None:
            acceptable = self.monitor.acceptable_new(self.processors)
        self._acceptable = acceptable
        if acceptable is None:
            self._left = None
            return
        with_rest = acceptable + self._fraction
        self._left = math.floor(with_rest + _TOLERANCE)
        self._fraction = max(0.0, with_rest - self._left) if acceptable > 0 else 0.0


EAC = Sheet(
    name="eac",
    idea="In the paper, a full TLS handshake takes 175 ms of CPU time, and a resumed handshake "
    "takes 2 ms. A customer in the middle of a visit resumes a TLS session. So every resumed "
    "connection is accepted, but only as many new connections as the assigned processors can "
    "serve.",
    rule="accept AN = (k_apl_s × processors − Ô × cto_s) / ctn_s new connections per interval; "
    "request R = (Ô × cto_s + N̂ × ctn_s) / k_apl_s processors, rounded up. The predicted numbers "
    "of resumed and new connections are Ô and N̂",
    source="eDragon, sections 3.2.1 and 3.2.2, eq. (2) to (5)",
    deviations="R is at least 1. A fraction of AN is carried over to the next interval. The "
    "counts of an interval that ends late are scaled to k_apl_s. Until there is a prediction and "
    "an assignment of processors, every connection is accepted.",
    parameters=(
        Parameter(
            "cto_s",
            0.1,
            "CPU seconds (paper)",
            "CTO: CPU time of a resumed connection, with all its requests",
            "3.2.1, static profiling: `doorbuster profile-connections`",
            1e-6,
            10_000,
        ),
        Parameter(
            "ctn_s",
            0.275,
            "CPU seconds (paper)",
            "CTN: CPU time of a new connection, with all its requests",
            "3.2.1, static profiling: `doorbuster profile-connections`",
            1e-6,
            10_000,
        ),
        Parameter(
            "k_apl_s",
            INTERVAL_S,
            "seconds (paper)",
            "sampling interval of the load monitor and the admission control",
            "3.2: k_APL = 2 s",
            0.01,
            3600,
        ),
        Parameter(
            "ewma_alpha",
            0.7,
            "ratio",
            "weight of the previous prediction",
            "eq. (3) and (4): α = 0.7",
            0,
            1,
        ),
        Parameter(
            "processors",
            0.0,
            "processors",
            "0: the CPU manager assigns the processors; above 0: always this number (static "
            "provisioning, or all processors of a platform without a manager)",
            "Fig. 1 for fixed numbers",
            0,
            4096,
        ),
    ),
)
