"""The state that responses share: date, ids, cookies, names, counts of refusals."""

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate

from gateway.http.sessions import Sessions


class ResponseContext:
    """The state shared by all exchanges of a gateway."""

    def __init__(
        self,
        sessions: Sessions,
        own_hosts: Mapping[bytes, bytes],
        *,
        is_draining: Callable[[], bool],
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Begin without counts.

        `own_hosts` has, for each scheme, the authority by which customers reach the gateway.
        `is_draining` is whether every connection closes after its next answer.
        """
        self.sessions = sessions
        self.own_hosts = own_hosts
        self.is_draining = is_draining
        self.wall_s = wall_s
        self.refusals: Counter[int] = Counter()
        """The gateway's answers by status."""
        self.left_in_service = 0
        """Requests whose customers left while they were in service, or before a worker got them."""
        self._ids = itertools.count(1)
        self._id_prefix = os.urandom(4).hex().encode()
        self._date_s = 0
        self._date = b""

    def new_request_id(self) -> bytes:
        """Return an id that no other request of this gateway has."""
        return b"%b-%x" % (self._id_prefix, next(self._ids))

    def date(self) -> bytes:
        """Return the present time as an HTTP date (RFC 9110, 5.6.7)."""
        now_s = int(self.wall_s())
        if now_s != self._date_s:
            self._date_s = now_s
            self._date = formatdate(now_s, usegmt=True).encode()
        return self._date

    def count_refusal(self, status: int) -> None:
        """Count a request that the gateway has answered itself."""
        self.refusals[status] += 1

    def count_left_in_service(self) -> None:
        """Count a request in service whose customer has left."""
        self.left_in_service += 1
