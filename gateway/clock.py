"""The clock of paper time: real time multiplied by the time scale.

Paper time does not jump when the scale changes.
"""

import time
from collections.abc import Callable


class PaperClock:
    """A clock that shows the paper seconds since its creation; `scale` is in paper seconds per real
    second.
    """

    def __init__(self, scale: float, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._monotonic_s = monotonic_s
        self._real_s = monotonic_s()
        self._paper_s = 0.0
        self._scale = scale

    def __call__(self) -> float:
        return self._paper_s + (self._monotonic_s() - self._real_s) * self._scale

    @property
    def scale(self) -> float:
        return self._scale

    @scale.setter
    def scale(self, scale: float) -> None:
        real_s = self._monotonic_s()
        self._paper_s += (real_s - self._real_s) * self._scale
        self._real_s = real_s
        self._scale = scale

    def real_s(self, paper_duration_s: float) -> float:
        """Convert a duration in paper seconds to real seconds."""
        return paper_duration_s / self._scale
