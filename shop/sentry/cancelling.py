"""The threads that cancel the queries of clients that have left.

PostgreSQL starts a process for each cancel message of its protocol. If thirty clients leave at
once, the last cancel would wait for thirty processes. Therefore, one thread keeps a session open,
and cancels the queries of all these clients with one statement (`pg_cancel_backend`). Side threads
send cancel messages if no session can be used, and for queries that continue to run.
"""

import logging
import queue
import select
import threading
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any, Final, NamedTuple

from . import configuration
from .sockets import in_child
from .watch import FIRST_PAUSE_S, Cancel, Watch

_logger = logging.getLogger(__name__)

# A cancel of the protocol takes a few milliseconds; each request has at most one at a time.
_SIDE_THREADS: Final = 32
_CONNECT_S: Final = 2  # psycopg accepts no shorter time
_RECONNECT_S: Final = 10.0
_THREAD_AGAIN_S: Final = 1.0
"""The time until the canceller tries again to start a side thread, in seconds."""
_CANCEL: Final = b"SELECT pg_cancel_backend(pid) FROM unnest($1::int[]) AS pid"


class Attempt(NamedTuple):
    watch: Watch
    cancel: Cancel


class Canceller:
    """The threads that cancel queries in this process; the first attempt starts them."""

    def __init__(self) -> None:
        self._forget()
        in_child(self._forget)

    def _forget(self) -> None:
        """Create an empty state, because a forked child cannot use its parent's threads and
        sessions.
        """
        self._waiting: queue.SimpleQueue[Attempt] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._side_threads = _side_threads()
        self._sessions: dict[object, CancelSession] = {}

    def cancel(self, watch: Watch, cancel: Cancel) -> None:
        """Cancel the running query of this request. Only the epoll thread may call this."""
        self._waiting.put(Attempt(watch, cancel))
        if self._thread is None:
            thread = threading.Thread(target=self._run, name="sentry-cancel", daemon=True)
            thread.start()  # if the process has too many threads, the next attempt tries again
            self._thread = thread

    def _run(self) -> None:
        sent: list[tuple[float, Attempt]] = []  # with the times by which the queries should end
        while True:
            try:
                self._cancel_waiting(sent)
            except Exception:  # this thread must continue for the next attempts
                _logger.exception("a query could not be cancelled")

    def _cancel_waiting(self, sent: list[tuple[float, Attempt]]) -> None:
        """Wait for an attempt or for the earliest time in `sent`; then carry out the attempts that
        are due.
        """
        waiting = []
        with suppress(queue.Empty):
            first_s = min((until_s for until_s, _ in sent), default=None)
            timeout_s = None if first_s is None else max(0.0, first_s - time.monotonic())
            waiting.append(self._waiting.get(timeout=timeout_s))
            while True:
                waiting.append(self._waiting.get_nowait())
        together: dict[CancelSession, list[Attempt]] = {}
        for attempt in waiting:
            session = self._session_for(attempt)
            if session is None:
                self._cancel_aside(attempt, sent)
            else:
                together.setdefault(session, []).append(attempt)
        for session, attempts in together.items():
            cancel_together(attempts, session, configuration.read().cancel_timeout_s)
            until_s = time.monotonic() + FIRST_PAUSE_S
            sent += ((until_s, attempt) for attempt in attempts)
        now_s = time.monotonic()
        due = [attempt for until_s, attempt in sent if until_s <= now_s]
        sent[:] = [(until_s, attempt) for until_s, attempt in sent if until_s > now_s]
        for attempt in due:
            if not attempt.cancel.left.is_set():
                self._cancel_aside(attempt, sent)

    def _cancel_aside(self, attempt: Attempt, sent: list[tuple[float, Attempt]]) -> None:
        """Let a side thread cancel this query. If no thread can start, the attempt returns to
        `sent`, and the next try uses a new executor, because the old one keeps a copy of the
        attempt.

        If the old executor has threads, they carry out the copy and end. Until then, the process
        has more side threads than the limit. A cancel of a query that has ended does nothing.
        """
        try:
            self._side_threads.submit(_cancel_alone, attempt)
        except RuntimeError as error:  # the process has too many threads
            _logger.warning("a query could not be cancelled yet: %s", error)
            self._side_threads.shutdown(wait=False)
            self._side_threads = _side_threads()
            sent.append((time.monotonic() + _THREAD_AGAIN_S, attempt))

    def _session_for(self, attempt: Attempt) -> "CancelSession | None":
        """Return a session that can cancel this query; None if a side thread must do it."""
        try:
            with attempt.watch.lock:
                running = attempt.watch.session_of(attempt.cancel)
                if running is None:
                    return None
                database = _database(running)
            session = self._sessions.get(database)
            if session is None or session.is_over():
                if session is not None:
                    session.close()
                session = self._sessions[database] = CancelSession(running)
        except Exception:  # for example, the query's connection has just been closed
            _logger.exception("a session for cancelling could not be opened")
            return None
        return session if session.is_usable else None


