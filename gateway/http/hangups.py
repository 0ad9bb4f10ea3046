"""The reset of a connection, and a watch that notices the end of connections that are not being
read. While reading is paused, asyncio does not report the end of a connection, but the kernel does
(EPOLLRDHUP, EPOLLHUP).
"""

import asyncio
import contextlib
import select
import socket
import struct
from typing import Final, Protocol

# EPOLLONESHOT limits the reports to one per connection. The kernel always reports errors and resets
# (EPOLLHUP, EPOLLERR).
_RESET = select.EPOLLONESHOT
_END_OR_RESET = select.EPOLLRDHUP | select.EPOLLONESHOT

# SO_LINGER with no time: closing sends RST instead of the end of the stream.
_AT_ONCE: Final = struct.pack("ii", 1, 0)


class Unread(Protocol):
    """A connection that the gateway does not read at the moment."""

    def ended_unread(self) -> None:
        """Handle the end of the other side's stream; bytes before the end may still be unread."""

    def hung_up(self) -> None:
        """Handle a reset, or the end of the connection in both directions."""


class Descriptor(Protocol):
    """An object with a file descriptor, such as a socket."""

    def fileno(self) -> int: ...


class Hangups:
    """A watch on connections that are not being read, with an epoll inside the event
    loop's epoll.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._epoll: select.epoll | None = None
        self._watched: dict[int, Unread] = {}
        self._descriptors: dict[Unread, int] = {}

    def watch(self, sock: Descriptor, who: Unread, *, for_end: bool) -> None:
        """Report a reset to `who`; with `for_end`, also report the end of the stream."""
        epoll = self._epoll
        if epoll is None:
            epoll = self._epoll = select.epoll()
            self._loop.add_reader(epoll.fileno(), self._look)
        fd = sock.fileno()
        if fd < 0:
            return  # closed in the meantime, which is reported elsewhere
        events = _END_OR_RESET if for_end else _RESET
        try:
            epoll.register(fd, events)
        except FileExistsError:
            epoll.modify(fd, events)
        self._watched[fd] = who
        self._descriptors[who] = fd

    def forget(self, who: Unread) -> None:
        """Stop the watch because `who` is read again or has ended; repeated calls are harmless."""
        fd = self._descriptors.pop(who, None)
        if fd is None or self._watched.get(fd) is not who:  # another connection has this number now
            return
        del self._watched[fd]
        assert self._epoll is not None
        with contextlib.suppress(OSError):  # closed: the kernel has already removed it
            self._epoll.unregister(fd)

    def close(self) -> None:
        """Stop watching all connections."""
        if self._epoll is not None:
            self._loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._epoll = None
        self._watched.clear()
        self._descriptors.clear()

    def _look(self) -> None:
        assert self._epoll is not None
        for fd, events in self._epoll.poll(0):
            who = self._watched.get(fd)
            if who is None:
                continue
            if events & (select.EPOLLHUP | select.EPOLLERR):
                who.hung_up()
            else:
                who.ended_unread()


def reset(transport: asyncio.Transport) -> None:
    """Close the connection with a reset, which shows the other side that the data is incomplete."""
    sock = transport.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
    transport.abort()
