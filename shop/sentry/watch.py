"""The state machine of a watched request, protected by a lock.

The state machine decides when a request may be interrupted, and makes sure that an attempt to
cancel affects only the query for which it is meant. Three kinds of threads use it:

- the request's thread,
- the epoll thread, which reports that the client has left,
- the threads that cancel the running query.

They hold `lock` only for a few instructions, except during an attempt to cancel. The request's
thread needs the lock to leave a query. Therefore, no later statement, not even the rollback, can
begin before the attempt is over. If the database does not confirm an attempt, the database session
is closed.
"""

import logging
import threading
import time
from typing import Any, Final, Protocol

from . import meter
from .sockets import has_hung_up, in_child

_logger = logging.getLogger(__name__)

# The first attempt may reach the database before the query, so it is repeated with growing pauses.
# The first pause is above 0, because the request's thread needs the lock and the interpreter to
# report a successful attempt.
FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0


class ClientGone(BaseException):
    """The exception that stops a page whose client has left.

    Like asyncio.CancelledError, it is not an Exception, so that a page's `except Exception` does
    not catch it. SentryMiddleware catches it.
    """


class Session(Protocol):
    """The parts of a psycopg connection that an attempt to cancel uses."""

    info: Any

    def cancel_safe(self, *, timeout: float) -> None: ...


class Cancel:
    """An attempt to cancel one query. `left` is set when the request has left the query;
    `unconfirmed` is True if the database did not confirm the attempt.
    """

    __slots__ = ("left", "unconfirmed")

    def __init__(self) -> None:
        self.left = threading.Event()
        self.unconfirmed = False


