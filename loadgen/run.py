"""The part of a run that one process plays: it starts sessions on time and records attempts."""

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import gevent
from gevent.event import Event

from loadgen import load_factor
from loadgen.customers.browser import Fetched, ShopAddress
from loadgen.customers.client import ClientPages, ClientProcess
from loadgen.customers.customer import CustomerSession
from loadgen.customers.persistent_session import PersistentSession
from loadgen.customers.shop_pages import PageRequest, Shopper
from loadgen.load_factor import Pace
from loadgen.plan import ClientLoop, ClosedLoop, LoadPlan, Part, PartlyOpen, Sessions
from loadgen.records.attempt_log import AttemptLog
from loadgen.records.attempts import Attempt, AttemptOutcome
from loadgen.records.connection_log import ConnectionLog
from loadgen.schedule import Lag, RunClock
from loadgen.tally import Tally
from loadgen.workload.clients import Clients
from loadgen.workload.partly_open import Partly
from loadgen.workload.sessions import Customers

Reporter = Callable[[Attempt, PageRequest, Fetched], None]
Spawn = Callable[[Callable[[], object]], None]
_T = TypeVar("_T")

_LOOK_FOR_START_EVERY_S = 0.005
_AFTER_FAILURE_S = 1.0
"""The pause of a closed-loop customer after a failed session, in paper seconds."""


