"""A session of the partly-open model, whose interactions use one connection.

A session requests a page and its images, pauses, and requests the next page (eDragon, section 4).
After a timeout, the session closes the connection and repeats the request over a new one.
"""

from functools import partial

import gevent

from loadgen.customers.client import judge_cover
from loadgen.customers.connection import ShopAddress
from loadgen.customers.shop_pages import PageRequest, Shopper, covers
from loadgen.customers.visitor import (
    AttemptObserver,
    ConnectionObserver,
    Judge,
    PlannedAttempt,
    Visitor,
    ended_s,
)
from loadgen.records.attempts import AttemptOutcome, not_generated
from loadgen.schedule import RunClock
from loadgen.workload.partly_open import IMAGE, Partly


class PersistentSession:
    """The session with a given number; `run` plays it in the calling greenlet."""

    def __init__(
        self,
        session: int,
        sessions: Partly,
        shopper: Shopper,
        address: ShopAddress,
        clock: RunClock,
        observer: AttemptObserver,
        connections: ConnectionObserver,
    ) -> None:
        self._session = session
        self._sessions = sessions
        self._shopper = shopper
        self._visitor = Visitor(session, address, clock, observer, connections)
        self._clock = clock
        self._observer = observer
        self._covers: list[str] = []
        self._asked = 0
        """The number of interactions for which at least one attempt has ended."""

    def run(self, arrival_s: float, stop_s: float | None = None) -> bool:
        """Play the session that is due at `arrival_s`, in paper seconds; return True if every reply
        arrived.

        At `stop_s`, the session is cut off and its connection closed. All pages for which no
        attempt has ended then count as not generated.
        """
        pages = self._sessions.pages(self._session)
        left_s = None if stop_s is None else self._clock.real_s(stop_s - self._clock.now_s())
        cut = gevent.Timeout.start_new(left_s)  # None: never
        try:
            # The timeout fires only when other greenlets run.
            if left_s is not None and left_s <= 0:
                return False
            return self._interactions(pages, arrival_s)
        except gevent.Timeout as ended:
            if ended is not cut:
                raise
            return False
        finally:
            cut.close()
            self._visitor.leave()
            for later in range(self._asked, len(pages)):
                self._observer(not_generated(self._session, later, pages[later]), None, None)

    def _interactions(self, pages: tuple[str, ...], arrival_s: float) -> bool:
        due_s = arrival_s
        for step, page in enumerate(pages):
            think_s = self._sessions.think_time_s(self._session, step)
            if think_s:
                due_s += think_s
                self._clock.sleep_until(due_s)
            following = pages[step + 1] if step + 1 < len(pages) else None
            read = partial(self._read, page, following)
            answered_s = self._get(step, page, self._shopper.request(page), read, due_s)
            if answered_s is None:
                return False
            for request in self._images(step):
                answered_s = self._get(step, IMAGE, request, judge_cover, answered_s)
                if answered_s is None:
                    return False
            due_s = answered_s
        return True

    def _get(
        self, step: int, page: str, request: PageRequest, judge: Judge, due_s: float
    ) -> float | None:
        """Request a page until it arrives; return the time of its arrival, or None if the session
        gives up.

        If an attempt fails because the server closed the connection during the think time, the
        session repeats the request over a new connection. This repetition does not count in
        `reconnects`.
        """
        model = self._sessions.model
        timeouts = nth = 0
        while True:
            nth += 1
            planned = PlannedAttempt(step, page, nth, due_s, model.timeout_s)
            attempt = self._visitor.ask(planned, request, judge)
            self._asked = step + 1
            due_s = ended_s(attempt)
            if attempt.outcome == AttemptOutcome.COMPLETED:
                return due_s
            if attempt.outcome == AttemptOutcome.TIMED_OUT:
                timeouts += 1
                if timeouts > model.reconnects:
                    return None
            elif not self._visitor.met_idle_connection:
                return None

    def _read(self, page: str, following: str | None, body: bytes) -> None:
        self._shopper.read(page, body, following)
        self._covers = covers(body)

    def _images(self, step: int) -> list[PageRequest]:
        """Return the requests for the covers, in the page's order. If the page shows too few
        covers, some covers are requested again.

        As in httperf, nothing is cached. A page without covers has no images.
        """
        wanted = self._sessions.images(self._session, step) if self._covers else 0
        return [
            PageRequest("GET", self._covers[image % len(self._covers)]) for image in range(wanted)
        ]
