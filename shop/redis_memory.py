"""The check that Redis still has the data that was written to it.

A quick restart of Redis loses all data, although no request fails. Therefore, whenever a thread
opens a new connection, the shop checks whether a mark is still in Redis.
"""

import secrets
import threading
from typing import Final

import redis

_MARK: Final = "doorbuster:memory"


class Memory:
    """The number of times that Redis has lost its data since the first check."""

    def __init__(self) -> None:
        self._mark: bytes | None = None
        self._lock = threading.Lock()
        self.losses = 0

    def look(self, connection: redis.Connection) -> None:
        """Check the mark through a new connection, and set a mark if there is none.

        A mark with another value shows that Redis has lost its data. If Redis does not answer,
        raise redis.RedisError.
        """
        mark = secrets.token_hex(8)
        connection.send_command("SET", _MARK, mark, "NX")
        connection.read_response()
        connection.send_command("GET", _MARK)
        found = connection.read_response()
        with self._lock:
            if self._mark is not None and found != self._mark:
                self.losses += 1
            self._mark = found


memory = Memory()
"""The counter of data losses of the shop's Redis."""
