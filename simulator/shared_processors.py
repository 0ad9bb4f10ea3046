"""The processors of a hosting platform, shared by applications and their jobs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

Job = TypeVar("Job")


class Grant(NamedTuple):
    """The processors of an application: `whole` exclusive processors and, unless `partner` is None,
    a processor that it shares with application number `partner`.
    """

    whole: int
    partner: int | None = None


@dataclass(slots=True, eq=False)
class _Application(Generic[Job]):
    """The jobs of one application; `running` is ordered by the virtual times of the jobs' ends."""

    grant: Grant = field(default_factory=lambda: Grant(0))
    running: list[tuple[float, int, Job]] = field(default_factory=list)
    rate: float = 0.0
    virtual_s: float = 0.0
    busy_s: float = 0.0


class SharedProcessors(Generic[Job]):
    """Processor sharing within each application, with each job on at most one processor.

    With n jobs on c processors, each job progresses at rate min(1, c/n), where c is the
    application's grant. If both partners have more jobs than exclusive processors, each partner
    gets half of the shared processor. Otherwise, one partner may use the whole shared processor.
    Without grants, the jobs of all applications share all `processors`.

    A job of b seconds that begins at its application's virtual time v ends at v + b (see
    `servers.ProcessorSharing`). `next_s` is the time of the next call of `advance`.
    """

    def __init__(self, applications: int, processors: int) -> None:
        self.next_s = math.inf
        self._processors = processors
        self._applications: list[_Application[Job]] = [_Application() for _ in range(applications)]
        self._next = self._applications[0]
        self._are_pooled = True
        self._since_s = 0.0
        self._started = 0

    def grant(self, now_s: float, grants: Sequence[Grant] | None) -> None:
        """Set every application's grant from now on; None means that all applications share all
        processors.
        """
        self._pass_time(now_s)
        self._are_pooled = grants is None
        for one, grant in zip(self._applications, grants or (), strict=not self._are_pooled):
            one.grant = grant
        self._plan()

    def start(self, now_s: float, application: int, work_s: float, job: Job) -> None:
        self._pass_time(now_s)
        one = self._applications[application]
        if not one.running:
            one.virtual_s = 0.0  # without jobs, a restart of virtual time loses no digits
        self._started += 1
        heappush(one.running, (one.virtual_s + work_s, self._started, job))
        self._plan()

    def advance(self, now_s: float) -> Job:
        """Return the job that ends at `next_s`."""
        self._pass_time(now_s)
        one = self._next
        one.virtual_s, _, job = heappop(one.running)
        self._plan()
        return job

    def busy_s(self, now_s: float, application: int) -> float:
        """Return the CPU seconds that the application has used so far."""
        self._pass_time(now_s)
        return self._applications[application].busy_s

    def _pass_time(self, now_s: float) -> None:
        """Update the progress of all jobs since the last change."""
        elapsed_s = now_s - self._since_s
        if elapsed_s > 0:
            for one in self._applications:
                progress_s = elapsed_s * one.rate
                one.virtual_s += progress_s
                one.busy_s += progress_s * len(one.running)
            self._since_s = now_s

    def _plan(self) -> None:
        """Set every rate, `next_s`, and the application whose job ends next."""
        next_s = math.inf
        common_rate = 1.0
        if self._are_pooled:
            jobs = sum([len(one.running) for one in self._applications])
            if jobs > self._processors:
                common_rate = self._processors / jobs
        for one in self._applications:
            running = one.running
            if not running:
                one.rate = 0.0
                continue
            rate = one.rate = common_rate if self._are_pooled else self._granted_rate(one)
            if rate:
                left_s = running[0][0] - one.virtual_s
                end_s = self._since_s + left_s / rate if left_s > 0 else self._since_s
                if end_s < next_s:
                    next_s = end_s
                    self._next = one
        self.next_s = next_s

    def _granted_rate(self, one: _Application[Job]) -> float:
        jobs = len(one.running)
        whole, partner = one.grant
        if jobs <= whole:
            return 1.0
        if partner is None:
            return whole / jobs
        other = self._applications[partner]
        is_contested = len(other.running) > other.grant.whole
        capacity = whole + 0.5 if is_contested else whole + 1.0
        return min(1.0, capacity / jobs)
