"""The measurement of the time that each thread has waited for PostgreSQL and Redis.

The wait is the elapsed time minus the thread's CPU time. If many threads are busy, it includes
the thread's wait for the interpreter after the back end's answer.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import redis

from shop.redis_memory import memory


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


class _Connection(redis.Connection):
    def read_response(self, *arguments: Any, **more: Any) -> Any:
        return waiting(super().read_response, *arguments, **more)


class RedisPool(redis.ConnectionPool):
    """A `pool_class` for Django whose connections count their waits."""

    def __init__(self, **options: Any) -> None:
        super().__init__(connection_class=_Connection, redis_connect_func=_connected, **options)


def _connected(connection: redis.Connection) -> None:
    """Set up a new connection, as redis-py does, and check whether Redis has lost its data."""
    connection.on_connect()
    memory.look(connection)
