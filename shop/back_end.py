"""How long each thread has waited for PostgreSQL and Redis.

Owns: the clock around their answers. Must not know: pages, what was asked.

Waiting is wall time less the thread's own CPU. Among thirty threads it includes the wait for the
interpreter that follows an answer; the rest of a page's waits for the interpreter are not in it.
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
    """Seconds this thread has waited since it began."""
    return _local.waited_s


def waiting(ask: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
    """What `ask` answers; the time it waits is counted, also if it raises."""
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
    """Django's `pool_class`: connections whose waits are counted."""

    def __init__(self, **options: Any) -> None:
        super().__init__(connection_class=_Connection, redis_connect_func=_connected, **options)


def _connected(connection: redis.Connection) -> None:
    """What redis-py calls instead of its own when it has opened a connection."""
    connection.on_connect()
    memory.look(connection)
