"""The next action of a customer after an answer, a failure or the end of the patience."""

import math
from heapq import heappush

from loadgen.records.attempts import AttemptOutcome
from loadgen.workload.clients import Clients
from simulator.record import Record
from simulator.result import SessionFate
from simulator.scenario import FILE_PLACE, Scenario
from simulator.sessions import Session


class Conduct:
    """The customers with sessions in progress, and their actions."""

    def __init__(self, scenario: Scenario, record: Record) -> None:
        self.due: list[tuple[float, int, Session]] = []
        """A heap with the next request of each session: (time, number of the session, session)."""
        self.sessions_ended = 0
        self._customers = scenario.customers
        self._record = record
        is_closed = isinstance(scenario.customers, Clients)
        until_s = scenario.arrivals_until_s
        self._asks_until_s = until_s if is_closed and until_s is not None else math.inf

    def answered(self, now_s: float, session: Session, place: int) -> None:
        """Record an answer that came in time. Plan the next request, or end the session after its
        last request.
        """
        record = self._record
        record.completed[session.index] += 1
        if record.is_logged:
            record.write(now_s, session, AttemptOutcome.COMPLETED, 200)
        session.awaits = 0
        session.attempt = 1
        session.step = step = session.step + 1
        index = session.index
        if step == session.length:
            self._session_ended(now_s, session, SessionFate.COMPLETED)
            return
        if place != FILE_PLACE:  # the answer to a file request sets no cookie
            session.is_new = False
        self.ask_at(now_s + self._customers.think_time_s(index, step), session)

    def failed(
        self, now_s: float, session: Session, outcome: AttemptOutcome, fate: SessionFate
    ) -> None:
        """Record that the request failed. A customer's session then ends; a client of a closed loop
        continues with its next request.
        """
        session.awaits = 0
        self._record.attempt_failed(now_s, session, outcome, 503)
        if isinstance(self._customers, Clients):
            self._take_turn(now_s, self._customers, session, left=False)
        else:
            self._session_ended(now_s, session, fate)

    def left(self, now_s: float, session: Session) -> None:
        """Let the customer, whose connection is now closed, try again or leave for good."""
        customers = self._customers
        if isinstance(customers, Clients):
            self._take_turn(now_s, customers, session, left=True)
        elif customers.retries(session.index, session.step, session.attempt):
            session.attempt += 1
            if session.is_new:  # the policy cannot link the next attempt to this one
                session.name = f"{session.index}.{session.attempt}"
            self.ask_at(now_s, session)
        else:
            self._session_ended(now_s, session, SessionFate.TIMED_OUT)

    def ask_at(self, send_s: float, session: Session) -> None:
        """Plan the session's next request. From `arrivals_until_s` on, clients of a closed loop
        send no requests.
        """
        if send_s < self._asks_until_s:
            heappush(self.due, (send_s, session.index, session))

    def _take_turn(self, now_s: float, clients: Clients, session: Session, *, left: bool) -> None:
        """Let a client that got no answer repeat the request, or send its next one later."""
        step, attempt, pause_s = clients.after(session.index, session.step, session.attempt, left)
        session.step, session.attempt = step, attempt
        if session.is_new:  # the policy cannot link the next attempt to this one
            session.name = f"{session.index}.{step}.{attempt}"
        self.ask_at(now_s + pause_s, session)

    def _session_ended(self, now_s: float, session: Session, fate: SessionFate) -> None:
        self.sessions_ended += 1
        self._record.session_ended(now_s, session, fate)
