"""Customers in the world of a shadow: when they leave whom the real world kept waiting no longer.

Owns: what the real customers show of their patience, and the age at which one of them would leave.
Must not know: policies, what a shadow does with a request.

Who leaves in the real world leaves in the shadow's at the same time. Who was answered or refused
there, and still waits here, would leave at an age that nobody knows: it is one of AGES equally
likely ones of the customers' patience, as the requests of the real world show it (product-limit
estimate), of those above the age that was reached. Until patience is known it is UNKNOWN_S.
"""

from math import sqrt
from typing import Final

from gateway.policies.interface import Request
from gateway.policies.patience_estimate import PatienceEstimate

AGES: Final = 16
UNKNOWN_S: Final = 20.0
"""Paper seconds; the mean patience of LIFO-Pri's customers, 8 s + Exp(12 s)."""
_SHARES: Final = [(number + 0.5) / AGES for number in range(AGES)]
_GOLDEN: Final = (sqrt(5.0) - 1.0) / 2.0
"""Multiples of it, less their whole parts, are evenly spread, whichever ids come: no dice."""


class Customers:
    """The real customers' patience, in paper seconds."""

    def __init__(self) -> None:
        self._estimate = PatienceEstimate()
        self._ages_s: list[float] = []

    def left(self, age_s: float) -> None:
        """A customer left when the request was so old."""
        self._estimate.left(age_s)

    def stayed(self, age_s: float) -> None:
        """A customer was still there when the request was answered or refused."""
        self._estimate.stayed(age_s)

    def fade(self, elapsed_s: float) -> None:
        """So much time has gone by; to be called about once a second."""
        self._estimate.fade(elapsed_s)
        self._ages_s = self._estimate.quantiles_s(_SHARES) or []

    def leaves_s(self, request: Request, now_s: float) -> float:
        """When the customer would leave who is still there now; not before now."""
        age_s = now_s - request.arrived_s
        if not self._ages_s:
            return max(now_s, request.arrived_s + UNKNOWN_S)
        longer_s = [one_s for one_s in self._ages_s if one_s > age_s]
        if not longer_s:
            return now_s
        return request.arrived_s + longer_s[int(request.id * _GOLDEN % 1.0 * len(longer_s))]
