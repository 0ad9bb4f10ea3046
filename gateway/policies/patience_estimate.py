"""How long customers wait before they leave, as a server can see it.

Owns: the estimate of the distribution of patience from requests that ended.
Must not know: policies, drivers.

Most requests end because they are answered or turned away, before their customer has run out of
patience: their patience is only known to be longer (censored). To look at those alone who were
seen to leave would find the impatient too many, the more so the earlier others are turned away,
and a limit that follows the estimate would chase itself down to nothing. So it is the product-limit
estimate (Kaplan and Meier, *Nonparametric estimation from incomplete observations*, JASA 53, 1958):
at each age, how many of those who were still there left.
"""

from collections.abc import Sequence
from itertools import accumulate

STEP_S = 0.25
"""Ages are counted in steps of this size, in paper seconds."""
LONGEST_S = 120.0
"""Longer ages count as this."""
ENOUGH_LEFT = 20
"""Fewer customers seen to leave (or what is remembered of them) are no measurement."""
REMEMBERED_FOR_S = 600.0
"""What was seen so long ago has 1/e of its weight."""

_STEPS = int(LONGEST_S / STEP_S)


class PatienceEstimate:
    """Ages of requests at their end, by what ended them; old ones fade."""

    def __init__(self) -> None:
        self._left = [0.0] * _STEPS
        self._ended = [0.0] * _STEPS  # left, answered or turned away

    def left(self, age_s: float) -> None:
        """A customer closed the connection when the request was so old."""
        step = _step(age_s)
        self._left[step] += 1.0
        self._ended[step] += 1.0

    def stayed(self, age_s: float) -> None:
        """A request was answered or turned away at that age, and its customer was there."""
        self._ended[_step(age_s)] += 1.0

    def fade(self, elapsed_s: float) -> None:
        """So much time has gone by; to be called about once a second."""
        keep = max(0.0, 1.0 - elapsed_s / REMEMBERED_FOR_S)
        self._left = [number * keep for number in self._left]
        self._ended = [number * keep for number in self._ended]

    def quantile_s(self, share: float) -> float | None:
        """The age at which `share` (0 to 1) of the customers have left; None as long as unknown.

        The lower end of its step, so it is never too long; LONGEST_S if fewer leave.
        """
        ages_s = self.quantiles_s((share,))
        return None if ages_s is None else ages_s[0]

    def quantiles_s(self, shares: Sequence[float]) -> list[float] | None:
        """The same for several shares, the least first."""
        if sum(self._left) < ENOUGH_LEFT:
            return None
        # Summed up from the longest age on: what has faded to next to nothing is not lost in the
        # sum of the others, and nobody leaves where nobody is at risk.
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
