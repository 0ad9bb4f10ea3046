"""The load of other programs on the machine, which can spoil a measurement."""

import time

import psutil

from common import cpus


class OtherLoad:
    """A meter of the CPU time of all processes except this process and its children. Call `share`
    while the children run, because an ended child counts as another process."""

    def __init__(self) -> None:
        self._cpus = len(cpus.here())
        self._before = self._look()

    def share(self) -> float:
        """Return the CPU time that other processes have used since this object was created, divided
        by the real time and by the number of CPUs that this process may use."""
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
