"""The times at which customers leave in a shadow's world.

A customer who leaves in the real world leaves in the shadow's world at the same time. If the real
world has already answered or refused a request that is still in the shadow's world, its customer's
patience is unknown. The module estimates AGES equally likely patiences from the real
requests (product-limit estimate), and chooses one that is longer than the request's present age.
Until there is an estimate, the module uses UNKNOWN_S.
"""

from math import sqrt
from typing import Final

from gateway.policies.interface import Request
from gateway.policies.patience_estimate import PatienceEstimate

AGES: Final = 16
UNKNOWN_S: Final = 20.0
"""The mean patience of LIFO-Pri's customers in paper seconds; the patience is 8 s + Exp(12 s)."""
_SHARES: Final = [(number + 0.5) / AGES for number in range(AGES)]
_GOLDEN: Final = (sqrt(5.0) - 1.0) / 2.0
"""The golden ratio; the fractional parts of its multiples are spread evenly, without randomness."""


class Customers:
    """The real customers' patience, recorded as in `PatienceEstimate`."""

    def __init__(self) -> None:
        self._estimate = PatienceEstimate()
        self._ages_s: list[float] = []

    def left(self, age_s: float) -> None:
        self._estimate.left(age_s)

    def stayed(self, age_s: float) -> None:
        self._estimate.stayed(age_s)

    def fade(self, elapsed_s: float) -> None:
        self._estimate.fade(elapsed_s)
        self._ages_s = self._estimate.quantiles_s(_SHARES) or []

    def leaves_s(self, request: Request, now_s: float) -> float:
        """Return the time (`now_s` or later) at which the customer of a request in the shadow's
        world would leave.
        """
        age_s = now_s - request.arrived_s
        if not self._ages_s:
            return max(now_s, request.arrived_s + UNKNOWN_S)
        longer_s = [one_s for one_s in self._ages_s if one_s > age_s]
        if not longer_s:
            return now_s
        return request.arrived_s + longer_s[int(request.id * _GOLDEN % 1.0 * len(longer_s))]
