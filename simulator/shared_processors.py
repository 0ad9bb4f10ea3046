"""The processors of a hosting platform, shared among applications and the jobs of each."""

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Generic, NamedTuple, TypeVar

Job = TypeVar("Job")


class Grant(NamedTuple):
    """The processors of an application: `whole` ones, and one that it shares with `partner`.

    `partner` is an application's number; None: it shares none.
    """

    whole: int
    partner: int | None = None


class _Lane(Generic[Job]):
    """The jobs of one application; `running` is ordered by the virtual time of their end."""

    __slots__ = ("busy_s", "grant", "rate", "running", "virtual_s")

    def __init__(self) -> None:
        self.grant = Grant(0)
        self.running: list[tuple[float, int, Job]] = []
        self.rate = 0.0
        self.virtual_s = 0.0
        self.busy_s = 0.0


class SharedProcessors(Generic[Job]):
    """Processor sharing within each application, with each job on one processor at most.

    With n jobs on c processors each progresses at rate min(1, c/n). c is the application's grant.
    It has half of a shared processor while its partner has more jobs than whole processors, and the
    whole processor otherwise. With `granted` None, the jobs of all applications share all
    `processors`.

    A job of b seconds begun at its application's virtual time v ends at v + b, however rates change
    meanwhile (see `processor_sharing`). `next_s` is when `advance` must be called next.
    """

    def __init__(self, applications: int, processors: int) -> None:
        self.next_s = math.inf
        self._processors = processors
        self._lanes: list[_Lane[Job]] = [_Lane() for _ in range(applications)]
        self._next_lane = self._lanes[0]
        self._are_pooled = True
        self._since_s = 0.0
        self._started = 0

    def grant(self, now_s: float, grants: Sequence[Grant] | None) -> None:
        """Set every application's grant from now on; None: all share all."""
        self._pass_time(now_s)
        self._are_pooled = grants is None
        for lane, grant in zip(self._lanes, grants or (), strict=not self._are_pooled):
            lane.grant = grant
        self._plan()

    def start(self, now_s: float, application: int, work_s: float, job: Job) -> None:
        """Begin a job of `work_s` CPU seconds."""
        self._pass_time(now_s)
        lane = self._lanes[application]
        if not lane.running:
            lane.virtual_s = 0.0  # no job is measured by it: a new start loses no digits
        self._started += 1
        heappush(lane.running, (lane.virtual_s + work_s, self._started, job))
        self._plan()

    def advance(self, now_s: float) -> Job:
        """Return the job that is done at `next_s`."""
        self._pass_time(now_s)
        lane = self._next_lane
        lane.virtual_s, _, job = heappop(lane.running)
        self._plan()
        return job

    def running(self, application: int) -> int:
        """Return the number of the application's jobs that are not done."""
        return len(self._lanes[application].running)

    def busy_s(self, now_s: float, application: int) -> float:
        """Return the CPU seconds that the application has used so far."""
        self._pass_time(now_s)
        return self._lanes[application].busy_s

    def _pass_time(self, now_s: float) -> None:
        """Account for the time since the last change."""
        elapsed_s = now_s - self._since_s
        if elapsed_s > 0:
            for lane in self._lanes:
                progress_s = elapsed_s * lane.rate
                lane.virtual_s += progress_s
                lane.busy_s += progress_s * len(lane.running)
            self._since_s = now_s

    def _plan(self) -> None:
        """Set every rate, `next_s` and the application of the next job."""
        next_s = math.inf
        common_rate = 1.0
        if self._are_pooled:
            jobs = sum([len(lane.running) for lane in self._lanes])
            if jobs > self._processors:
                common_rate = self._processors / jobs
        for lane in self._lanes:
            running = lane.running
            if not running:
                lane.rate = 0.0
                continue
            rate = lane.rate = common_rate if self._are_pooled else self._granted_rate(lane)
            if rate:
                left_s = running[0][0] - lane.virtual_s
                end_s = self._since_s + left_s / rate if left_s > 0 else self._since_s
                if end_s < next_s:
                    next_s = end_s
                    self._next_lane = lane
        self.next_s = next_s

    def _granted_rate(self, lane: _Lane[Job]) -> float:
        jobs = len(lane.running)
        whole, partner = lane.grant
        if jobs <= whole:
            return 1.0
        if partner is None:
            return whole / jobs
        other = self._lanes[partner]
        is_contested = len(other.running) > other.grant.whole
        capacity = whole + 0.5 if is_contested else whole + 1.0
        return min(1.0, capacity / jobs)
