"""SBAC with a quota of new sessions for each ac-interval: sbac-predictive."""

from collections import deque
from collections.abc import Mapping
from itertools import chain, repeat
from math import log
from typing import Any

from gateway.policies import PolicyError
from gateway.policies.interface import Reject, Request
from gateway.policies.quota import QuotaAccount, sessions_rps
from gateway.policies.sbac import COMMON, RESPONSIVE_WEIGHT, AcInterval, CountingAdmission
from gateway.policies.sheet import Parameter, Sheet

MEASURED_INTERVALS = 100
"""The number n of ac-intervals in the measured capacity: each new interval multiplies the weight of
earlier ones by 1 − 1/n.
"""

LEFTOVER_LIVES = log(2)
"""The time for which unused quota lasts, as a multiple of a session's mean life (ac_cycle).

If session lengths are geometrically distributed, half of the sessions that were admitted together
have ended after this time. If unused quota lasted longer, arrivals after a lull could lead to more
sessions in progress than the server can serve.
"""

REMEMBERED_INTERVALS = 10_000
"""The maximum number of latest ac-intervals whose admissions are kept until the first quota begins.
"""

ROUNDING = 1e-9


class CapacityMeter:
    """A meter of S_r, the number of requests that a server processes per second of busy time.

    S_r = sum of processed requests / sum of busy times (length × utilisation), over the
    ac-intervals whose utilisation is at least `measuring_utilisation`. Newer intervals have larger
    weights.
    """

    def __init__(self, measuring_utilisation: float) -> None:
        self.measuring_utilisation = measuring_utilisation
        self._processed = 0.0
        self._busy_s = 0.0

    @property
    def capacity_rps(self) -> float | None:
        """S_r in requests per second; None until an interval has been busy enough."""
        return self._processed / self._busy_s if self._processed > 0 else None

    def measure(self, over: AcInterval, processed: float) -> None:
        """Add an ac-interval if it was busy enough; `processed` includes the cost of rejections."""
        if over.measured_utilisation_ratio >= self.measuring_utilisation:
            keep = 1 - 1 / MEASURED_INTERVALS
            self._processed = keep * self._processed + processed
            busy_s = over.measured_utilisation_ratio * over.covered_s
            self._busy_s = keep * self._busy_s + busy_s


