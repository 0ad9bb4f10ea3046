"""The state that all responses share: date, ids, cookies, host names and counts of refusals."""

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from email.utils import formatdate

from gateway.http.sessions import Sessions


class ResponseContext:
    """The state that all exchanges of a gateway share."""

    def __init__(
        self,
        sessions: Sessions,
        own_hosts: Mapping[bytes, bytes],
        *,
        is_draining: Callable[[], bool],
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Create the state with all counts at 0. `own_hosts` maps each scheme to the authority that
        replaces a missing Host. `is_draining` returns whether connections must close after their
        next answers.
        """
        self.sessions = sessions
        self.own_hosts = own_hosts
        self.is_draining = is_draining
        self.wall_s = wall_s
        self.refusals: Counter[int] = Counter()
        """The number of the gateway's own answers, for each status."""
        self.left_in_service = 0
        """The number of served requests whose customers left during the service or before it."""
        self._ids = itertools.count(1)
        self._id_prefix = os.urandom(4).hex().encode()
        self._date_s = 0
        self._date = b""

    def new_request_id(self) -> bytes:
        """Return a request id that is unique in this gateway."""
        return b"%b-%x" % (self._id_prefix, next(self._ids))

    def date(self) -> bytes:
        """Return the present time as an HTTP date (RFC 9110, 5.6.7)."""
        now_s = int(self.wall_s())
        if now_s != self._date_s:
            self._date_s = now_s
            self._date = formatdate(now_s, usegmt=True).encode()
        return self._date

    def count_refusal(self, status: int) -> None:
        self.refusals[status] += 1

    def count_left_in_service(self) -> None:
        """Count a request in service whose customer has left."""
        self.left_in_service += 1
