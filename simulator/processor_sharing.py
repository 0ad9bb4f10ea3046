"""A server whose requests in service share its CPUs, as LIFO-Pri's does."""

import math
from heapq import heappop, heappush

from loadgen.workload.draws import exponential
from simulator.scenario import FILE_PLACE, SERVED_PAGES, SharedCpus


class _Execution:
    """A request in service: the rest of its work, and its state.

    With `is_running` it is on a CPU (or wants to be); otherwise it waits for its back end.
    `is_cancelled` makes its entry in a heap void.
    """

    __slots__ = (
        "busy_slice_s",
        "finish",
        "id",
        "is_cancelled",
        "is_running",
        "slices_left",
        "spent_s",
        "wait_s",
        "workers",
    )

    def __init__(
        self, id: int, workers: int, slices: int, busy_slice_s: float, wait_s: float
    ) -> None:
        self.id = id
        self.workers = workers
        self.slices_left = slices
        self.busy_slice_s = busy_slice_s
        self.wait_s = wait_s
        self.spent_s = 0.0
        self.finish = 0.0
        self.is_running = False
        self.is_cancelled = False


class ProcessorSharing:
    """The execution of a `SharedCpus`; see `servers.Server`.

    With n requests on c CPUs each progresses at rate min(1, c/n). *Virtual time* is the progress of
    a request that has run since the start, and grows at that rate. A busy slice of b seconds begun
    at virtual time v ends at v + b, whatever other requests come and go meanwhile. One heap by that
    end makes each event O(log n) instead of O(n).
    """

    def __init__(self, described: SharedCpus) -> None:
        self.cpus = described.cpus
        self.free = described.workers
        self.next_s = math.inf
        self.spent_s = 0.0
        self.rejection_busy_s = 0.0
        self._described = described
        self._mean_s = [described.mean_execution_s.get(page, math.nan) for page in SERVED_PAGES]
        # Without waits the slices of a request follow each other: they are one.
        self._slices = 1 if described.busy_ratio == 1 else described.slices
        self._executions: dict[int, _Execution] = {}
        self._cancelled: list[_Execution] = []  # ended at the next `advance`
        self._has_void_entries = False
        self._running: list[tuple[float, int, _Execution]] = []  # by virtual end of the slice
        self._asleep: list[tuple[float, int, _Execution]] = []  # by end of the wait
        self._on_cpu = 0
        self._virtual_s = 0.0
        self._since_s = 0.0
        self._busy_s = 0.0

    def start(self, now_s: float, id: int, page: int, work: float) -> None:
        described = self._described
        if described.execution_times == "uniform":
            execution_s = self._mean_s[page] * (1 + described.spread_ratio * (2 * work - 1))
        else:
            execution_s = exponential(work, self._mean_s[page])
        slice_s = execution_s / self._slices
        busy_s = slice_s * described.busy_ratio
        workers = 0 if page == FILE_PLACE else 1
        execution = _Execution(id, workers, self._slices, busy_s, slice_s - busy_s)
        self._executions[id] = execution
        self.free -= workers
        self._pass_time(now_s)
        self._run(execution)
        self._plan()

    def advance(self, now_s: float) -> int:
        self._pass_time(now_s)
        asleep = self._asleep
        if self._cancelled:
            execution = self._cancelled.pop()
            is_over = True
        elif asleep and asleep[0][0] <= now_s:
            execution = heappop(asleep)[2]
            is_over = not execution.slices_left
            if not is_over:
                self._run(execution)
        else:
            self._virtual_s, _, execution = heappop(self._running)
            self._on_cpu -= 1
            execution.is_running = False
            execution.spent_s += execution.busy_slice_s
            execution.slices_left -= 1
            is_over = not execution.wait_s
            if not is_over:
                heappush(asleep, (now_s + execution.wait_s, execution.id, execution))
        self._plan()
        if not is_over:
            return 0
        del self._executions[execution.id]
        self.free += execution.workers
        self.spent_s = execution.spent_s
        return execution.id

    def spent_until(self, now_s: float, id: int) -> float:
        self._pass_time(now_s)
        execution = self._executions[id]
        if not execution.is_running:
            return execution.spent_s
        left_s = max(0.0, execution.finish - self._virtual_s)
        return execution.spent_s + (execution.busy_slice_s - left_s)

    def cancel(self, now_s: float, id: int) -> None:
        execution = self._executions[id]
        execution.spent_s = self.spent_until(now_s, id)
        if execution.is_running:
            self._on_cpu -= 1
        execution.is_cancelled = self._has_void_entries = True
        self._cancelled.append(execution)
        self._plan()

    def reject(self, now_s: float) -> None:
        """Rejections cost this server nothing: the gateway in front of it answers."""

    def busy_until(self, now_s: float) -> float:
        self._pass_time(now_s)
        return self._busy_s

    def _pass_time(self, now_s: float) -> None:
        """Account for the time since the last event; no request came or went in it."""
        n = self._on_cpu
        if n:
            elapsed_s = now_s - self._since_s
            if n > self.cpus:
                self._virtual_s += elapsed_s * self.cpus / n
                self._busy_s += elapsed_s * self.cpus
            else:
                self._virtual_s += elapsed_s
                self._busy_s += elapsed_s * n
        self._since_s = now_s

    def _run(self, execution: _Execution) -> None:
        if not self._on_cpu:
            self._virtual_s = 0.0  # no slice is measured by it: a new start loses no digits
            self._running.clear()  # only void entries
        self._on_cpu += 1
        execution.is_running = True
        execution.finish = self._virtual_s + execution.busy_slice_s
        heappush(self._running, (execution.finish, execution.id, execution))

    def _plan(self) -> None:
        """Set `next_s`."""
        if self._cancelled:
            self.next_s = self._since_s
            return
        running, asleep = self._running, self._asleep
        if self._has_void_entries:
            self._drop_void_entries()
        next_s = asleep[0][0] if asleep else math.inf
        if running:
            end_s = self._since_s
            slice_s = running[0][0] - self._virtual_s
            if slice_s > 0:  # otherwise it is over, except for rounding
                n = self._on_cpu
                end_s += slice_s * n / self.cpus if n > self.cpus else slice_s
            if end_s < next_s:
                next_s = end_s
        self.next_s = next_s

    def _drop_void_entries(self) -> None:
        """Remove cancelled requests from the beginnings of the heaps."""
        for heap in (self._running, self._asleep):
            while heap and heap[0][2].is_cancelled:
                heappop(heap)