class Watch:
    """The state of a request in progress.

    The request's thread must create the object, because the object measures the CPU time of its
    creator. `cancels` is True in mode `cancel`. A request is not stopped before its view is known.
    """

    def __init__(self, fd: int, *, cancels: bool) -> None:
        self.fd = fd
        self.lock = threading.Lock()
        self.gone = False
        self.interrupt = False  # the client has left, and the request may be stopped
        self.finished = False
        self._cancels = cancels
        self._may_cancel = False
        self._committed = False
        self._kept = False
        self._raised = False
        self._running = False  # a query is running
        self._session: Session | None = None  # which can cancel it, if there is one
        self._cancel: Cancel | None = None
        self._database_s = 0.0
        self._query_started_s = 0.0
        self._before = (0.0, 0.0)
        self._clock = _thread_clock()
        self._started_cpu_s = time.clock_gettime(self._clock)

    # -- the client

    def client_left(self) -> Cancel | None:
        """Record that the client has left; return the attempt to cancel its query, or None. The
        caller holds `lock`.
        """
        if self.gone or self.finished:
            return None
        self.gone = True
        self._kept = self._committed
        database_s = self._database_s
        if self._running:
            database_s += time.perf_counter() - self._query_started_s
        cpu_s = time.clock_gettime(self._clock) - self._started_cpu_s
        self._before = (cpu_s, database_s)
        meter.client_left()
        self._decide()
        if not self.interrupt or self._session is None:
            return None
        meter.cancel_attempted()
        self._cancel = Cancel()
        return self._cancel

    def look(self) -> None:
        """Check the socket now, because the epoll thread may be late."""
        with self.lock:
            self._look()

    def _look(self) -> None:
        if not self.gone and has_hung_up(self.fd):
            self.client_left()

    def _decide(self) -> None:
        self.interrupt = self.gone and self._cancels and self._may_cancel and not self._committed

    # -- the page

    def view_is_known(self, may_cancel: bool) -> None:
        """Record whether the view may be cancelled. Raises ClientGone if the request must stop
        now.
        """
        with self.lock:
            self._may_cancel = may_cancel
            self._decide()
        self.check()

    def check(self) -> None:
        if self.interrupt:
            self._raised = True
            raise ClientGone

    def commit_point(self) -> None:
        """Mark the last moment at which this request may be stopped.

        Raises ClientGone if the request must stop; otherwise, it will be finished.
        """
        with self.lock:
            self._look()
            if not self.interrupt:
                self._committed = True
                return
        self.check()

    # -- its queries

    def begin_query(self, session: Session | None) -> bool:
        """Record that a query begins; return False if it is part of a running query.

        `session` is the connection that runs the query, or None if the query cannot be cancelled.
        Raises ClientGone if the request must stop now. It raises this error only once, because a
        page may send queries to clean up.
        """
        with self.lock:
            if self._running:
                return False
            if not self.interrupt or self._raised:
                self._running = True
                self._session = session
                self._query_started_s = time.perf_counter()
                return True
        self._raised = True
        raise ClientGone

    def end_query(self, was_cancelled: bool) -> Cancel | None:
        """Record that the query is over, and wait for the end of any attempt to cancel it; return
        this attempt, or None.

        `was_cancelled` is True if the query failed with the error of a cancelled query.
        """
        with self.lock:
            self._running, self._session = False, None
            self._database_s += time.perf_counter() - self._query_started_s
            cancel, self._cancel = self._cancel, None
        if cancel is None:
            return None
        cancel.left.set()
        if was_cancelled:
            meter.cancel_over("effective")
        else:
            meter.cancel_over("failed" if cancel.unconfirmed else "too_late")
        self._raised = self._raised or was_cancelled or cancel.unconfirmed
        return cancel

    def session_of(self, cancel: Cancel) -> Session | None:
        """Return the session whose query this attempt must cancel; None if the query is over.

        The caller holds `lock`; the request cannot leave the query before the caller releases it.
        """
        return self._session if self._cancel is cancel else None

    def cancel(self, cancel: Cancel, timeout_s: float) -> None:
        """Cancel the query of this attempt; repeat this until the request has left the query.

        The database must confirm each cancel within `timeout_s`. The method runs in a side thread,
        and holds `lock` during each cancel.
        """
        pause_s = FIRST_PAUSE_S
        while True:
            with self.lock:
                session = self.session_of(cancel)
                if session is None:
                    return
                try:
                    session.cancel_safe(timeout=timeout_s)
                except Exception as error:
                    cancel.unconfirmed = True
                    _logger.warning("a query could not be cancelled: %s", error)
            if cancel.left.wait(pause_s):
                return
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    # -- its end

    def finish(self) -> None:
        """End the watch of a finished request, after any attempt to cancel its query."""
        with self.lock:
            if self.finished:
                return
            self.finished = True
        if not self.gone:
            return
        cpu_s = time.clock_gettime(self._clock) - self._started_cpu_s
        before = self._before
        meter.request_over(
            interrupted=self._raised,
            kept=self._kept or not self._may_cancel,
            before=before,
            after=(max(0.0, cpu_s - before[0]), max(0.0, self._database_s - before[1])),
        )


class _Local(threading.local):
    watch: Watch | None = None
    clock: int | None = None


_local = _Local()


def _thread_clock() -> int:
    """Return the CPU clock of the calling thread, which other threads can also read."""
    if _local.clock is None:
        _local.clock = time.pthread_getcpuclockid(threading.get_ident())
    return _local.clock


def _forget() -> None:
    """Reset the state in a forked child, which has no request and another CPU clock."""
    _local.watch = _local.clock = None


in_child(_forget)


def current() -> Watch | None:
    """Return the watched request on which this thread works, or None."""
    return _local.watch


def set_current(watch: Watch | None) -> None:
    _local.watch = watch


def check() -> None:
    """Raise ClientGone if the client of this thread's request has left and the request may be
    stopped.

    Call this once per slice of work without queries; a call costs about 0.1 µs. Outside a watched
    request, the call has no effect.
    """
    watch = _local.watch
    if watch is not None and watch.interrupt:
        watch.check()


def commit_point() -> None:
    """Mark the last moment at which this thread's request may be stopped; call this as the last
    step of a transaction.

    The call checks the socket. If the client has left and the request may be stopped, it raises
    ClientGone, which rolls the transaction back. Otherwise, the request will be finished.
    """
    watch = _local.watch
    if watch is not None:
        watch.commit_point()
