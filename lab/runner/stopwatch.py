"""The measured duration of a command, and the prediction made at its start.

    time.json  {"what": "4f0c…", "predicted_s": 21.3, "at": "2026-…", "took_s": 24.0,
                "idle_s": 20.1}

`took_s` is in real seconds. `idle_s` estimates the real seconds on a machine without other work. It
is the sum of the time of live runs and the CPU time of this process. Without live runs, the sum
also includes the CPU time of the child processes, divided by the number of processors that they
use.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.files.documents import write_json
from lab.machine import speeds
from lab.runner.estimates import Estimate
from runtime.settings import Settings

if sys.platform != "win32":
    import resource

FILE = "time.json"
LEAST_REQUESTS = 2000
"""The cost of a request is calculated only from runs with at least this many requests."""
LEAST_READ_REQUESTS = 100_000
"""The cost of reading a result is calculated only from results with at least this many requests."""


class Stopwatch:
    """A timer for one command at a time. If a command calls another command, the inner command
    counts as part of the outer one.
    """

    def __init__(self) -> None:
        self._began_s, self._own_s, self._children_s = time.monotonic(), 0.0, 0.0
        self._is_first = True
        self._clear()

    def _clear(self) -> None:
        self._what = ""
        self._folder: Path | None = None
        self._is_new = False
        self._content: dict[str, Any] = {}
        self._estimate: Estimate | None = None
        self._measured: list[tuple[str, float, float]] = []
        self._live_s = 0.0
        self._is_live = False
        self._waited_s = 0.0

    def expect(self, what: str, estimate: Estimate | None, start: str | None = None) -> None:
        """Record the prediction for a command before the command begins its work.

        `what` identifies the experiment. The CPU time of this process so far is recorded as the
        cost of the work `start`.
        """
        if self._what:
            return
        self._what, self._estimate = what, estimate
        if self._is_first and start is not None:  # only the first start counts
            self.spent(start, 1, time.process_time() - self._own_s)

    def begin(self, folder: Path, *, is_new: bool) -> None:
        """Write the prediction to a result folder; a resumed result keeps its first prediction."""
        if self._folder is not None:
            return
        self._folder, self._is_new = folder, is_new
        if is_new and self._estimate is not None:
            self._content = {
                "what": self._what,
                "predicted_s": round(self._estimate.real_s, 2),
                "at": datetime.now(UTC).isoformat(timespec="seconds"),
            }
            self._write()

    def forget(self) -> None:
        """Discard the times of a command that failed or was interrupted."""
        self._is_first = False
        self._clear()

    def spent(self, kind: str, size: float, seconds: float) -> None:
        """Record the cost of work of this kind and size."""
        self._measured.append((kind, size, seconds))

    @contextlib.contextmanager
    def measuring(self, kind: str, size: float = 1.0, *, at_least: float = 0.0) -> Iterator[None]:
        """Record the CPU time that this process uses within the block, as the cost of work of this
        kind and size. Work whose size is below `at_least` is not recorded.
        """
        began_s = time.process_time()
        yield
        if size >= at_least:
            self.spent(kind, size, time.process_time() - began_s)

    @contextlib.contextmanager
    def live(self) -> Iterator[None]:
        """Count the block's real seconds instead of its CPU seconds, because a live run mostly
        waits for customers."""
        if self._is_live:
            yield
            return
        self._is_live = True
        began_s, own_s = time.monotonic(), time.process_time()
        yield
        self._is_live = False
        self._live_s += time.monotonic() - began_s
        self._own_s += time.process_time() - own_s  # the real time already includes this CPU time

    def waited(self, real_s: float) -> None:
        """Exclude these real seconds, in which the command only waited for another command."""
        self._waited_s += real_s

    @property
    def is_new(self) -> bool:
        """Whether the command began a new result instead of resuming an earlier one."""
        return self._is_new

    @property
    def real_s(self) -> float:
        """The real seconds since the command began, except the time in which it waited for other
        commands.
        """
        return time.monotonic() - self._began_s - self._waited_s

    def end(self, lab: Settings) -> None:
        """Write the duration of the command, and store the measured costs."""
        folder, estimate = self._folder, self._estimate
        own_s = time.process_time() - self._own_s
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        children_s = children.ru_utime + children.ru_stime - self._children_s
        if folder is not None and self._content and estimate is not None:
            spread_s = 0.0 if self._live_s else children_s / estimate.processes
            self._content |= {
                "took_s": round(self.real_s, 2),
                "idle_s": round(self._live_s + own_s + spread_s, 2),
            }
            self._write()
        if folder is not None:
            speeds.keep(lab, speeds.per_unit(self._measured))
        self._began_s, self._own_s = time.monotonic(), time.process_time()
        self._children_s += children_s
        self._is_first = False
        self._clear()

    def _write(self) -> None:
        assert self._folder is not None
        with contextlib.suppress(OSError):  # a full disk must not end a run
            write_json(self._folder / FILE, self._content)


stopwatch = Stopwatch()
"""The only stopwatch of this process, because a command carries out one experiment at a time."""