class PredictiveAdmission(CountingAdmission):
    """A policy that admits in each ac-interval only as many new sessions as the server can
    complete.

    Eq. 7 gives y, in sessions per second, from the load of the previous interval. The quota is the
    sum of three numbers:

    - y × ac_interval_s;
    - a correction for the previous interval: the quota for its measured load, minus the quota for
      its expected load;
    - the unused quota of the last intervals.

    Until capacity, session length and (if it must be measured) the mean life of a session are
    known, the policy behaves like sbac-responsive.
    """

    def __init__(
        self,
        *,
        capacity_rps: float,
        planned_utilisation: float,
        measuring_utilisation: float,
        session_length: float,
        rejection_cost: float,
        leftover_s: float,
        ac_interval_s: float,
        **parameters: Any,
    ) -> None:
        super().__init__(
            SBAC_PREDICTIVE.name,
            ac_weight=RESPONSIVE_WEIGHT,
            ac_interval_s=ac_interval_s,
            **parameters,
        )
        _check_estimate(session_length, rejection_cost)
        self.rejection_cost = rejection_cost
        self.planned_utilisation = planned_utilisation
        self.ac_interval_s = ac_interval_s
        self.load: float | None = None  # in the newest ac-interval
        self._given_capacity_rps = capacity_rps
        self._given_length = session_length
        self._given_leftover_s = leftover_s
        self._meter = CapacityMeter(measuring_utilisation)
        self._account = QuotaAccount()
        self._allowed: float | None = None  # y × ac_interval_s; None: decide like sbac-responsive
        self._beginnings: deque[int] = deque(maxlen=REMEMBERED_INTERVALS)
        self._arrivals = 0
        self._admitted_before = 0
        self._rejected_before = 0
        self._processed_before = 0
        if capacity_rps and session_length and leftover_s:
            self._start_quotas(planned_utilisation * capacity_rps / session_length)

    @property
    def capacity_rps(self) -> float | None:
        """S_r in requests per second, given or measured; None while unknown."""
        return self._given_capacity_rps or self._meter.capacity_rps

    @property
    def session_length(self) -> float | None:
        """L, the mean number of requests per session, measured and combined with the given
        estimate, if any.
        """
        return self.census.session_length(self._given_length)

    @property
    def leftover_s(self) -> float | None:
        """The time, in paper seconds, for which unused quota lasts: a parameter, or LEFTOVER_LIVES
        × the mean life of a session.
        """
        between_s, length = self.census.inter_request_s, self.session_length
        if self._given_leftover_s:
            return self._given_leftover_s
        return LEFTOVER_LIVES * between_s * length if between_s and length else None

    @property
    def admits(self) -> bool:
        return super().admits if self._allowed is None else not self._account.is_used_up

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        if request.session_is_new:
            self._arrivals += 1
        rejection = super().arrival(time_s, request)
        if rejection is None and request.session_is_new and self._allowed is not None:
            self._account.take()
        return rejection

    def snapshot(self) -> Mapping[str, object]:
        in_force = self._allowed is not None
        return {
            **super().snapshot(),
            "quota": self._account.quota if in_force else None,
            "quota_left": self._account.left if in_force else None,
            "capacity_rps": self.capacity_rps,
            "session_length": self.session_length,
            "load": self.load,
            "leftover_s": self.leftover_s,
        }

    def _interval_over(self, time_s: float, over: AcInterval) -> None:
        super()._interval_over(time_s, over)
        arrivals, self._arrivals = self._arrivals, 0
        admitted = self.admitted - self._admitted_before
        rejected = self.rejected - self._rejected_before
        processed = self.census.processed - self._processed_before
        self._admitted_before = self.admitted
        self._rejected_before = self.rejected
        self._processed_before = self.census.processed
        self._meter.measure(over, processed + self.rejection_cost * rejected)
        if self._allowed is None:
            self._beginnings.append(admitted)
        capacity_rps, length = self.capacity_rps, self.session_length
        if capacity_rps is None or length is None or self.leftover_s is None:
            return
        planned_rps = self.planned_utilisation * capacity_rps
        self.load = arrivals / (over.covered_s * planned_rps / length)
        y = sessions_rps(planned_rps, length, self.load, self.rejection_cost)
        if self._allowed is None:
            self._start_quotas(y)
        else:
            # A long time without samples must not leave more than the permitted unused quota.
            longest_s = self.ac_interval_s * (1 + self._leftover_intervals)
            correction = y * min(over.covered_s, longest_s) - self._allowed
            self._begin(y, correction)

    @property
    def _leftover_intervals(self) -> int:
        return int((self.leftover_s or 0.0) / self.ac_interval_s + ROUNDING)

    def _start_quotas(self, y: float) -> None:
        """Begin the quotas as if y had been in force since the server was empty."""
        for admitted in chain(repeat(0, self._leftover_intervals), self._beginnings):
            self._begin(y, 0.0)
            self._account.take(admitted)
        self._beginnings.clear()
        self._begin(y, 0.0)

    def _begin(self, y: float, correction: float) -> None:
        self._allowed = y * self.ac_interval_s
        self._account.begin(self._allowed + correction, self._leftover_intervals)

    def _reason(self) -> str:
        if self._allowed is None:
            return super()._reason()
        quota = max(0.0, self._account.quota)
        return f"no new sessions for now (quota of {quota:.2f} in {self.ac_interval_s:g} s used up)"


def _check_estimate(session_length: float, rejection_cost: float) -> None:
    if 0 < session_length <= max(1.0, rejection_cost):
        raise PolicyError(
            "parameters.session_length",
            f"{session_length:g} must be more than the cost of a rejection, and more "
            f"than one request",
            f"0 (measured) or more than {max(1.0, rejection_cost):g}",
        )


