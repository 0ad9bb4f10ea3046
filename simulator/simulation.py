"""The simulation of customers, a policy and a server in virtual time.

The module orders the events. `gateway.policies.driver` drives the policy, `simulator.conduct`
decides the customers' next actions, and the server's model divides the server's time.
"""

import gc
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from heapq import heappop, heappush
from itertools import chain

from gateway.policies.driver import Driver
from gateway.policies.interface import (
    PAGES,
    BrokenPolicyError,
    Drop,
    Outcome,
    Reject,
    Request,
)
from loadgen.records.attempts import AttemptKeeper, AttemptOutcome
from loadgen.workload.clients import Clients
from loadgen.workload.sessions import Customers
from simulator.conduct import Conduct
from simulator.record import Record
from simulator.result import SessionFate, Simulated
from simulator.scenario import FILE, FILE_PLACE, SERVED_PAGES, FifoServer, Scenario
from simulator.servers import ProcessorSharing, Server, SingleServer
from simulator.sessions import NOBODY, Asked, Session, SessionsToCome

__all__ = ["BrokenPolicyError", "SessionFate", "Simulated", "simulate"]

INF = math.inf

Progress = Callable[[float, int], None]
PROGRESS_EVERY = 20_000
"""The number of requests between two calls of `on_progress`."""

IDLE_SAMPLES = 1000
"""The number of load samples in a row at which only waiting requests may remain. After more such
samples, the policy counts as broken.
"""

TIMERS_ON_END = 1000
"""The number of timers in a row that may be due at the same time. After more such timers, the
policy counts as broken.
"""

FILES_IN_SERVICE = 4
"""The maximum number of files in service: the default of the gateway's setting `other_limit`."""

FILES_WAITING = 256
"""The number of places in the queue: the default of the gateway's setting `other_queue`."""

_PatienceEnd = tuple[float, int, Session]
"""The end of a patience, (time, id, session), which counts only if the session still waits for
attempt `id`.
"""

_new_request = tuple.__new__  # the function behind Request(...), which takes half the time
_PLACE = {str(page): place for place, page in enumerate(SERVED_PAGES)}


def simulate(
    scenario: Scenario, *, log: AttemptKeeper | None = None, on_progress: Progress | None = None
) -> Simulated:
    """Simulate the scenario; the same scenario gives exactly the same result.

    Each simulation needs a new policy object. `log` gets a row for each attempt, like the load
    generator's log. About every 20,000 requests, `simulate` calls `on_progress` with the time and
    the number of ended sessions. Raises `BrokenPolicyError` if the policy breaks a rule.
    """
    with no_garbage_collection():
        return _Simulation(scenario, log, on_progress).run()


