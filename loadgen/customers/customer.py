"""A customer's session: pages, patience, retries, and giving up (LIFO-Pri, section 3.2.1)."""

from functools import partial

from loadgen.customers.browser import ShopAddress
from loadgen.customers.shop_pages import Shopper
from loadgen.customers.visitor import AttemptObserver, PlannedAttempt, Visitor, ended_s
from loadgen.records.attempts import AttemptOutcome, not_generated
from loadgen.schedule import RunClock
from loadgen.workload.sessions import Customers


class CustomerSession:
    """The session with a given number; `run` plays it in the calling greenlet."""

    def __init__(
        self,
        session: int,
        customers: Customers,
        shopper: Shopper,
        address: ShopAddress,
        clock: RunClock,
        observer: AttemptObserver,
    ) -> None:
        self._session = session
        self._customers = customers
        self._shopper = shopper
        self._visitor = Visitor(session, address, clock, observer)
        self._clock = clock
        self._observer = observer

    def run(self, arrival_s: float) -> bool:
        """Play the session due at `arrival_s` paper seconds; return whether all pages arrived."""
        walk = self._customers.walk(self._session)
        due_s = arrival_s
        try:
            for step, page in enumerate(walk):
                think_s = self._customers.think_time_s(self._session, step)
                if think_s:
                    due_s += think_s
                    self._clock.sleep_until(due_s)
                following = walk[step + 1] if step + 1 < len(walk) else None
                finished_s = self._page(step, page, following, due_s)
                if finished_s is None:
                    for later in range(step + 1, len(walk)):
                        row = not_generated(self._session, later, walk[later])
                        self._observer(row, None, None)
                    return False
                due_s = finished_s
            return True
        finally:
            self._visitor.leave()

    def _page(self, step: int, page: str, following: str | None, due_s: float) -> float | None:
        """Get a page, with retries; return its arrival time, or None if the customer gives up."""
        request = self._shopper.request(page)
        judge = partial(self._shopper.read, page, following=following)
        nth = 0
        while True:
            nth += 1
            patience_s = self._customers.patience_s(self._session, step, nth)
            attempt = self._visitor.ask(
                PlannedAttempt(step, page, nth, due_s, patience_s), request, judge
            )
            due_s = ended_s(attempt)
            if attempt.outcome == AttemptOutcome.COMPLETED:
                return due_s
            if attempt.outcome != AttemptOutcome.TIMED_OUT:
                return None
            if not self._customers.retries(self._session, step, nth):
                return None
