"""The same customers and servers written for SimPy, as an oracle.

The module uses nothing of the simulator's engine: customers are processes, the queue is a list, and
PS is calculated again for every request at every change.
"""

import math
from collections.abc import Callable, Generator
from typing import Any

import simpy

from gateway.policies import Abandonment
from loadgen.records.attempts import Attempt, AttemptOutcome, not_generated
from loadgen.workload.clients import Clients
from loadgen.workload.sessions import Customers

Draw = Callable[[int, int, int, str], float]
"""(session, step, attempt, page) → seconds."""
Process = Generator[simpy.Event, Any, Any]


class Job:
    """An attempt at the server."""

    def __init__(self, env: simpy.Environment, seconds: float) -> None:
        self.seconds = seconds
        self.left_s = 0.0
        self.over = env.event()
        """The event that succeeds with True when served, False when there was no place."""


class Queue:
    """SQ with `capacity` places and `workers` workers; a subclass defines a worker's service."""

    def __init__(self, env: simpy.Environment, capacity: int, workers: int) -> None:
        self.env = env
        self.capacity = capacity
        self.free = workers
        self.waiting: list[Job] = []

    def submit(self, job: Job) -> None:
        if not self.free and len(self.waiting) >= self.capacity:
            job.over.succeed(False)
        else:
            self.waiting.append(job)
            self.serve_next()

    def leave(self, job: Job) -> None:
        if job in self.waiting:
            self.waiting.remove(job)

    def serve_next(self) -> None:
        while self.free and self.waiting:
            self.free -= 1
            self.env.process(self._serve(self.waiting.pop(0)))

    def _serve(self, job: Job) -> Process:
        yield from self.work(job)
        self.free += 1
        job.over.succeed(True)
        self.serve_next()

    def work(self, job: Job) -> Process:
        raise NotImplementedError


class OneAtATime(Queue):
    """The FIFO server."""

    def __init__(self, env: simpy.Environment, capacity: int) -> None:
        super().__init__(env, capacity, 1)

    def work(self, job: Job) -> Process:
        yield self.env.timeout(job.seconds)


class Shared(Queue):
    """Processor sharing of the busy slices, with waits between them."""

    def __init__(
        self,
        env: simpy.Environment,
        capacity: int,
        workers: int,
        *,
        cpus: int,
        busy_ratio: float,
        slices: int,
    ) -> None:
        super().__init__(env, capacity, workers)
        self.cpus = cpus
        self.busy_ratio = busy_ratio
        self.slices = slices
        self.running: dict[Job, simpy.Event] = {}
        self.changed_s = 0.0
        self.version = 0

    def work(self, job: Job) -> Process:
        for _ in range(self.slices):
            self._progress()
            job.left_s = job.seconds / self.slices * self.busy_ratio
            done = self.running[job] = self.env.event()
            self._plan()
            yield done
            if self.busy_ratio < 1:
                yield self.env.timeout(job.seconds / self.slices * (1 - self.busy_ratio))

    def _progress(self) -> None:
        elapsed_s = self.env.now - self.changed_s
        self.changed_s = self.env.now
        for job in self.running:
            job.left_s -= elapsed_s * min(1.0, self.cpus / len(self.running))

    def _plan(self) -> None:
        self.version += 1
        if self.running:
            job = min(self.running, key=lambda job: job.left_s)
            pace = max(1.0, len(self.running) / self.cpus)
            self.env.process(self._finish(job, max(0.0, job.left_s * pace), self.version))

    def _finish(self, job: Job, after_s: float, version: int) -> Process:
        yield self.env.timeout(after_s)
        if version == self.version:
            self._progress()
            self.running.pop(job).succeed()
            self._plan()


class Beside(Queue):
    """A separate queue on the CPUs of another one, for requests outside the eight pages."""

    def __init__(self, env: simpy.Environment, shared: Shared) -> None:
        super().__init__(env, 256, 4)
        self._shared = shared

    def work(self, job: Job) -> Process:
        yield from self._shared.work(job)


