"""The epoll thread, which watches sockets and notices when a client leaves.

The kernel's event has only a descriptor's number, which may belong to the next connection. The
thread therefore checks the socket again, under the lock of the request with this number.
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
# Reported once, because the number of an ended request cannot be unregistered.
_EVENTS = (
    select.EPOLLRDHUP | select.EPOLLONESHOT if AVAILABLE else 0
)  # HUP and ERR are always reported


class WatchedRequest(Protocol):
    """The parts of a request that the epoll thread uses."""

    fd: int
    lock: threading.Lock
    finished: bool

    def client_left(self) -> Any:
        """Record that the client has left; return the cancel of its query, if any, under `lock`."""


def has_hung_up(fd: int) -> bool:
    """Return, without waiting, whether the client has closed or reset this connection."""
    poll = select.poll()
    poll.register(fd, _HUNG_UP)
    return bool(poll.poll(0))


class SocketWatcher:
    """The watcher of the requests in progress, which notices when their clients leave.

    If `client_left` returns an attempt to cancel, the epoll thread calls `on_cancel(watched,
    cancel)` without a lock; this must not block.
    """

    def __init__(self, on_cancel: Callable[[Any, Any], None]) -> None:
        self._on_cancel = on_cancel
        self._forget()
        in_child(self._forget)

    def _forget(self) -> None:
        """Create the state without a parent's epoll and thread; the first request starts them."""
        self.watched: dict[int, WatchedRequest] = {}
        """The requests in progress, by their descriptors."""
        self.epoll: Any = None
        """The epoll object, or None before the first request."""
        self._said = False
        self._starting = threading.Lock()

    def __len__(self) -> int:
        return len(self.watched)

    def add(self, watched: WatchedRequest) -> None:
        """Watch this request's socket until `remove`. Raises OSError or ValueError."""
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
        """Start epoll and its thread in the serving process, at the first request."""
        with self._starting:
            if self.epoll is None:
                self.epoll = self._started()
            return self.epoll

    def _started(self) -> Any:
        """Start the thread and return its epoll. Raises OSError, which is logged once."""
        epoll = select.epoll()
        thread = threading.Thread(target=self._run, args=(epoll,), name="sentry", daemon=True)
        try:
            thread.start()
        except (
            RuntimeError
        ) as error:  # the process has already reached its maximum number of threads
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
