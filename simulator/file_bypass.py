"""The gateway's bypass for file requests, simulated in virtual time."""

from simulator.record import Record
from simulator.servers import Server
from simulator.sessions import Asked

IN_SERVICE = 4
"""The maximum number of files in service: the default of the gateway's setting `other_limit`."""

PLACES = 256
"""The number of places in the queue: the default of the gateway's setting `other_queue`."""


class FileBypass:
    """A queue that serves files in the order of arrival and drops requests when it is full."""

    def __init__(self, server: Server, record: Record) -> None:
        self.waiting: dict[int, Asked] = {}
        """The waiting requests by id, in the order of arrival."""
        self.in_service: dict[int, Asked] = {}
        self._server = server
        self._record = record

    def submit(self, now_s: float, id: int, asked: Asked) -> bool:
        """Start a file request or let it wait; return False if the queue is full."""
        if len(self.in_service) < IN_SERVICE:
            self._start(now_s, id, asked)
        elif len(self.waiting) < PLACES:
            self.waiting[id] = asked
        else:
            return False
        return True

    def ended(self, now_s: float, id: int) -> None:
        """End a file request in service, and start the next one."""
        del self.in_service[id]
        if self.waiting:
            next_id = next(iter(self.waiting))
            self._start(now_s, next_id, self.waiting.pop(next_id))

    def _start(self, now_s: float, id: int, asked: Asked) -> None:
        _, place, work = self.in_service[id] = asked
        self._record.dispatched[place] += 1
        self._server.start(now_s, id, place, work)
