"""The epoll thread, which watches sockets and notices when a client leaves.

Each process has one epoll object and one thread. A socket is registered only during a request. The
kernel's event contains only the number of the socket's descriptor, which may already belong to the
next connection. The thread therefore checks the socket again, while it holds the lock of the
request that has this number now.
"""

import errno
import logging
import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

_logger = logging.getLogger(__name__)


def in_child(forget: Callable[[], object]) -> None:
    """Call `forget` in every child process forked from now on, if the platform can fork."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=forget)


AVAILABLE = hasattr(select, "epoll")
_HUNG_UP = select.POLLRDHUP | select.POLLHUP | select.POLLERR if AVAILABLE else 0
# Reported once, because the number of an ended request cannot be unregistered. HUP and ERR are
# always reported.
_EVENTS = select.EPOLLRDHUP | select.EPOLLONESHOT if AVAILABLE else 0


class WatchedRequest(Protocol):
    """The parts of a request that the epoll thread uses."""

    fd: int
    lock: threading.Lock
    finished: bool

    def client_left(self) -> Any:
        """Record that the client has left; return the attempt to cancel its query, or None. The
        caller must hold `lock`.
        """


def has_hung_up(fd: int) -> bool:
    """Return, without waiting, whether the client has closed, half-closed or reset this
    connection.
    """
    poll = select.poll()
    poll.register(fd, _HUNG_UP)
    return bool(poll.poll(0))


class SocketWatcher:
    """The watcher of the requests in progress, which notices when their clients leave.

    If `client_left` returns an attempt to cancel, the epoll thread calls `on_cancel(watched,
    cancel)` with it. The thread holds no lock during this call, which must not block.
    """

    def __init__(self, on_cancel: Callable[[Any, Any], None]) -> None:
        self._on_cancel = on_cancel
        self._forget()
        in_child(self._forget)

    def _forget(self) -> None:
        """Create an empty state; the first request starts epoll and the thread. A forked child must
        not use its parent's epoll.
        """
        self.watched: dict[int, WatchedRequest] = {}
        """The requests in progress, by their descriptors."""
        self.epoll: Any = None
        """The epoll object, or None before the first request."""
        self._said = False
        self._starting = threading.Lock()

    def __len__(self) -> int:
        return len(self.watched)

    def add(self, watched: WatchedRequest) -> None:
        """Watch this request's socket until `remove` is called.

        Raises OSError or ValueError if the socket cannot be watched.
        """
        epoll = self.epoll or self._start()
        self.watched[watched.fd] = watched
        try:
            try:
                epoll.register(watched.fd, _EVENTS)
            except FileExistsError:
                # A forked child still holds the descriptor of an earlier connection.
                epoll.modify(watched.fd, _EVENTS)
        except BaseException:
            self.watched.pop(watched.fd, None)
            raise

    def remove(self, watched: WatchedRequest) -> None:
        """Stop watching this request, unless its descriptor now belongs to another request."""
        if self.watched.get(watched.fd) is not watched:
            return
        try:
            self.epoll.unregister(watched.fd)
        except (OSError, ValueError):
            _logger.warning("a connection was closed while its request was in progress")
        self.watched.pop(watched.fd, None)

    def _start(self) -> Any:
        """Start epoll and its thread at the first request. They therefore run in the process that
        serves requests, not in its parent.
        """
        with self._starting:
            if self.epoll is None:
                self.epoll = self._started()
            return self.epoll

    def _started(self) -> Any:
        """Start the thread and return its epoll. Raises OSError if this fails; the failure is
        logged once, and the next request tries again.
        """
        epoll = select.epoll()
        thread = threading.Thread(target=self._run, args=(epoll,), name="sentry", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the process has its maximum number of threads
            epoll.close()
            if not self._said:
                self._said = True
                _logger.warning(
                    "the sentry does not notice when clients leave until its thread starts: %s",
                    error,
                )
            raise OSError(errno.EAGAIN, str(error)) from error
        return epoll

    def _run(self, epoll: Any) -> None:
        while True:
            for fd, _ in epoll.poll():
                try:
                    self.event(epoll, fd)
                except Exception:
                    _logger.exception("the sentry could not stop the work for a client that left")

    def event(self, epoll: Any, fd: int) -> None:
        """Notify the request with this descriptor if its client has really left."""
        watched = self.watched.get(fd)
        if watched is None:
            return
        with watched.lock:
            if watched.finished:
                return
            if not has_hung_up(fd):  # the event was of an earlier connection of this number
                with suppress(FileNotFoundError):  # its request begins or ends now
                    epoll.modify(fd, _EVENTS)
                return
            cancel = watched.client_left()
        if cancel is not None:
            self._on_cancel(watched, cancel)
