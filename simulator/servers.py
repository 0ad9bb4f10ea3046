"""The models of a server, and their interface `Server`. `ProcessorSharing` is LIFO-Pri's server
with shared CPUs. `SingleServer` is SBAC's server or the server of an M/M/1 queue.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from typing import Protocol

from loadgen.workload.draws import exponential
from simulator.scenario import FILE_PLACE, SERVED_PAGES, FifoServer, SharedCpus

INF = math.inf

SIZES_PER_CLASS = 9


class Server(Protocol):
    """A model of a server. Request ids are above 0, and times never go backwards."""

    cpus: int
    free: int
    """The number of free workers."""
    next_s: float
    """The time of the next call of `advance`; inf means never."""
    now_s: float
    """The time up to which `advance` has carried out the server's work."""
    slices: int
    """The number of busy slices and waits after whose end the request continued."""
    spent_s: float
    """The server time used by the request that `advance` returned last."""
    rejection_busy_s: float
    """The server time spent on all rejections so far."""

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        """Begin a request. `page` is the index of the page in SERVED_PAGES. `work`, in [0, 1), is
        the quantile of the service time in the page's distribution. A file needs no worker.
        """

    def advance(self, until_s: float) -> int:
        """Carry out the work that is due until `until_s`; return the id of an ended request, or 0.

        The method stops when a request has ended or a worker has become free; `now_s` is then the
        time of that event.
        """

    def spent_until(self, now_s: float, id: int) -> float:
        """Return the server time that a request in service has used so far, in CPU seconds."""

    def cancel(self, now_s: float, id: int) -> None:
        """Stop a request in service; one of the next calls of `advance` returns its id."""

    def reject(self, now_s: float) -> None:
        """Spend the server time of a rejection."""

    def busy_until(self, now_s: float) -> float:
        """Return the server time used so far, in CPU seconds."""


@dataclass(slots=True, eq=False)
class _Execution:
    """A request in service, with its remaining work and its state.

    `finish` is the virtual time at which its busy slice ends, or None during a wait. If
    `is_cancelled` is true, the request's entry in a heap no longer counts.
    """

    id: int
    workers: int
    slices_left: int
    busy_slice_s: float
    wait_s: float
    spent_s: float = 0.0
    finish: float | None = None
    is_cancelled: bool = False


