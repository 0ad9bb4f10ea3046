"""Whether Redis still has what was written to it.

Owns: a mark in that memory, looked for whenever a connection is made anew, which a Redis that died
forces on every thread. Must not know: sessions. A Redis that is back within a moment has cost no
request, and has forgotten everything all the same.
"""

import secrets
import threading
from typing import Final

import redis

_MARK: Final = "doorbuster:memory"


class Memory:
    """How often what was in Redis has gone, since the first look."""

    def __init__(self) -> None:
        self._mark: bytes | None = None
        self._lock = threading.Lock()
        self.losses = 0

    def look(self, connection: redis.Connection) -> None:
        """On a connection that has just been made; raises what Redis does."""
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
"""The memory of the shop's Redis."""
