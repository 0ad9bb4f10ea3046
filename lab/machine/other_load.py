"""The load of other programs while something is measured: their share of the CPUs."""

import os
import time

import psutil


class Neighbours:
    """The CPU time that other processes had between two samples.

    Ours are this process and those it has started. One that ends between the looks counts for the
    others with what it spent: look while they live.
    """

    def __init__(self) -> None:
        self._cpus = len(os.sched_getaffinity(0))
        self._before = self._look()

    def share(self) -> float:
        """0 to 1, since this was made."""
        (wall, busy, own), (wall_now, busy_now, own_now) = self._before, self._look()
        others_s = busy_now - busy - (own_now - own)
        return max(0.0, others_s / ((wall_now - wall) * self._cpus))

    @staticmethod
    def _look() -> tuple[float, float, float]:
        times = psutil.cpu_times()
        me = psutil.Process()
        own = 0.0
        for process in (me, *me.children(recursive=True)):
            try:
                spent = process.cpu_times()
            except psutil.Error:
                continue
            own += spent.user + spent.system
        return time.monotonic(), times.user + times.nice + times.system, own