class ProcessorSharing:
    """The simulation of a `SharedCpus`; the interface is `Server`.

    With n requests on c CPUs, each request progresses at rate min(1, c/n). *Virtual time* is the
    progress of a request that has run since the start. A busy slice of b seconds that begins at
    virtual time v ends at v + b, whatever other requests do. With a heap, each event therefore
    costs O(log n).
    """

    def __init__(self, described: SharedCpus) -> None:
        self.cpus = described.cpus
        self.free = described.workers
        self.next_s = math.inf
        self.now_s = 0.0
        self.slices = 0
        self.spent_s = 0.0
        self.rejection_busy_s = 0.0
        self._is_uniform = described.execution_times == "uniform"
        self._spread_ratio = described.spread_ratio
        self._busy_ratio = described.busy_ratio
        self._mean_s = [described.mean_execution_s.get(page, math.nan) for page in SERVED_PAGES]
        # Without waits, all slices of a request form one slice.
        self._slices = 1 if described.busy_ratio == 1 else described.slices
        self._executions: dict[int, _Execution] = {}
        self._cancelled: list[_Execution] = []  # ended at the next `advance`
        self._has_void_entries = False
        # Heaps, ordered by the virtual end of the slice and by the end of the wait.
        self._running: list[tuple[float, int, _Execution]] = []
        self._asleep: list[tuple[float, int, _Execution]] = []
        self._on_cpu = 0
        self._virtual_s = 0.0
        self._busy_s = 0.0

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        mean_s = self._mean_s[page]
        if self._is_uniform:
            execution_s = mean_s * (1 + self._spread_ratio * (2 * work - 1))
        else:
            execution_s = exponential(work, mean_s)
        slice_s = execution_s / self._slices
        busy_s = slice_s * self._busy_ratio
        workers = 0 if page == FILE_PLACE else 1
        execution = _Execution(id, workers, self._slices, busy_s, slice_s - busy_s)
        self._executions[id] = execution
        self.free -= workers
        self._pass_time(now_s)
        running = self._running
        if not self._on_cpu:
            self._virtual_s = 0.0
            running.clear()
        self._on_cpu += 1
        execution.finish = self._virtual_s + busy_s
        heappush(running, (execution.finish, id, execution))
        self._plan()

    def advance(self, until_s: float) -> int:
        if self._cancelled:
            return self._end_cancelled()
        # Most of a simulation's events are in this loop. For speed, the state is in local
        # variables, and the steps of `_pass_time`, `start` and `_plan` are repeated here.
        running, asleep, cpus = self._running, self._asleep, self.cpus
        on_cpu, virtual_s, busy_s = self._on_cpu, self._virtual_s, self._busy_s
        has_void_entries = self._has_void_entries
        before_s, now_s = self.now_s, self.next_s
        slices = 0
        while True:
            if on_cpu > cpus:
                elapsed_s = now_s - before_s
                virtual_s += elapsed_s * cpus / on_cpu
                busy_s += elapsed_s * cpus
            elif on_cpu:
                elapsed_s = now_s - before_s
                virtual_s += elapsed_s
                busy_s += elapsed_s * on_cpu
            before_s = now_s
            if asleep and asleep[0][0] <= now_s:
                _, id, execution = heappop(asleep)
                is_over = not execution.slices_left
                if not is_over:
                    if not on_cpu:
                        # no slice is in progress, so a restart of virtual time loses no digits
                        virtual_s = 0.0
                        running.clear()  # only void entries
                    on_cpu += 1
                    execution.finish = finish = virtual_s + execution.busy_slice_s
                    heappush(running, (finish, id, execution))
            else:
                virtual_s, id, execution = heappop(running)
                on_cpu -= 1
                execution.finish = None
                execution.spent_s += execution.busy_slice_s
                execution.slices_left -= 1
                is_over = not execution.wait_s
                if not is_over:
                    heappush(asleep, (now_s + execution.wait_s, id, execution))
            if has_void_entries:
                self._drop_void_entries()
            next_s = asleep[0][0] if asleep else INF
            if running:
                end_s = now_s
                slice_s = running[0][0] - virtual_s
                if slice_s > 0:  # otherwise, only a rounding error remains
                    end_s += slice_s * on_cpu / cpus if on_cpu > cpus else slice_s
                if end_s < next_s:
                    next_s = end_s
            if is_over:
                break
            slices += 1
            if next_s > until_s:
                break
            now_s = next_s
        self._on_cpu, self._virtual_s, self._busy_s = on_cpu, virtual_s, busy_s
        self.now_s, self.next_s = now_s, next_s
        self.slices += slices
        return self._end(execution) if is_over else 0

    def _end_cancelled(self) -> int:
        self._pass_time(self.next_s)
        execution = self._cancelled.pop()
        self._plan()
        return self._end(execution)

    def _end(self, execution: _Execution) -> int:
        id = execution.id
        del self._executions[id]
        self.free += execution.workers
        self.spent_s = execution.spent_s
        return id

    def spent_until(self, now_s: float, id: int) -> float:
        self._pass_time(now_s)
        execution = self._executions[id]
        if execution.finish is None:
            return execution.spent_s
        left_s = max(0.0, execution.finish - self._virtual_s)
        return execution.spent_s + (execution.busy_slice_s - left_s)

    def cancel(self, now_s: float, id: int) -> None:
        execution = self._executions[id]
        execution.spent_s = self.spent_until(now_s, id)
        if execution.finish is not None:
            self._on_cpu -= 1
        execution.is_cancelled = self._has_void_entries = True
        self._cancelled.append(execution)
        self._plan()

    def reject(self, now_s: float) -> None:
        """Do nothing: the gateway in front of this server answers rejected requests."""

    def busy_until(self, now_s: float) -> float:
        self._pass_time(now_s)
        return self._busy_s

    def _pass_time(self, now_s: float) -> None:
        """Update the progress for the time since the last event."""
        n = self._on_cpu
        if n:
            elapsed_s = now_s - self.now_s
            if n > self.cpus:
                self._virtual_s += elapsed_s * self.cpus / n
                self._busy_s += elapsed_s * self.cpus
            else:
                self._virtual_s += elapsed_s
                self._busy_s += elapsed_s * n
        self.now_s = now_s

    def _plan(self) -> None:
        if self._cancelled:
            self.next_s = self.now_s
            return
        running, asleep = self._running, self._asleep
        if self._has_void_entries:
            self._drop_void_entries()
        next_s = asleep[0][0] if asleep else INF
        if running:
            end_s = self.now_s
            slice_s = running[0][0] - self._virtual_s
            if slice_s > 0:  # otherwise, only a rounding error remains
                n = self._on_cpu
                end_s += slice_s * n / self.cpus if n > self.cpus else slice_s
            if end_s < next_s:
                next_s = end_s
        self.next_s = next_s

    def _drop_void_entries(self) -> None:
        """Remove cancelled requests from the tops of the heaps."""
        for heap in (self._running, self._asleep):
            while heap and heap[0][2].is_cancelled:
                heappop(heap)


