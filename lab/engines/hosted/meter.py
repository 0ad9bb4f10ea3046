"""The CPU time of applications, load generators, database and everything else in a hosted run."""

import resource
import time

import psutil

from hosting import processes
from hosting.platform import Platform
from runtime.settings import Settings
from runtime.state import State


class HostingMeter:
    """A meter of the CPU time since the meter was created.

    The CPU time of a load generator counts only after the load generator has ended.
    """

    def __init__(self, lab: Settings, platform: Platform) -> None:
        self._platform = platform
        self._postmaster = _postmaster(lab)
        self._began_real_s = time.monotonic()
        self._before = self._look()

    def read(self) -> tuple[tuple[float, float, float | None, float], list[float]]:
        """Return the CPU use of applications, load generators, database and all others in
        processors, and each application's CPU time in paper seconds."""
        took_s = time.monotonic() - self._began_real_s
        (own, load, database, busy), now = self._before, self._look()
        own_s = [b - a for a, b in zip(own, now[0], strict=True)]
        known = None if database is None or now[2] is None else now[2] - database
        ours_s = sum(own_s) + now[1] - load + (known or 0.0)
        shares = (
            sum(own_s) / took_s,
            (now[1] - load) / took_s,
            None if known is None else known / took_s,
            max(0.0, now[3] - busy - ours_s) / took_s,
        )
        return shares, [each * self._platform.options.time_scale for each in own_s]

    def _look(self) -> tuple[list[float], float, float | None, float]:
        times = psutil.cpu_times()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)  # load generators that have ended
        return (
            [application.cpu_s() for application in self._platform.applications],
            children.ru_utime + children.ru_stime,
            None if self._postmaster is None else processes.tree_cpu_s(self._postmaster),
            times.user + times.nice + times.system,
        )


def _postmaster(lab: Settings) -> int | None:
    file = State(lab.state_dir).postgres / "data" / "postmaster.pid"
    try:
        return int(file.read_text().split(maxsplit=1)[0])
    except (OSError, ValueError, IndexError):
        return None
