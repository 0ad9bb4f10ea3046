"""The limits on memory and time for all processes of one simulated launch together."""

import contextlib
import time
from collections.abc import Callable

import psutil

from lab.console.site.allowances import GIB, Allowance, way_out, written

IDLE_TIMES = 10
"""The maximum real time of a launch, as a multiple of its CPU time limit. A launch shares the
processors, so it can need more real time than CPU time."""

RESERVED_BYTES = 3 * GIB // 2
"""The memory, in bytes, that the libraries of a simulation may reserve but do not use (measured:
about 1.2 GiB)."""


class JobLimits:
    """The limits of one launch. The launch's worker calls `exceeded` at intervals."""

    def __init__(
        self,
        allowance: Allowance,
        expected_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set the limits of a launch whose expected CPU time is `expected_s`."""
        self._allowance = allowance
        self._cpu_s = allowance.job_limit_s(expected_s)
        self._clock = clock
        self._began_s = clock()
        self._ended_cpu_s = 0.0
        self._seen: dict[int, float] = {}

    def exceeded(self, process: int) -> str:
        """Return why this process and its children must end; empty if they are within the
        limits."""
        memory_bytes, cpu_s = self._measured(process)
        most_bytes, real_s = self._allowance.job_memory_bytes, self._clock() - self._began_s
        for what, taken, most, unit, limit in (
            ("memory", memory_bytes, most_bytes, "job_memory_bytes", "job_memory_bytes"),
            ("CPU time", cpu_s, self._cpu_s, "job_least_s", "job_times_expected"),
            ("real time", real_s, IDLE_TIMES * self._cpu_s, "job_least_s", "job_times_expected"),
        ):
            if taken > most:
                return self._words(what, written(unit, taken), written(unit, most), limit)
        return ""

    def out_of_memory(self) -> str:
        """Return the message for a launch that could not allocate memory."""
        most = written("job_memory_bytes", self._allowance.job_memory_bytes)
        return self._words("memory", "over the limit", most, "job_memory_bytes")

    @property
    def process_bytes(self) -> int:
        """The bytes that one process may reserve. This limit also stops a process that grows faster
        than `exceeded` can notice.
        """
        return RESERVED_BYTES + self._allowance.job_memory_bytes

    def _words(self, what: str, taken: str, most: str, limit: str) -> str:
        whose = self._allowance.whose
        said = f"The launch was stopped: its {what} was {taken}; allowed: {most} for {whose}."
        return f"{said} {way_out(self._allowance, limit, 'launch')}"

    def _measured(self, process: int) -> tuple[int, float]:
        """Return the resident bytes, and the CPU seconds of running and ended processes."""
        memory_bytes = 0
        now: dict[int, float] = {}
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(process)
            for one in [parent, *parent.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    times = one.cpu_times()
                    now[one.pid] = times.user + times.system
                    memory_bytes += one.memory_info().rss
        self._ended_cpu_s += sum(cpu_s for pid, cpu_s in self._seen.items() if pid not in now)
        self._seen = now
        return memory_bytes, self._ended_cpu_s + sum(now.values())