class _Simulation:
    """The simulation of a scenario. Events at the same time happen in this order:

    - the server's next event;
    - the end of a patience;
    - the policy's timer;
    - a load sample;
    - a request of a session in progress;
    - a new session.

    So an answer at the last moment is in time, and a free worker takes a waiting request before the
    next customer arrives.
    """

    def __init__(
        self, scenario: Scenario, log: AttemptKeeper | None, on_progress: Progress | None
    ) -> None:
        self._scenario = scenario
        self._customers = scenario.customers
        self._server = _server_at_work(scenario)
        self._driver: Driver[Asked] = Driver(scenario.policy, self._server, self)
        self._on_progress = on_progress
        self._record = Record(scenario, self._server, log)
        self._to_come = SessionsToCome(scenario, self._record.expect)
        self._requests = 0
        self._report_at = PROGRESS_EVERY if on_progress else INF
        self._files = _FileBypass(self._server, self._record)
        self._cancelled: set[int] = set()
        self._conduct = Conduct(scenario, self._record)
        self._patience_ends, self._note_patience, self._forget_patience = _ends_of_patience(
            scenario.customers
        )
        customers = scenario.customers
        self._same_patience_s = (
            customers.same_patience_s if isinstance(customers, Customers) else None
        )
        self._is_known_once_admitted = scenario.session_known_from == "admission"

    # ---- the events, in order ------------------------------------------------------------------

    def run(self) -> Simulated:
        server, driver, record = self._server, self._driver, self._record
        policy = driver.policy
        due, patience_ends = self._conduct.due, self._patience_ends
        next_timer_s = policy.next_timer_s
        stop_s = INF if self._scenario.stop_s is None else self._scenario.stop_s
        interval_s = self._scenario.utilisation_interval_s
        to_come = iter(self._to_come)
        coming = next(to_come, NOBODY)
        sample_s = interval_s
        samples = idle_samples = timers_on_end = events = 0
        end_s = 0.0
        for client in self._to_come.clients():
            self._conduct.ask_at(client.arrival_s, client)
        wanted_s = next_timer_s()
        timer_s = INF if wanted_s is None else max(wanted_s, 0.0)
        while True:
            patience_s = patience_ends[0][0] if patience_ends else INF
            send_s = due[0][0] if due else INF
            arrival_s = coming.arrival_s
            now_s = sample_s if sample_s <= patience_s else patience_s
            if timer_s < now_s:
                now_s = timer_s
            if send_s < now_s:
                now_s = send_s
            if arrival_s < now_s:
                now_s = arrival_s
            until_s = now_s if now_s <= stop_s else stop_s
            server_s = server.next_s
            if server_s <= until_s:
                free = server.free
                id = server.advance(until_s)
                if id:
                    idle_samples = 0
                    now_s = server.now_s
                    self._request_ended(now_s, id)
                elif server.free > free:  # the last rejection has been served
                    now_s = server.now_s
                    driver.offer(now_s)
                else:
                    continue  # slices of requests, which a policy does not see
            elif now_s > stop_s:
                end_s = stop_s
                break
            elif now_s == patience_s:
                _, id, session = self._forget_patience()
                if session.awaits != id:
                    continue  # answered in the meantime
                self._patience_ended(now_s, id, session)
            elif now_s == timer_s:
                timers_on_end = timers_on_end + 1 if now_s == end_s else 0
                if timers_on_end > TIMERS_ON_END:
                    raise BrokenPolicyError(
                        f"{policy.name}: next_timer_s returns {wanted_s} repeatedly, and "
                        f"timer_due at {now_s:g} s does not change this"
                    )
                driver.timer_due(now_s)
            elif now_s == sample_s:
                if server_s == send_s == arrival_s == INF:
                    if not driver.waiting:  # everything is over, whatever timer the policy has set
                        break
                    if patience_s == INF:
                        idle_samples += 1
                    if idle_samples > IDLE_SAMPLES:
                        raise BrokenPolicyError(
                            f"{policy.name}: {len(driver.waiting)} requests would wait for ever"
                        )
                samples += 1
                sample_s = (samples + 1) * interval_s
                self._sample(now_s)
            elif now_s == send_s:
                self._send(now_s, heappop(due)[2])
            else:
                session, coming = coming, next(to_come, NOBODY)
                self._send(now_s, session)
            events += 1
            end_s = now_s
            wanted_s = next_timer_s()
            timer_s = INF if wanted_s is None else max(wanted_s, now_s)
        if end_s > samples * interval_s:  # the last interval, which is incomplete
            load = record.load_sample(end_s, self._in_service)
            record.sample(end_s, load, len(driver.in_service))
        for id, (session, _, _) in chain(driver.in_service.items(), self._files.in_service.items()):
            if session.awaits != id:
                record.left_alone(id, server.spent_until(end_s, id))
        return record.result(
            arrived=coming.index if coming is not NOBODY else len(record.spent_s),
            end_s=end_s,
            requests=self._requests,
            events=events + server.slices,
        )

    def _sample(self, now_s: float) -> None:
        driver = self._driver
        load = self._record.load_sample(now_s, self._in_service)
        driver.load_sample(now_s, load)
        self._record.sample(now_s, load, len(driver.in_service))

    @property
    def _in_service(self) -> int:
        return len(self._driver.in_service) + len(self._files.in_service)

    def _send(self, now_s: float, session: Session) -> None:
        id = self._requests = self._requests + 1
        index, step, attempt = session.index, session.step, session.attempt
        place = _PLACE[session.walk[step]]
        session.awaits = id
        session.sent_s = now_s
        patience_s = self._same_patience_s
        if patience_s is None:
            patience_s = self._customers.patience_s(index, step, attempt)
        if patience_s < INF:
            self._note_patience((now_s + patience_s, id, session))
        self._record.arrived[place] += 1
        work = session.work[step] if attempt == 1 else self._to_come.work(session)
        if place == FILE_PLACE:
            if not self._files.submit(now_s, id, (session, place, work)):
                self._record.dropped[place] += 1
                self._conduct.failed(now_s, session, AttemptOutcome.DROPPED, SessionFate.DROPPED)
            return
        request = _new_request(
            Request, (id, PAGES[place], now_s, session.name, session.is_new, attempt)
        )
        self._driver.arrival(now_s, request, (session, place, work))
        if session.is_new and self._is_known_once_admitted and session.awaits:
            session.is_new = False
        if id >= self._report_at and self._on_progress is not None:
            self._report_at += PROGRESS_EVERY
            self._on_progress(now_s, self._conduct.sessions_ended)

    def _request_ended(self, now_s: float, id: int) -> None:
        driver, record = self._driver, self._record
        asked = driver.in_service.get(id)
        is_file = asked is None
        session, place, _ = self._files.in_service[id] if asked is None else asked
        spent_s = self._server.spent_s
        record.spent_s[session.index] += spent_s
        is_awaited = session.awaits == id
        if is_awaited and not is_file and not self._cancelled:  # the usual case
            record.answered[place] += 1
            driver.completion(now_s, id, Outcome.ANSWERED)
            self._conduct.answered(now_s, session, place)
            return
        if not is_awaited:
            record.left_alone(id, spent_s)
        if id in self._cancelled:
            self._cancelled.remove(id)
            outcome = Outcome.CANCELLED
            record.cancelled[place] += 1
        elif is_awaited:
            outcome = Outcome.ANSWERED
            record.answered[place] += 1
        else:
            outcome = Outcome.ORPHANED
            record.orphaned[place] += 1
        if is_file:
            self._files.ended(now_s, id)
        else:
            driver.completion(now_s, id, outcome)
        if outcome is Outcome.ANSWERED:
            self._conduct.answered(now_s, session, place)
        elif is_awaited:  # the policy cancelled it
            self._conduct.failed(now_s, session, AttemptOutcome.FAILED, SessionFate.FAILED)

    def _patience_ended(self, now_s: float, id: int, session: Session) -> None:
        """Let a customer whose patience has ended close the connection, and retry or leave."""
        mode = self._scenario.abandonment
        record, driver, files = self._record, self._driver, self._files
        is_file = session.walk[session.step] == FILE
        asked = (files.waiting if is_file else driver.waiting).get(id)
        if asked is None:
            record.left_in_service(id, self._server.spent_until(now_s, id))
        else:
            record.abandoned_waiting[asked[1]] += 1
        session.awaits = 0
        record.attempt_failed(now_s, session, AttemptOutcome.TIMED_OUT, 0)
        if not is_file:
            driver.abandonment(now_s, id, mode)
        else:
            if mode != "ignore" and id in files.waiting:
                record.withdrawn[files.waiting.pop(id)[1]] += 1
            elif mode == "cancel" and id in files.in_service:
                self.cancel(now_s, id)
            driver.offer(now_s)
        self._conduct.left(now_s, session)

    # ---- as the driver's host ------------------------------------------------------------------

    def start(self, now_s: float, id: int, asked: Asked) -> None:
        """Let the server begin a request that the policy has dispatched."""
        _, place, work = asked
        self._record.dispatched[place] += 1
        self._server.start(now_s, id, place, work)

    def refuse(self, now_s: float, id: int, asked: Asked, verdict: Drop | Reject) -> None:
        session, place, _ = asked
        if type(verdict) is Drop:
            self._record.dropped[place] += 1
            outcome, fate = AttemptOutcome.DROPPED, SessionFate.DROPPED
        else:
            self._record.rejected[place] += 1
            outcome, fate = AttemptOutcome.REJECTED, SessionFate.REJECTED
        if session.awaits == id:
            self._conduct.failed(now_s, session, outcome, fate)

    def rejected(self, now_s: float, number: int) -> None:
        """Let the server spend the time that `number` rejections cost."""
        for _ in range(number):
            self._server.reject(now_s)

    def cancel(self, now_s: float, id: int) -> None:
        """Let the server stop the request, unless it has already been stopped."""
        if id not in self._cancelled:
            self._cancelled.add(id)
            self._server.cancel(now_s, id)

    def withdraw(self, now_s: float, id: int, asked: Asked) -> None:
        """Count a request that left the queue because its customer had left."""
        self._record.withdrawn[asked[1]] += 1


