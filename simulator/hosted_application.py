"""One application of a hosting platform, with its customers, their connections and its threads."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gateway.policies.connection_admission import ConnectionAdmission
from loadgen.workload.draws import address, stream_key, uniform
from loadgen.workload.partly_open import Partly
from simulator.hosting_result import HostedFate, Ledger
from simulator.hosting_scenario import AppScenario, PlatformScenario

SYN_AGAIN_AFTER_S = (3.0, 6.0)
"""The waits before an unanswered SYN is repeated, in seconds, as in Linux 2.6 (RFC 1122)."""


@dataclass(slots=True, eq=False)
class HostedSession:
    """A session in progress.

    `awaits` is the number of the attempt for which the session waits, or 0 if it does not wait.
    Work for any other attempt is orphaned. At `open_until_s`, the server closes the session's idle
    connection. `has_ticket` is True once the next connection can resume a TLS session. `is_resumed`
    is True if the present connection is resumed. `knocks` counts unanswered SYNs.
    """

    index: int
    length: int
    step: int = 0
    attempt: int = 1
    awaits: int = 0
    knocks: int = 0
    asked_s: float = 0.0
    open_until_s: float = -math.inf
    has_ticket: bool = False
    is_resumed: bool = False


class Work(NamedTuple):
    """The work of a thread for an attempt. `opens` is True if the attempt opens a connection, which
    is resumed (`is_resumed`) or new. `is_handshake` is True during a full handshake. The page and
    its images together are `replies` answers and take `page_s` CPU seconds. `busy_s` is the CPU
    time of the thread's present job.
    """

    session: HostedSession
    attempt: int
    opens: bool
    is_resumed: bool
    replies: int
    page_s: float
    is_handshake: bool = False
    busy_s: float = 0.0


class HostedApplication:
    """The simulation of one `AppScenario`. `start_work(now_s, work)` gives a job to the processors;
    call `work_done` when the job is done. `call_back(time_s, session, attempt)` requests a call of
    `called_back` at that time. Call `patience_ended` at the time of the first entry in
    `patience_ends`.
    """

    def __init__(
        self,
        described: AppScenario,
        platform: PlatformScenario,
        seed: int,
        admission: ConnectionAdmission,
        ledger: Ledger,
        start_work: Callable[[float, Work], None],
        call_back: Callable[[float, HostedSession, int], None],
    ) -> None:
        self.admission = admission
        self.ledger = ledger
        self.patience_ends = deque[tuple[float, int, HostedSession]]()
        self.customers = Partly(described.model, seed)
        self._work_key = stream_key(seed, "work")
        self._model = described.model
        costs = platform.costs
        self._full_s = costs.handshake_full_s
        self._resumed_s = costs.handshake_resumed_s
        page_s = costs.page_s(described.model, platform.persistence_s)
        self._page_least_s = page_s * (1 - costs.page_spread_ratio)
        self._page_range_s = page_s * 2 * costs.page_spread_ratio
        self._image_s = page_s * costs.image_ratio
        self._persistence_s = platform.persistence_s
        self._backlog = math.inf if platform.backlog is None else platform.backlog
        self._start_work = start_work
        self._call_back = call_back
        self._free_threads = platform.threads
        self._connections_waiting = 0
        self._waiting = deque[Work]()
        self._attempts = 0

    # ---- customers -----------------------------------------------------------------------------

    def arrived(self, now_s: float, index: int) -> None:
        self.ledger.new_sessions[int(now_s)] += 1
        self.called_back(now_s, HostedSession(index, self.customers.length(index)), 0)

    def called_back(self, now_s: float, session: HostedSession, attempt: int) -> None:
        """Resume a session whose pause is over.

        With attempt 0, the session requests its next page. Otherwise, it tries to connect again for
        `attempt`.
        """
        if not attempt:
            session.attempt = 1
            session.asked_s = now_s
            self._send(now_s, session)
        elif session.awaits == attempt:
            self._connect(now_s, session)

    def patience_ended(self, now_s: float) -> None:
        """Handle the first entry of `patience_ends`; a session that still waits closes its
        connection.
        """
        _, attempt, session = self.patience_ends.popleft()
        if session.awaits != attempt:
            return
        session.awaits = 0
        session.open_until_s = -math.inf
        session.attempt += 1
        if session.attempt > 1 + self._model.reconnects:
            self._ended(HostedFate.TIMED_OUT)
        else:
            self._send(now_s, session)

    def _send(self, now_s: float, session: HostedSession) -> None:
        self._attempts += 1
        session.awaits = self._attempts
        session.knocks = 0
        self.patience_ends.append((now_s + self._model.timeout_s, self._attempts, session))
        if now_s > session.open_until_s:
            self._connect(now_s, session)
        else:
            self._to_thread(now_s, session, opens=False)

    def _connect(self, now_s: float, session: HostedSession) -> None:
        if not self._free_threads and self._connections_waiting >= self._backlog:
            if session.knocks < len(SYN_AGAIN_AFTER_S):
                again_s = now_s + SYN_AGAIN_AFTER_S[session.knocks]
                self._call_back(again_s, session, session.awaits)
            session.knocks += 1
            return
        resumed = session.has_ticket
        is_accepted = self.admission.connection(now_s, resumed=resumed)
        self.ledger.connection(now_s, resumed=resumed, is_accepted=is_accepted)
        if is_accepted:
            session.is_resumed = resumed
            self._to_thread(now_s, session, opens=True)
        else:
            session.awaits = 0
            self._ended(HostedFate.REFUSED)

    def _answered(self, now_s: float, work: Work) -> None:
        session = work.session
        session.awaits = 0
        session.open_until_s = now_s + self._persistence_s
        self.ledger.answered(now_s, work.replies, now_s - session.asked_s)
        session.step += 1
        if session.step == session.length:
            self._ended(HostedFate.COMPLETED)
        else:
            think_s = self.customers.think_time_s(session.index, session.step)
            self._call_back(now_s + think_s, session, 0)

    def _ended(self, fate: HostedFate) -> None:
        self.ledger.sessions[fate] += 1

    # ---- threads -------------------------------------------------------------------------------

    def work_done(self, now_s: float, work: Work) -> None:
        """Take a finished job from the processors, and give the thread its next job."""
        session = work.session
        is_awaited = session.awaits == work.attempt
        if not is_awaited:
            self.ledger.wasted_busy_s += work.busy_s
        elif work.is_handshake:
            session.has_ticket = True
            self._begin(now_s, work._replace(is_handshake=False, busy_s=work.page_s))
            return  # the thread continues with the page
        else:
            self._answered(now_s, work)
        while self._waiting:
            following = self._waiting.popleft()
            self._connections_waiting -= following.opens
            if self._serve(now_s, following):
                return
        self._free_threads += 1

    def _to_thread(self, now_s: float, session: HostedSession, *, opens: bool) -> None:
        images = self.customers.images(session.index, session.step)
        page_s = self._page_s(session) + images * self._image_s
        work = Work(session, session.awaits, opens, session.is_resumed, 1 + images, page_s)
        if self._free_threads:
            self._free_threads -= 1
            self._serve(now_s, work)
        else:
            self._connections_waiting += work.opens
            self._waiting.append(work)

    def _serve(self, now_s: float, work: Work) -> bool:
        """Give work to a thread. Return False if the customer left before the connection had a
        thread.

        A request over an open connection is always read and answered in full.
        """
        session = work.session
        if not work.opens:
            self._begin(now_s, work._replace(busy_s=work.page_s))
            return True
        if session.awaits != work.attempt:
            return False
        self.ledger.connections_served[work.is_resumed] += 1
        if work.is_resumed:
            self._begin(now_s, work._replace(busy_s=self._resumed_s + work.page_s))
        else:
            self._begin(now_s, work._replace(is_handshake=True, busy_s=self._full_s))
        return True

    def _begin(self, now_s: float, work: Work) -> None:
        self.ledger.connections_busy_s[work.is_resumed] += work.busy_s
        self._start_work(now_s, work)

    def _page_s(self, session: HostedSession) -> float:
        """Return the CPU seconds of the session's present page; all attempts to get the page need
        the same time.
        """
        place = uniform(self._work_key, address(session.index, session.step, 0))
        return self._page_least_s + self._page_range_s * place