class LoadRun:
    def __init__(
        self,
        plan: LoadPlan,
        part: Part,
        address: ShopAddress,
        report: Reporter,
        spawn: Spawn,
    ) -> None:
        """Create a part that calls `report` for every attempt and starts each customer's greenlet
        with `spawn`.
        """
        self.plan = plan
        self.part = part
        self.tally = Tally(part.count(plan.planned), Lag(plan.late_tolerance_s))
        self.log = AttemptLog()
        self.connections = ConnectionLog()
        """The log of connections, which is empty except in a partly-open run."""
        self.clock = RunClock(plan.time_scale)
        self.has_begun = False
        self.pace = Pace()
        self.tally.load_changes = self.pace.changes
        self.finished = Event()
        self._address = address
        self._report = report
        self._spawn = spawn
        self._next_session = part.index
        self._told_rows = {"attempts": 0, "connections": 0}

    def await_start(self) -> None:
        """Wait until the plan's `start_file`, if any, exists."""
        file = self.plan.start_file
        # Not `common.waiting`, because other greenlets must run.
        while file is not None and not file.exists():
            gevent.sleep(_LOOK_FOR_START_EVERY_S)

    def play(self, stop_customers: Callable[[], None]) -> None:
        """Run the part in the calling greenlet. At the end of a capacity measurement,
        `stop_customers` ends the active customers.
        """
        self.has_begun = True
        self.clock.restart()
        load = self.plan.load
        if isinstance(load, ClosedLoop):
            self._play_closed(load)
            stop_customers()
            self.finished.set()
            return
        if isinstance(load, ClientLoop):
            self._start_clients(load)
        elif isinstance(load, PartlyOpen):
            self._start_persistent_sessions(load)
        else:
            self._start_sessions(load)
        if self.tally.planned == 0:
            self.finished.set()
        self.finished.wait()

    def new_rows(self) -> dict[str, list[list[Any]]]:
        """Return the rows since the last call, as columns for `Collector.add`."""
        logs = {"attempts": self.log, "connections": self.connections}
        found = {name: log.columns_since(self._told_rows[name]) for name, log in logs.items()}
        self._told_rows = {name: len(log) for name, log in logs.items()}
        return found

    def _start_clients(self, load: ClientLoop) -> None:
        clients = Clients(load.model, self.plan.seed)
        pages = ClientPages(self.plan.seed)
        play = partial(self._play_client, clients, pages, load.until_s)
        for client in range(self.part.index, clients.count, self.part.of):
            self.tally.started += 1
            self._spawn(partial(play, client))

    def _start_sessions(self, load: Sessions) -> None:
        customers = load.customers(self.plan.seed)
        arrivals = islice(customers.arrivals(), self.plan.planned)
        self._start_at(arrivals, partial(self._play_session, customers))

    def _start_persistent_sessions(self, load: PartlyOpen) -> None:
        sessions = Partly(load.model, self.plan.seed)
        play = partial(self._play_persistent_session, sessions, load.stop_s)
        self._start_at(sessions.arrivals(load.schedule), play)

    def _start_at(self, arrivals: Iterable[float], play: Callable[[int, float], object]) -> None:
        """Start this part's sessions when they are due; `play` gets a session and its due time."""
        of_part = islice(enumerate(arrivals), self.part.index, None, self.part.of)
        for session, arrival_s in of_part:
            due_s = self._sleep_until_due(arrival_s)
            self.tally.started += 1
            self._spawn(partial(play, session, due_s))

    def _sleep_until_due(self, schedule_s: float) -> float:
        file = self.plan.load_factor_file
        while True:
            now_s = self.clock.now_s()
            if file is not None:
                factor = load_factor.read(file, otherwise=self.pace.factor)
                if factor != self.pace.factor:
                    self.pace.change(now_s, factor)
            due_s = self.pace.due_s(schedule_s)
            if due_s <= now_s:
                return due_s
            look_s = now_s + load_factor.LOOK_EVERY_S * self.clock.time_scale
            self.clock.sleep_until(due_s if file is None else min(due_s, look_s))

    def _play_closed(self, closed: ClosedLoop) -> None:
        customers = closed.sessions().customers(self.plan.seed)
        play = partial(self._one_session_after_another, customers)
        for _ in range(self.tally.planned):
            self._spawn(play)
        self.clock.sleep_until(closed.warm_up_s + closed.duration_s)

    def _one_session_after_another(self, customers: Customers) -> None:
        while True:
            session = self._next_session
            self._next_session += self.part.of
            self.tally.started += 1
            if not self._play_session(customers, session, self.clock.now_s()):
                # If no server listens, immediate new sessions would only use CPU time.
                self.clock.sleep_until(self.clock.now_s() + _AFTER_FAILURE_S)

    def _play_session(self, customers: Customers, session: int, arrival_s: float) -> bool:
        customer = CustomerSession(
            session, customers, self._shopper(session), self._address, self.clock, self._saw
        )
        return self._until_ended(partial(customer.run, arrival_s))

    def _play_persistent_session(
        self, sessions: Partly, stop_s: float | None, session: int, arrival_s: float
    ) -> bool:
        played = PersistentSession(
            session,
            sessions,
            self._shopper(session),
            self._address,
            self.clock,
            self._saw,
            self.connections.append,
        )
        return self._until_ended(partial(played.run, arrival_s, stop_s))

    def _shopper(self, session: int) -> Shopper:
        plan = self.plan
        return Shopper(plan.seed, session, plan.account, plan.account_password)

    def _play_client(
        self, clients: Clients, pages: ClientPages, until_s: float, client: int
    ) -> None:
        process = ClientProcess(client, clients, pages, self._address, self.clock, self._saw)
        self._until_ended(partial(process.run, until_s))

    def _until_ended(self, play: Callable[[], _T]) -> _T:
        try:
            result = play()
        except Exception:
            self.tally.broken += 1
            self._ended()
            raise
        # A session that the run's end cuts off raises GreenletExit: it has started, but never
        # ended.
        self._ended()
        return result

    def _ended(self) -> None:
        self.tally.ended += 1
        if not isinstance(self.plan.load, ClosedLoop) and self.tally.ended == self.tally.planned:
            self.finished.set()

    def _saw(self, attempt: Attempt, request: PageRequest | None, fetched: Fetched | None) -> None:
        self.log.append(attempt)
        body = b"" if fetched is None else fetched.body
        self.tally.saw(attempt.page, AttemptOutcome(attempt.outcome), body)
        if attempt.started_s is not None and attempt.intended_s is not None:
            self.tally.lag.saw((attempt.started_s - attempt.intended_s) / self.plan.time_scale)
        if request is not None and fetched is not None:
            self._report(attempt, request, fetched)
