"""The CPU manager as a server on a Unix socket."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import stat
import struct
from collections.abc import Sequence
from pathlib import Path

from common import locks
from gateway.tls.processor_protocol import (
    LONGEST_LINE_BYTES,
    Assigned,
    CpusAssigned,
    CpusRequest,
    FromManager,
    ProtocolError,
    Refused,
    Register,
    Status,
    StatusWanted,
    from_application,
    written,
)
from hosting.ecm.cpu_manager import Application, CpuManager

log = logging.getLogger(__name__)

_LONGEST_PATH_BYTES = 107
_MOST_CONNECTIONS = 1000
_READ_BYTES = 4096
"""The maximum number of bytes read at once from a connection, so that a long message does not delay
the next assignment.
"""


class SocketError(RuntimeError):
    """The error for an unusable socket; the message is the reason."""


class EcmServer:
    """A server of one CPU manager on a socket; `serve` runs until `stop` is called."""

    def __init__(self, manager: CpuManager, listener: socket.socket) -> None:
        self.manager = manager
        self._listener = listener
        self._connections: set[Connection] = set()
        self._stop = asyncio.Event()

    def stop(self) -> None:
        self._stop.set()

    async def serve(self) -> None:
        """Assign processors in every interval until `stop` is called; then restore the original
        CPUs of all processes.
        """
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(lambda: Connection(self), sock=self._listener)
        due_s = loop.time()
        try:
            while not self._stop.is_set():
                # A busy machine skips missed intervals.
                interval_s = self.manager.interval_s
                due_s = max(due_s + interval_s, loop.time() + interval_s / 2)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(due_s):
                        await self._stop.wait()
                        break
                self._turn()
        finally:
            server.close()
            for connection in list(self._connections):
                connection.abort()
            self.manager.hand_back()

    def _turn(self) -> None:
        try:
            is_decided = self.manager.turn()
        except Exception:
            log.exception("this decision failed; the next one follows after the interval")
            return
        for connection in list(self._connections):
            connection.tell(is_decided)

    # ---- calls of connections --------------------------------------------------------------------

    def connected(self, connection: "Connection") -> bool:
        """Add a connection; return False if there are too many."""
        if len(self._connections) >= _MOST_CONNECTIONS:
            return False
        self._connections.add(connection)
        return True

    def lost(self, connection: "Connection") -> None:
        self._connections.discard(connection)


class Connection(asyncio.BufferedProtocol):
    """A connection from an application, or from a tool that only requests the status. If a client
    does not read the server's messages, the server keeps only the latest assignment for this
    client.
    """

    def __init__(self, server: EcmServer) -> None:
        self._server = server
        self._manager = server.manager
        self._transport: asyncio.Transport | None = None
        self._application: Application | None = None
        self._peer = 0
        self._read = bytearray(_READ_BYTES)
        self._rest = b""
        self._is_deaf = False
        self._is_behind = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        credentials = transport.get_extra_info("socket").getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")
        )
        self._peer, user, _ = struct.unpack("3i", credentials)
        if user not in (os.geteuid(), 0):
            self._send(Refused(f"you are user {user}", "user", f"user {os.geteuid()}"))
            transport.close()
        elif not self._server.connected(self):
            self._send(Refused("too many connections", "", f"{_MOST_CONNECTIONS}"))
            transport.close()

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._read

    def buffer_updated(self, nbytes: int) -> None:
        *lines, rest = (self._rest + self._read[:nbytes]).split(b"\n")
        self._rest = rest
        for line in lines:
            if len(line) >= LONGEST_LINE_BYTES:
                self._cut_off()
            if self._is_closing():
                return
            try:
                self._take(line)
            except ProtocolError as error:
                self._send(Refused(error.error, error.field, error.allowed))
        if len(rest) >= LONGEST_LINE_BYTES:
            self._cut_off()

    def _cut_off(self) -> None:
        self._send(Refused("the line is too long", "message", f"{LONGEST_LINE_BYTES} bytes a line"))
        self._close()

    def _take(self, line: bytes) -> None:
        message = from_application(line)
        match message:
            case StatusWanted():
                self._send(Status(self._manager.status()))
                return
            case Register():
                if self._application is not None:
                    raise ProtocolError(
                        "is allowed only once per connection", "register", "a request"
                    )
                self._application = self._manager.register(message, self._peer)
                return
        if self._application is None:
            raise ProtocolError("must be the first message", "register", "a registration")
        match message:
            case CpusRequest(processors):
                self._manager.request(self._application, processors)
            case CpusAssigned():
                if not self._application.is_new:  # otherwise, the first decision will be the answer
                    self._send(self._assignment())

    def tell(self, is_decided: bool) -> None:
        """Send the manager's decision, if any; close the connection if the application has left."""
        application = self._application
        if application is None:
            return
        if application.has_left:
            self._send(Refused("all its processes have ended", "process", "a running process"))
            self._close()
        elif is_decided:
            self._send(self._assignment())

    def _assignment(self) -> Assigned:
        assert self._application is not None
        return self._manager.assigned(self._application)

    def _send(self, message: FromManager) -> None:
        if self._is_deaf:
            self._is_behind = True
        elif self._transport is not None:
            self._transport.write(written(message))

    def pause_writing(self) -> None:
        self._is_deaf = True

    def resume_writing(self) -> None:
        self._is_deaf = False
        application = self._application
        if self._is_behind and application is not None and not application.is_new:
            self._send(self._assignment())
        self._is_behind = False

    def connection_lost(self, error: Exception | None) -> None:
        self._server.lost(self)
        if self._application is not None and not self._application.has_left:
            self._manager.leave(self._application)

    def _is_closing(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class EcmSocket:
    """The listening socket, and a lock that shows whether the owner of the socket file is alive.

    The kernel releases the lock when the owner dies.
    """

    def __init__(self, path: Path) -> None:
        """Take the lock and bind the socket; raise SocketError if one of the two fails."""
        self.path = path
        length = len(os.fsencode(path))
        if length > _LONGEST_PATH_BYTES:
            raise SocketError(
                f"{path}: {length} bytes; a socket's path may have at most {_LONGEST_PATH_BYTES}"
            )
        try:
            with contextlib.ExitStack() as held:
                held.enter_context(locks.locked(Path(f"{path}.lock"), waits=False))
                self.has_predecessor = self._remove_left_over()
                self.listener = self._bind()
                self._held = held.pop_all()
        except BlockingIOError:
            raise SocketError(f"another CPU manager is running on {path}") from None
        except OSError as error:
            raise SocketError(f"cannot listen on {path}: {error.strerror or error}") from None

    def _remove_left_over(self) -> bool:
        try:
            mode = os.lstat(self.path).st_mode
        except FileNotFoundError:
            return False
        if not stat.S_ISSOCK(mode):
            raise SocketError(f"{self.path} exists and is not a socket")
        self.path.unlink()
        return True

    def _bind(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            listener.bind(os.fspath(self.path))
        except BaseException:
            listener.close()
            raise
        finally:
            os.umask(before)
        listener.listen(128)
        listener.setblocking(False)
        return listener

    def close(self) -> None:
        """Remove the socket; the lock file stays."""
        self.listener.close()
        with contextlib.suppress(OSError):
            self.path.unlink()
        self._held.close()


def serve(manager: CpuManager, ecm_socket: EcmSocket, stop_on: Sequence[signal.Signals]) -> None:
    """Run the manager until one of the signals `stop_on` arrives."""

    async def run() -> None:
        server = EcmServer(manager, ecm_socket.listener)
        for number in stop_on:
            asyncio.get_running_loop().add_signal_handler(number, server.stop)
        await server.serve()
        # From here on, the process ends. The loop no longer handles signals, but a second signal
        # must not end the process before the socket is removed.
        signal.pthread_sigmask(signal.SIG_BLOCK, stop_on)

    asyncio.run(run())
