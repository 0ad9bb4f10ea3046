"""SBAC that adjusts its weight k to the number of aborted requests: sbac-hybrid."""

from collections.abc import Mapping
from typing import Any

from gateway.policies import PolicyError
from gateway.policies.sbac import (
    COMMON,
    RESPONSIVE_WEIGHT,
    STABLE_WEIGHT,
    TOLERANCE_S,
    AcInterval,
    CountingAdmission,
    ac_weight,
)
from gateway.policies.sheet import Parameter, Sheet

WEIGHT_STEP = 0.1


class HybridAdmission(CountingAdmission):
    """A policy that becomes responsive after an aborted request, and more stable after each cycle
    without one.

    Ab(i) is the number of requests, in ac-interval i, whose customer left or that the queueing
    policy turned away. If Ab(i) > 0, the weight becomes 1. Once Ab has been 0 for a whole ac_cycle
    since the last change, the weight falls by 0.1, but not below 0.1. The ac_cycle is `ac_cycle_s`
    or, if this is 0, inter_request_s × session_length, measured as in SBAC, section 12.
    """

    def __init__(self, *, ac_cycle_s: float, ac_interval_s: float, **parameters: Any) -> None:
        super().__init__(SBAC_HYBRID.name, ac_interval_s=ac_interval_s, **parameters)
        if 0 < ac_cycle_s < ac_interval_s:
            raise PolicyError(
                "parameters.ac_cycle_s",
                f"{ac_cycle_s:g} is below ac_interval_s, which is {ac_interval_s:g}",
                f"0 (measured) or at least {ac_interval_s:g}",
            )
        self._given_cycle_s = ac_cycle_s
        self._aborted_before = 0
        self._unharmed_s = 0.0

    @property
    def ac_cycle_s(self) -> float | None:
        """The ac_cycle in paper seconds, given or measured; None while it is unknown."""
        if self._given_cycle_s:
            return self._given_cycle_s
        between_s = self.census.inter_request_s
        length = self.census.session_length()
        return between_s * length if between_s is not None and length is not None else None

    def snapshot(self) -> Mapping[str, object]:
        return {
            **super().snapshot(),
            "ac_cycle_s": self.ac_cycle_s,
            "unharmed_s": self._unharmed_s,
            "inter_request_s": self.census.inter_request_s,
            "session_length": self.census.session_length(),
        }

    def _next_weight(self, over: AcInterval) -> float:
        aborted = self.aborted - self._aborted_before  # Ab(i)
        self._aborted_before = self.aborted
        if aborted > 0:
            self._unharmed_s = 0.0
            return RESPONSIVE_WEIGHT
        self._unharmed_s += over.covered_s
        cycle_s = self.ac_cycle_s
        if cycle_s is None or self._unharmed_s < cycle_s - TOLERANCE_S:
            return self.weight
        self._unharmed_s = 0.0
        # In whole tenths, so that nine steps lead from 1 to exactly 0.1.
        return max(STABLE_WEIGHT, round(self.weight - WEIGHT_STEP, 9))


SBAC_HYBRID = Sheet(
    name="sbac-hybrid",
    title="SBAC hybrid",
    idea="This strategy becomes responsive when customers leave or requests are turned away, and "
    "otherwise becomes stable again step by step.",
    rule=(
        "as sbac, but the weight starts at ac_weight and changes. Ab(i) = requests whose "
        "customer left + requests that the queueing policy turned away, in ac-interval i "
        "(ac_interval_s). If Ab(i) > 0, the weight "
        "becomes 1. When Ab has been 0 for ac_cycle_s since the last adjustment, the weight "
        "falls by 0.1, but not below 0.1. With f(i+1) = (1 − weight) f(i) + weight U_i, reject "
        "new sessions while f(i+1) > ac_threshold, with a page that names retry_after_s"
    ),
    source="SBAC, section 11; section 12 for ac_cycle in practice",
    deviations="The paper does not give the initial weight; here, it is 1, the most cautious "
    "value. If ac_cycle_s is 0, the cycle is inter-request time × session length, measured as in "
    "sbac-predictive; the weight does not fall before both are known. A customer "
    "who leaves counts, even if the customer retries. The ac-intervals, and clients "
    "without cookies, are handled as in sbac.",
    parameters=(
        ac_weight(
            "k, the weight of the last ac-interval, at the start",
            RESPONSIVE_WEIGHT,
            "this project: the most cautious value",
            low=STABLE_WEIGHT,
        ),
        Parameter(
            "ac_cycle_s",
            0.0,
            "s",
            "time for which Ab must stay 0 before the weight falls; 0: the policy measures it",
            "SBAC, section 12",
            0.0,
            86_400.0,
        ),
        *COMMON,
    ),
)
