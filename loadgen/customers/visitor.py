"""The browser of one customer or client, which checks pages and reports attempts to observers."""

from collections.abc import Callable
from typing import NamedTuple

from loadgen.customers.browser import Browser, Fetched, ShopAddress
from loadgen.customers.shop_pages import PageRequest, WrongPageError
from loadgen.records.attempts import Attempt, AttemptOutcome
from loadgen.records.connection_log import ConnectionKind, OpenedConnection
from loadgen.schedule import RunClock

AttemptObserver = Callable[[Attempt, PageRequest | None, Fetched | None], None]
"""A callback at the end of every attempt, and for pages that were never requested, whose request
and result are None.
"""
ConnectionObserver = Callable[[OpenedConnection], None]
Judge = Callable[[bytes], None]
"""A function that checks a received page and raises `WrongPageError` if it is wrong."""


class PlannedAttempt(NamedTuple):
    """A planned attempt of a visitor; its times are paper seconds."""

    step: int
    page: str
    attempt: int
    due_s: float
    patience_s: float


class Visitor:
    """A browser that records its attempts as rows, in which `session` is the visitor's number."""

    def __init__(
        self,
        session: int,
        address: ShopAddress,
        clock: RunClock,
        observer: AttemptObserver,
        connections: ConnectionObserver | None = None,
    ) -> None:
        self._session = session
        self._browser = Browser(address, self._connected if connections else None)
        self._clock = clock
        self._observer = observer
        self._connections = connections
        self.met_idle_connection = False
        """True if the latest attempt failed because the server had closed the connection."""

    def leave(self) -> None:
        self._browser.close()

    def ask(self, planned: PlannedAttempt, request: PageRequest, judge: Judge) -> Attempt:
        """Make the attempt now; it counts as failed if `judge` raises `WrongPageError`."""
        started_s = self._clock.now_s()
        fetched = self._browser.fetch(
            request.method,
            request.path,
            request.form,
            planned.attempt,
            self._clock.real_s(planned.patience_s),
        )
        finished_s = self._clock.now_s()
        self.met_idle_connection = fetched.was_idle
        if fetched.outcome is AttemptOutcome.COMPLETED:
            try:
                judge(fetched.body)
            except WrongPageError as error:
                fetched.outcome = AttemptOutcome.FAILED
                fetched.reason = f"wrong page: {error}"
        attempt = Attempt(
            self._session,
            planned.step,
            planned.page,
            planned.attempt,
            planned.due_s,
            started_s,
            finished_s,
            planned.patience_s,
            fetched.outcome.value,
            fetched.status,
            fetched.request_id,
        )
        self._observer(attempt, request, fetched)
        return attempt

    def _connected(self, kind: ConnectionKind, took_s: float) -> None:
        assert self._connections is not None
        handshake_s = took_s * self._clock.time_scale
        opened_s = self._clock.now_s() - handshake_s
        self._connections(OpenedConnection(self._session, opened_s, kind.value, handshake_s))


def ended_s(attempt: Attempt) -> float:
    """Return the paper time at which the attempt ended, and from which the next attempt may begin.

    After a timeout, this is the time at which the patience ended, even if this process noticed the
    timeout later.
    """
    assert attempt.started_s is not None
    assert attempt.finished_s is not None
    assert attempt.patience_s is not None
    if attempt.outcome == AttemptOutcome.TIMED_OUT:
        return attempt.started_s + attempt.patience_s
    return attempt.finished_s
