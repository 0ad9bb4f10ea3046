"""The time that each thread has waited for PostgreSQL and Redis, and the check that Redis still has
the data that was written to it.

The wait is the elapsed time minus the thread's CPU time. If many threads are busy, it includes
the thread's wait for the interpreter after the back end's answer.

A quick restart of Redis loses all data, although no request fails. Therefore, whenever a thread
opens a new connection, the shop checks whether a mark is still in Redis.
"""

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import redis

_MARK: Final = "doorbuster:memory"


class _Local(threading.local):
    waited_s: float = 0.0


_local = _Local()


def waited_s() -> float:
    """Return the seconds that this thread has waited for back ends since it started."""
    return _local.waited_s


def waiting(ask: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """Call `ask` and return its result; count the time that `ask` waits, even if it raises an
    error.
    """
    wall_s, cpu_s = time.perf_counter(), time.thread_time()
    try:
        return ask(*arguments, **more)
    finally:
        waited_s = (time.perf_counter() - wall_s) - (time.thread_time() - cpu_s)
        _local.waited_s += max(0.0, waited_s)


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


class _Connection(redis.Connection):
    def read_response(self, *arguments: Any, **more: Any) -> Any:
        return waiting(super().read_response, *arguments, **more)


class RedisPool(redis.ConnectionPool):
    """A `pool_class` for Django whose connections count their waits and check Redis's data."""

    def __init__(self, **options: Any) -> None:
        super().__init__(connection_class=_Connection, redis_connect_func=_connected, **options)


def _connected(connection: redis.Connection) -> None:
    """Set up a new connection, as redis-py does, and check whether Redis has lost its data."""
    connection.on_connect()
    memory.look(connection)
