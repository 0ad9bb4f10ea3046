"""The queues in which requests wait: the policy's queue for the eight pages, and bypasses."""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable

from gateway.clock import PaperClock
from gateway.http.exchange import Exchange, IllegalMoveError
from gateway.policies import Abandonment
from gateway.policies.interface import FATES, Drop, LoadSample, Outcome, Policy, Reject
from gateway.queues.dispatcher import Dispatcher

log = logging.getLogger("gateway.queues")

Serve = Callable[[Exchange], None]
Observe = Callable[[Exchange, str], None]


def _told(exchange: Exchange, tell: Callable[[], bool | None]) -> bool | None:
    """Pass a queue's decision to an exchange, and return the exchange's answer.

    If the exchange raises IllegalMoveError, this function ends the exchange and returns None,
    because a fault must not stop other requests.
    """
    try:
        return tell()
    except IllegalMoveError:
        log.exception("a request was ended after a fault in the gateway")
        exchange.break_off()
        return None


class PolicyQueue:
    """The policy's queue, for the eight pages; the policy decides about each request.

    `serve` sends a request to the shop. Whenever a request ends, `observe` is called with the
    request and the name of its fate.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: PaperClock,
        policy: Policy,
        *,
        workers: int,
        serve: Serve,
        observe: Observe,
        abandonment: Abandonment = "ignore",
    ) -> None:
        self._loop = loop
        self._clock = clock
        self._serve = serve
        self._observe = observe
        self._exchanges: dict[int, Exchange] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s: float | None = None
        self.dispatcher = Dispatcher(
            policy, workers=workers, clock_s=clock, host=self, abandonment=abandonment
        )

    @property
    def requests(self) -> int:
        """The number of requests that wait or are in service."""
        return len(self._exchanges)

    def has_left(self, id: int) -> bool:
        """Return whether the customer of this request has left. The request must wait or be in
        service.
        """
        return self._exchanges[id].has_left

    # ---- calls of exchanges --------------------------------------------------------------------

    def submit(self, exchange: Exchange) -> None:
        page, session = exchange.page, exchange.session
        assert page is not None
        assert session is not None
        id = exchange.id = self.dispatcher.new_id()
        exchange.arrived_s = self._clock()
        self._exchanges[id] = exchange
        self.dispatcher.submit(
            id,
            page,
            session=session.id,
            session_is_new=session.is_new,
            attempt=exchange.head.attempt,
        )
        self.set_timer()

    def finished(self, exchange: Exchange, outcome: Outcome) -> None:
        del self._exchanges[exchange.id]
        self._observe(exchange, outcome)
        self.dispatcher.finished(exchange.id, outcome)
        self.set_timer()

    def left(self, exchange: Exchange) -> None:
        self.dispatcher.client_left(exchange.id)
        self.set_timer()

    # ---- calls of the dispatcher ---------------------------------------------------------------

    def start(self, id: int) -> None:
        exchange = self._exchanges[id]
        is_wanted = _told(exchange, exchange.start)
        if is_wanted:
            self._serve(exchange)
        elif is_wanted is None:
            self.finished(exchange, Outcome.FAILED)

    def refuse(self, id: int, verdict: Drop | Reject) -> None:
        exchange = self._exchanges.pop(id)
        if isinstance(verdict, Reject):
            self._observe(exchange, "rejected")
            retry_after_s = self._clock.real_s(verdict.retry_after_s)
            _told(exchange, lambda: exchange.rejected(verdict.reason, retry_after_s))
        else:
            self._observe(exchange, "dropped")
            _told(exchange, lambda: exchange.dropped(verdict.reason))

    def cancel(self, id: int) -> None:
        exchange = self._exchanges.get(id)
        if exchange is not None:
            exchange.cancel()

    def withdraw(self, id: int) -> None:
        exchange = self._exchanges.pop(id)
        self._observe(exchange, "withdrawn")
        _told(exchange, exchange.withdrawn)

    # ---- calls of the gateway's controller -----------------------------------------------------

    def load_sample(self, sample: LoadSample) -> None:
        self.dispatcher.load_sample(sample)
        self.set_timer()

    def switch(self, policy: Policy) -> None:
        self.dispatcher.switch(policy)
        self.set_timer()

    def set_time_scale(self, scale: float) -> None:
        """Change the time scale, and set the timer again."""
        self._clock.scale = scale
        self._timer_s = None
        self.set_timer()

    def set_timer(self) -> None:
        """Set the timer to the next time that the policy or the observer needs."""
        due_s = self.dispatcher.next_timer_s()
        if due_s == self._timer_s:
            return
        self._timer_s = due_s
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due_s is not None:
            delay_s = max(0.0, self._clock.real_s(due_s - self._clock()))
            self._timer = self._loop.call_later(delay_s, self._tick)

    def _tick(self) -> None:
        due_s, self._timer, self._timer_s = self._timer_s, None, None
        assert due_s is not None
        self.dispatcher.tick(due_s)
        self.set_timer()


class BypassQueue:
    """A bypass's FIFO queue, with at most `limit` requests in service and `capacity` waiting."""

    def __init__(
        self,
        clock: PaperClock,
        *,
        limit: int,
        capacity: int,
        serve: Serve,
        observe: Observe,
        abandonment: Abandonment = "ignore",
    ) -> None:
        self.abandonment = abandonment
        self._clock = clock
        self._limit = limit
        self._capacity = capacity
        self._serve = serve
        self._observe = observe
        self._waiting: deque[Exchange] = deque()
        self._fates: Counter[str] = Counter()
        self._is_offering = False
        self.in_service = 0

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def requests(self) -> int:
        """The number of requests that wait or are in service."""
        return self.in_service + len(self._waiting)

    def counts(self) -> dict[str, int]:
        """Return the number of requests since the start for each fate, as for the eight pages."""
        return {fate: self._fates[fate] for fate in FATES}

    def submit(self, exchange: Exchange) -> None:
        exchange.arrived_s = self._clock()
        self._fates["arrived"] += 1
        if self.in_service < self._limit:
            self._start(exchange)
        elif len(self._waiting) < self._capacity:
            self._waiting.append(exchange)
        else:
            self._fates["dropped"] += 1
            self._observe(exchange, "dropped")
            exchange.dropped("too many requests are waiting")

    def finished(self, exchange: Exchange, outcome: Outcome) -> None:
        self._fates[outcome] += 1
        self._observe(exchange, outcome)
        self.in_service -= 1
        if self._is_offering:
            return  # requests that end as soon as they start must not grow the stack
        self._is_offering = True
        try:
            while self._waiting and self.in_service < self._limit:
                self._start(self._waiting.popleft())
        finally:
            self._is_offering = False

    def left(self, exchange: Exchange) -> None:
        is_waiting = exchange in self._waiting
        if is_waiting:
            self._fates["abandoned_waiting"] += 1
        if is_waiting and self.abandonment != "ignore":
            self._waiting.remove(exchange)
            self._fates["withdrawn"] += 1
            self._observe(exchange, "withdrawn")
            exchange.withdrawn()
        elif not is_waiting and self.abandonment == "cancel":
            exchange.cancel()

    def _start(self, exchange: Exchange) -> None:
        self._fates["dispatched"] += 1
        self.in_service += 1
        is_wanted = _told(exchange, exchange.start)
        if is_wanted:
            self._serve(exchange)
        elif is_wanted is None:
            self.finished(exchange, Outcome.FAILED)