SBAC_PREDICTIVE = Sheet(
    name="sbac-predictive",
    title="SBAC predictive",
    idea="In each ac-interval, this strategy admits at most as many sessions as the server can "
    "finish, so it admits only a part of a larger burst.",
    rule="y = S_r (L − r Load) / (L (L − r)). S_r = planned_utilisation × capacity_rps, "
    "L = session_length, r = rejection_cost, Load = new sessions of the last ac-interval / "
    "(interval × S_r / L). The quota of an interval is the sum of three parts: y × ac_interval_s, "
    "the correction for the previous interval, (y(measured Load) − y(expected Load)) "
    "× ac_interval_s, and the quota that was not used in the last leftover_s. "
    "Fractions are carried over to the next interval. Reject each new session beyond the quota "
    "with a page that names retry_after_s. A measured capacity_rps is (processed requests + r × "
    "rejections) / busy time, over all ac-intervals with a utilisation of at least "
    "measuring_utilisation; newer intervals count more. Until capacity, L and leftover_s are "
    "known, the policy decides like sbac-responsive, with ac_threshold",
    source="SBAC, section 12, eq. 7 (r = 1), and its remark on inaccuracy and unused quota",
    deviations=(
        "L = C_r/C_s (requests / sessions) is measured whenever a session ends. C_s counts only "
        "sessions that have ended by themselves: they have sent no request for 5 mean "
        "inter-request times. The paper's C_s also counts aborted sessions and sessions in "
        "progress. While there are many of these sessions, the paper's ratio is too low, and the "
        "policy would admit more sessions when more sessions are aborted. The measured length is "
        "used only after 30 sessions have ended; a given session_length has as much weight as 30 "
        "sessions. Load ≤ 1: y = S_r / L, because no session needs to be rejected. Load ≥ L / r: "
        "y = 0. L ≤ r: y = S_r / L, because a rejection saves nothing. Eq. 7 counts a rejection "
        "as one request; use rejection_cost 0 if a gateway answers for the server. The paper does "
        "not define how long unused quota lasts; here, it lasts ln 2 × inter-request time × L. An "
        "idle server then fills up fast, but on average only with sessions that it can serve. "
        "The paper does not define the first quota; here, it is calculated as if quotas had "
        "applied from the start, on an empty server. The ac-intervals, and clients without "
        "cookies, are handled as in sbac."
    ),
    parameters=(
        Parameter(
            "capacity_rps",
            0.0,
            "requests/s",
            "number of requests that the server can process per second; 0: the policy measures it",
            "SBAC, section 12",
            0.0,
            1_000_000.0,
        ),
        Parameter(
            "planned_utilisation",
            1.0,
            "ratio",
            "share of the capacity that quotas may fill; a value below 1 leaves room for random "
            "variation",
            "SBAC, eq. 7 (the whole capacity)",
            0.1,
            1.0,
        ),
        Parameter(
            "measuring_utilisation",
            0.5,
            "ratio",
            "minimum utilisation of the ac-intervals in which capacity is measured",
            "this project",
            0.1,
            1.0,
        ),
        Parameter(
            "session_length",
            0.0,
            "requests",
            "initial estimate of L, which has as much weight as 30 measured sessions; 0: no "
            "estimate",
            "SBAC, section 12",
            0.0,
            1_000_000.0,
        ),
        Parameter(
            "rejection_cost",
            1.0,
            "requests",
            "r, the cost of a rejection for the server, as a multiple of the cost of a mean "
            "request",
            "SBAC, section 8",
            0.0,
            1000.0,
        ),
        Parameter(
            "leftover_s",
            0.0,
            "s",
            "time for which unused quota can be used later; 0: ln 2 × the measured mean life of "
            "a session; a value between 0 and ac_interval_s: unused quota is lost",
            "SBAC, section 12 (“the last few ac-intervals”)",
            0.0,
            86_400.0,
        ),
        *COMMON,
    ),
)