class _Asking:
    """Customers, or clients, at the queue of a page, and the rows of their log."""

    def __init__(
        self,
        env: simpy.Environment,
        customers: Customers | Clients,
        queue_of: Callable[[str], Queue],
        seconds: Draw,
        abandonment: Abandonment,
    ) -> None:
        self.env = env
        self.rows: list[Attempt] = []
        self._customers = customers
        self._queue_of = queue_of
        self._seconds = seconds
        self._abandonment = abandonment

    def ask(self, session: int, step: int, page: str, attempt: int) -> Process:
        """Make one attempt; return its outcome."""
        sent_s = self.env.now
        queue = self._queue_of(page)
        job = Job(self.env, self._seconds(session, step, attempt, page))
        queue.submit(job)
        patience_s = self._customers.patience_s(session, step, attempt)
        if math.isinf(patience_s):
            yield job.over
        else:
            yield job.over | self.env.timeout(patience_s)
        if job.over.triggered:
            served = job.over.value
            outcome = AttemptOutcome.COMPLETED if served else AttemptOutcome.DROPPED
        else:
            outcome = AttemptOutcome.TIMED_OUT
            if self._abandonment == "drop-queued":
                queue.leave(job)
        status = {AttemptOutcome.COMPLETED: 200, AttemptOutcome.DROPPED: 503}.get(outcome, 0)
        now_s = self.env.now
        self.rows.append(
            Attempt(
                session, step, page, attempt, sent_s, sent_s, now_s, patience_s, outcome, status
            )
        )
        return outcome

    def log(self) -> list[Attempt]:
        """Run to the end; return the rows in the order of a log."""
        self.env.run()
        return sorted(self.rows, key=lambda row: row[:4])


def attempts(
    customers: Customers,
    sessions: int,
    queue: Callable[[simpy.Environment], Queue],
    seconds: Draw,
    *,
    abandonment: Abandonment = "ignore",
) -> list[Attempt]:
    """Return the log of `sessions` customers at the server that `queue` makes, in a log's order."""
    env = simpy.Environment()
    server = queue(env)
    asking = _Asking(env, customers, lambda page: server, seconds, abandonment)

    def come(session: int) -> Process:
        walk = customers.walk(session)
        for step, page in enumerate(walk):
            think_s = customers.think_time_s(session, step)
            if think_s:
                yield env.timeout(think_s)
            attempt = 1
            while True:
                outcome = yield from asking.ask(session, step, page, attempt)
                again = outcome is AttemptOutcome.TIMED_OUT
                if not again or not customers.retries(session, step, attempt):
                    break
                attempt += 1
            if outcome is not AttemptOutcome.COMPLETED:
                asking.rows.extend(
                    not_generated(session, s, walk[s]) for s in range(step + 1, len(walk))
                )
                return

    def arrive() -> Process:
        for session, time_s in zip(range(sessions), customers.arrivals(), strict=False):
            yield env.timeout(time_s - env.now)
            env.process(come(session))

    env.process(arrive())
    return asking.log()


def client_attempts(
    clients: Clients,
    until_s: float,
    shared: Callable[[simpy.Environment], Shared],
    seconds: Draw,
    *,
    abandonment: Abandonment = "ignore",
) -> list[Attempt]:
    """Return the log of the closed loop whose clients begin no request at or after `until_s`."""
    env = simpy.Environment()
    pages = shared(env)
    files = Beside(env, pages)
    asking = _Asking(
        env, clients, lambda page: files if page == "file" else pages, seconds, abandonment
    )

    def play(client: int) -> Process:
        step, attempt, pause_s = clients.first(client)
        while env.now + pause_s < until_s:
            yield env.timeout(pause_s)
            page = clients.page(client, step)
            outcome = yield from asking.ask(client, step, page, attempt)
            left = outcome is AttemptOutcome.TIMED_OUT
            step, attempt, pause_s = clients.after(client, step, attempt, left)

    for client in range(clients.count):
        env.process(play(client))
    return asking.log()
