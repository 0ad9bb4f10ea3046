"""One customer's session: pages in the order of the walk, patience, retries, and giving up.

Owns: what happens between a session's arrival and its end (LIFO-Pri, section 3.2.1).
Must not know: Locust, other customers, where the rows go.
"""

from typing import Protocol

from loadgen.attempts import Attempt, AttemptOutcome, not_generated
from loadgen.browser import Browser, Fetched, ShopAddress
from loadgen.schedule import RunClock
from loadgen.sessions import Customers
from loadgen.shop_pages import PageRequest, Shopper, WrongPageError


class Witness(Protocol):
    """Is told of every attempt as it ends; `fetched` is None for a page never asked for."""

    def __call__(
        self, attempt: Attempt, request: PageRequest | None, fetched: Fetched | None
    ) -> None: ...


class CustomerSession:
    """The session of one index; `run` plays it to its end in the calling greenlet."""

    def __init__(
        self,
        session: int,
        customers: Customers,
        shopper: Shopper,
        address: ShopAddress,
        clock: RunClock,
        witness: Witness,
    ) -> None:
        self._session = session
        self._customers = customers
        self._shopper = shopper
        self._browser = Browser(address)
        self._clock = clock
        self._witness = witness

    def run(self, arrival_s: float) -> bool:
        """Plays the session that was to arrive at `arrival_s`, paper s; True if all pages came."""
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
                        self._witness(row, None, None)
                    return False
                due_s = finished_s
            return True
        finally:
            self._browser.close()

    def _page(self, step: int, page: str, following: str | None, due_s: float) -> float | None:
        """Gets one page, with retries; when it was there, or None when the customer gives up."""
        request = self._shopper.request(page)
        attempt = 0
        while True:
            attempt += 1
            patience_s = self._customers.patience_s(self._session, step, attempt)
            started_s = self._clock.now_s()
            fetched = self._browser.fetch(
                request.method,
                request.path,
                request.form,
                attempt,
                self._clock.real_s(patience_s),
            )
            finished_s = self._clock.now_s()
            if fetched.outcome is AttemptOutcome.COMPLETED:
                self._judge(page, fetched, following)
            row = Attempt(
                self._session,
                step,
                page,
                attempt,
                due_s,
                started_s,
                finished_s,
                patience_s,
                fetched.outcome.value,
                fetched.status,
                fetched.request_id,
            )
            self._witness(row, request, fetched)
            if fetched.outcome is AttemptOutcome.COMPLETED:
                return finished_s
            if fetched.outcome is not AttemptOutcome.TIMED_OUT:
                return None
            if not self._customers.retries(self._session, step, attempt):
                return None
            # The retry was due when the patience ended, however late this greenlet woke up.
            due_s = started_s + patience_s

    def _judge(self, page: str, fetched: Fetched, following: str | None) -> None:
        try:
            self._shopper.read(page, fetched.body, following)
        except WrongPageError as error:
            fetched.outcome = AttemptOutcome.FAILED
            fetched.reason = f"wrong page: {error}"