class SingleServer:
    """The simulation of a `FifoServer`; the interface is `Server`.

    A rejection is served after the request in service, but before all requests in the queue.
    """

    cpus = 1

    def __init__(self, described: FifoServer) -> None:
        self.free = 1
        self.next_s = math.inf
        self.now_s = 0.0
        self.slices = 0
        self.spent_s = 0.0
        self.rejection_busy_s = 0.0
        self._mean_s = 1 / described.capacity_rps
        self._is_exponential = described.service_times == "exponential"
        self._uppers, self._services_s = file_service_times(described)
        is_free = described.rejection == "free"
        self._rejection_s = 0.0 if is_free else described.rejection_cost * self._mean_s
        self._id = 0
        self._began_s = 0.0
        self._backlog_s = 0.0  # rejections that wait for the request in service to end
        self._busy_s = 0.0

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        if self._is_exponential:
            service_s = -math.log1p(-work) * self._mean_s  # `exponential`, without a call
        else:
            service_s = self._services_s[bisect_right(self._uppers, work)]
        self._id = id
        self._began_s = now_s
        self.free = 0
        self.next_s = now_s + service_s

    def advance(self, until_s: float) -> int:
        id = self._id
        self.now_s = now_s = self.next_s
        self.spent_s = spent_s = now_s - self._began_s
        self._busy_s += spent_s
        if id:
            self._id = 0
            if self._backlog_s:
                self._began_s = now_s
                self.next_s = now_s + self._backlog_s
                self._backlog_s = 0.0
                return id
        else:
            self.rejection_busy_s += spent_s
        self.next_s = math.inf
        self.free = 1
        return id

    def spent_until(self, now_s: float, id: int) -> float:
        return now_s - self._began_s

    def cancel(self, now_s: float, id: int) -> None:
        self.next_s = now_s

    def reject(self, now_s: float) -> None:
        if self._rejection_s == 0:
            return
        if self._id:
            self._backlog_s += self._rejection_s
        elif self.free:
            self.free = 0
            self._began_s = now_s
            self.next_s = now_s + self._rejection_s
        else:
            self.next_s += self._rejection_s

    def busy_until(self, now_s: float) -> float:
        return self._busy_s if self.free else self._busy_s + now_s - self._began_s


def file_service_times(described: FifoServer) -> tuple[list[float], list[float]]:
    """Divide [0, 1) into a part for each file. Return two lists: the upper ends of the parts,
    without the last end, and the service time of each file.

    All files of a class are equally likely; a file of mean size takes 1 / `capacity_rps`.
    """
    shares, sizes = [], []
    for share, smallest, largest in described.file_classes:
        step = (largest - smallest) / (SIZES_PER_CLASS - 1)
        for i in range(SIZES_PER_CLASS):
            shares.append(share / SIZES_PER_CLASS)
            sizes.append(smallest + i * step)
    mean = math.fsum(share * size for share, size in zip(shares, sizes, strict=True))
    services_s = [size / mean / described.capacity_rps for size in sizes]
    return list(accumulate(shares))[:-1], services_s
