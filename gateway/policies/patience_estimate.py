"""The estimate of customers' patience, calculated from how requests end at a server.

Most requests end while their customers still wait, so the ages of these requests are only lower
bounds of the patience (censored observations). An estimate that used only the customers who left
would be too low. If a policy limited the wait by such an estimate, the limit would shrink towards
0.

The product-limit estimate avoids this error (Kaplan and Meier, *Nonparametric estimation from
incomplete observations*, JASA 53, 1958). For each age, it divides the number of customers who left
at this age by the number of customers who were still present.
"""

from collections.abc import Sequence
from itertools import accumulate

STEP_S = 0.25
"""The width of the steps in which ages are counted, in paper seconds."""
LONGEST_S = 120.0
"""The highest age that is counted, in paper seconds; a higher age counts as this age."""
ENOUGH_LEFT = 20
"""The number of departures that an estimate needs; an older departure counts less than 1."""
REMEMBERED_FOR_S = 600.0
"""The time, in paper seconds, in which the weight of an observation falls to 1/e."""

_STEPS = int(LONGEST_S / STEP_S)


class PatienceEstimate:
    """Counts of the ages at which customers left and requests ended; old observations fade."""

    def __init__(self) -> None:
        self._left = [0.0] * _STEPS
        self._ended = [0.0] * _STEPS  # customers who left or whose requests ended

    def left(self, age_s: float) -> None:
        """Record that a customer left when the request was `age_s` old."""
        step = _step(age_s)
        self._left[step] += 1.0
        self._ended[step] += 1.0

    def stayed(self, age_s: float) -> None:
        """Record that a request ended at this age while its customer was still present."""
        self._ended[_step(age_s)] += 1.0

    def fade(self, elapsed_s: float) -> None:
        """Reduce the weight of all observations after `elapsed_s` paper seconds; call this about
        once per paper second.
        """
        keep = max(0.0, 1.0 - elapsed_s / REMEMBERED_FOR_S)
        self._left = [number * keep for number in self._left]
        self._ended = [number * keep for number in self._ended]

    def quantile_s(self, share: float) -> float | None:
        """Return the age, in paper seconds, at which the share `share` (0 to 1) of the customers
        has left; None while unknown.

        The result is rounded down to a multiple of STEP_S. If the share is never reached, the
        result is LONGEST_S.
        """
        ages_s = self.quantiles_s((share,))
        return None if ages_s is None else ages_s[0]

    def quantiles_s(self, shares: Sequence[float]) -> list[float] | None:
        """Return the ages at which these shares of the customers have left; None while unknown. The
        shares must be in ascending order.
        """
        if sum(self._left) < ENOUGH_LEFT:
            return None
        # Subtraction could lose observations that have almost faded, so this sum begins at the
        # longest age.
        at_risk = list(accumulate(reversed(self._ended)))[::-1]
        survive = 1.0
        ages_s: list[float] = []
        for step, left in enumerate(self._left):
            if left:
                survive *= 1.0 - left / at_risk[step]
                while len(ages_s) < len(shares) and survive <= 1.0 - shares[len(ages_s)]:
                    ages_s.append(step * STEP_S)
        return ages_s + [LONGEST_S] * (len(shares) - len(ages_s))


def _step(age_s: float) -> int:
    return min(_STEPS - 1, int(max(0.0, age_s) / STEP_S))
