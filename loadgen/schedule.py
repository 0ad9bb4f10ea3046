"""The clock of a run in paper time, and the lag of attempts behind their planned start."""

import time
from dataclasses import dataclass

import gevent


class RunClock:
    """A clock in paper seconds, of which `time_scale` pass per real second."""

    __slots__ = ("_start", "time_scale")

    def __init__(self, time_scale: float) -> None:
        self.time_scale = time_scale
        self.restart()

    def restart(self) -> None:
        """Set the present time to 0 s."""
        self._start = time.monotonic()

    def now_s(self) -> float:
        return (time.monotonic() - self._start) * self.time_scale

    def real_s(self, paper_s: float) -> float:
        return paper_s / self.time_scale

    def sleep_until(self, paper_s: float) -> None:
        """Let other greenlets run until `paper_s`, unless that time has passed."""
        wait_s = paper_s / self.time_scale - (time.monotonic() - self._start)
        if wait_s > 0:
            gevent.sleep(wait_s)


@dataclass(slots=True)
class Lag:
    """The lag of attempts behind their schedule, in real seconds. The load generator's machine, not
    the shop, causes this lag.
    """

    tolerance_s: float
    attempts: int = 0
    late: int = 0
    max_s: float = 0.0
    newest_max_s: float = 0.0
    """The largest lag since `take_newest` was last called."""

    def saw(self, lag_s: float) -> None:
        """Count an attempt that started `lag_s` real seconds after its intended start."""
        self.attempts += 1
        if lag_s > self.tolerance_s:
            self.late += 1
        if lag_s > self.newest_max_s:
            self.newest_max_s = lag_s
            if lag_s > self.max_s:
                self.max_s = lag_s

    def take_newest(self) -> float:
        newest = self.newest_max_s
        self.newest_max_s = 0.0
        return newest