class _FileBypass:
    """The gateway's bypass for files: a queue that drops requests when it is full."""

    def __init__(self, server: Server, record: Record) -> None:
        self.waiting: dict[int, Asked] = {}
        """The waiting requests by id, in the order of arrival."""
        self.in_service: dict[int, Asked] = {}
        self._server = server
        self._record = record

    def submit(self, now_s: float, id: int, asked: Asked) -> bool:
        """Start a file request or let it wait; return False if the queue is full."""
        if len(self.in_service) < FILES_IN_SERVICE:
            self._start(now_s, id, asked)
        elif len(self.waiting) < FILES_WAITING:
            self.waiting[id] = asked
        else:
            return False
        return True

    def ended(self, now_s: float, id: int) -> None:
        """End a file request in service, and start the next one."""
        del self.in_service[id]
        if self.waiting:
            next_id = next(iter(self.waiting))
            self._start(now_s, next_id, self.waiting.pop(next_id))

    def _start(self, now_s: float, id: int, asked: Asked) -> None:
        _, place, work = self.in_service[id] = asked
        self._record.dispatched[place] += 1
        self._server.start(now_s, id, place, work)


def _server_at_work(scenario: Scenario) -> Server:
    if isinstance(scenario.server, FifoServer):
        return SingleServer(scenario.server)
    return ProcessorSharing(scenario.server)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Switch garbage collection off during the block. A simulation creates no reference cycles, and
    the search for cycles would take a sixth of its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _ends_of_patience(
    customers: Customers | Clients,
) -> tuple[Sequence[_PatienceEnd], Callable[[_PatienceEnd], None], Callable[[], _PatienceEnd]]:
    """Return the pending ends of patience, and the functions that add one and remove the earliest.

    Equal patiences end in the order of the attempts, so a queue is sufficient; otherwise, a heap
    holds the ends.
    """
    if isinstance(customers, Customers) and customers.model.think_timeout_mean_s == 0:
        in_order = deque[_PatienceEnd]()
        return in_order, in_order.append, in_order.popleft
    heap: list[_PatienceEnd] = []
    return heap, partial(heappush, heap), partial(heappop, heap)