def cancel_together(
    attempts: Iterable[Attempt], session: "CancelSession", timeout_s: float
) -> None:
    """Cancel these queries with one call, which the database must confirm within `timeout_s`.

    The function holds the locks of all these requests during the call, so that no request leaves
    its query meanwhile.
    """
    with ExitStack() as held:
        pids = {}
        for watch, cancel in attempts:
            held.enter_context(watch.lock)
            running = watch.session_of(cancel)
            if running is not None:
                pids[cancel] = running.info.backend_pid
        try:
            session.cancel(pids.values(), timeout_s)
        except Exception as error:
            for cancel in pids:
                cancel.unconfirmed = True
            _logger.warning("a query could not be cancelled: %s", error)


def _side_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_SIDE_THREADS, thread_name_prefix="sentry-cancel")


def _cancel_alone(attempt: Attempt) -> None:
    try:
        attempt.watch.cancel(attempt.cancel, configuration.read().cancel_timeout_s)
    except Exception:
        _logger.exception("a query could not be cancelled")


def _database(session: Any) -> tuple[object, ...]:
    info = session.info
    return info.host, info.port, info.dbname, info.user


class CancelSession:
    """A session in which PostgreSQL cancels the queries of other sessions of the same role.

    The session is unusable if the database refuses it, or if a connection pooler is in between,
    because psycopg then does not know PostgreSQL's process numbers.
    """

    def __init__(self, like: Any) -> None:
        """Connect with the parameters of the psycopg connection `like`."""
        self.is_usable = False
        self._session: Any = None
        self._retry_s = time.monotonic() + _RECONNECT_S
        parameters = {**like.info.get_parameters(), "connect_timeout": _CONNECT_S}
        try:
            self._session = like.connect(**parameters, password=like.info.password, autocommit=True)
            found = self._session.execute("SELECT pg_backend_pid()").fetchone()
        except Exception as error:
            _logger.warning("queries will be cancelled one by one: %s", str(error).strip())
            self.close()
            return
        self._pgconn = self._session.pgconn
        self.is_usable = found == (self._session.info.backend_pid,)
        if not self.is_usable:
            self.close()
            self._retry_s = float("inf")

    @property
    def pid(self) -> int:
        """The number of the PostgreSQL process that serves this session."""
        return int(self._pgconn.backend_pid)

    def is_over(self) -> bool:
        """Return whether to connect again: the session has ended, or was refused some time ago."""
        if self.is_usable:
            return self._can_read(0.0)  # for example the end of the server
        return time.monotonic() >= self._retry_s

    def cancel(self, pids: Collection[int], timeout_s: float) -> None:
        """Cancel the queries of these PostgreSQL processes.

        Raises an error if PostgreSQL does not confirm this within `timeout_s`; the session is then
        unusable.
        """
        if not pids:
            return
        until_s = time.monotonic() + timeout_s
        try:
            self._pgconn.send_query_params(_CANCEL, [f"{{{','.join(map(str, pids))}}}".encode()])
            self._pgconn.flush()
            while True:
                while self._pgconn.is_busy():
                    if not self._can_read(max(0.0, until_s - time.monotonic())):
                        raise TimeoutError("cancellation timeout expired")
                    self._pgconn.consume_input()
                result = self._pgconn.get_result()
                if result is None:
                    return
                if result.error_message:
                    raise OSError(result.error_message.decode(errors="replace").strip())
        except BaseException:
            self.close()
            self._retry_s = time.monotonic()
            raise

    def close(self) -> None:
        self.is_usable = False
        if self._session is not None:
            self._session.close()

    def _can_read(self, timeout_s: float) -> bool:
        poll = select.poll()
        poll.register(self._pgconn.socket, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))


canceller = Canceller()
