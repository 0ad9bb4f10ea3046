"""The gateway's client of the CPU manager.

The client sends the number of processors that the application needs, and passes on the assigned
number. If the manager is gone, the latest assignment stays in force.

Source: Guitart et al., 2008, sections 3.1 (`cpus_request`, `cpus_assigned`) and 3.2.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path

from gateway.tls.processor_protocol import (
    LONGEST_LINE_BYTES,
    MOST_PROCESSORS,
    Assigned,
    CpusRequest,
    FromManager,
    ProtocolError,
    Refused,
    Register,
    from_manager,
    written,
)

log = logging.getLogger(__name__)

_CONNECT_S = 5.0


class ProcessorClient:
    """The registration of one application; call `start` first, and `stop` once at the end, in the
    event loop's thread.
    """

    def __init__(
        self,
        path: Path,
        registration: Register,
        *,
        interval_s: Callable[[], float],
        requested: Callable[[], int | None],
        assigned: Callable[[float], None],
    ) -> None:
        """Prepare a client of the manager whose socket is `path`.

        Every `interval_s()` real seconds, the client reconnects if necessary. If R_i, the value of
        `requested()`, is not None, the client then sends it. The client calls `assigned` with every
        A_i that it receives.
        """
        self._path = path
        self._registration = registration
        self._interval_s = interval_s
        self._requested = requested
        self._hand_over = assigned
        self._woken = asyncio.Event()
        self._writer: asyncio.StreamWriter | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._told: int | None = None
        self._error: str | None = None
        self.assigned: Assigned | None = None
        self.registrations = 0

    def start(self) -> None:
        self._begin(self._run())

    def stop(self) -> None:
        """End the registration; the manager then takes the processors back."""
        for task in self._tasks:
            task.cancel()
        self._hang_up()

    def wake(self) -> None:
        """Send a new request now, without waiting for the end of the interval."""
        self._woken.set()

    def snapshot(self) -> dict[str, object]:
        """Return the registration, the requested and the assigned processors, and the present
        error, ready for JSON.
        """
        assigned = self.assigned
        return {
            "application": self._registration.application,
            "priority": self._registration.priority,
            "process": self._registration.process,
            "connected": self._writer is not None,
            "registrations": self.registrations,
            "requested": self._told,
            "assigned": assigned.assigned if assigned else None,
            "processors": list(assigned.processors) if assigned else None,
            "error": self._error,
        }

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                if self._writer is None:
                    await self._connect()
                self.tell()
            except TimeoutError:
                self._fail(f"no connection within {_CONNECT_S:g} s")
            except OSError as error:
                self._fail(error.strerror or str(error))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._interval_s()):
                    await self._woken.wait()

    async def _connect(self) -> None:
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_unix_connection(
                str(self._path), limit=LONGEST_LINE_BYTES
            )
        self._writer = writer
        self.registrations += 1
        # The latest processors, so that a new manager can continue with them.
        had = self.assigned.processors if self.assigned else None
        writer.write(written(replace(self._registration, processors=had)))
        self._begin(self._listen(reader, writer))

    @property
    def unsent_bytes(self) -> int:
        """The number of bytes for the manager that the transport has not sent yet."""
        return 0 if self._writer is None else self._writer.transport.get_write_buffer_size()

    def tell(self) -> None:
        """Send the present request, unless the manager has stopped reading."""
        requested = self._requested()
        if requested is None or self._writer is None:
            return
        if self.unsent_bytes > LONGEST_LINE_BYTES:
            return  # the manager is not reading; only the newest request matters
        self._told = min(requested, MOST_PROCESSORS)
        self._writer.write(written(CpusRequest(self._told)))

    async def _listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        reason = "the manager has closed the connection"
        try:
            while (line := await reader.readline()).endswith(b"\n"):
                self._take(from_manager(line))
        except OSError as error:
            reason = error.strerror or str(error)
        except ProtocolError as error:
            reason = str(error)
        except ValueError:  # of readline
            reason = f"the manager sent more than {LONGEST_LINE_BYTES} bytes on one line"
        writer.close()
        if self._writer is writer:
            self._fail(reason)

    def _take(self, message: FromManager) -> None:
        match message:
            case Assigned(processors):
                if self._error is not None:
                    log.info("the CPU manager on %s assigns processors", self._path)
                    self._error = None
                self.assigned = message
                self._hand_over(processors)
            case Refused(error, field, allowed):
                raise ProtocolError(error, field, allowed)

    def _fail(self, reason: str) -> None:
        self._hang_up()
        if reason != self._error:
            log.warning("the CPU manager on %s: %s", self._path, reason)
        self._error = reason

    def _hang_up(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
