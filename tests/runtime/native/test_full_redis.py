"""The data that a full Redis keeps, with real servers that are really filled."""

from contextlib import ExitStack
from functools import partial

import redis

from common import ports
from runtime.native import redis_server
from tests.conftest import serving

MEMORY_BYTES = 128 * 1024**2


def fill(server):
    """Write values of 1 MB, twice the server's memory in all; return how many were refused."""
    refused = 0
    for number in range(2 * MEMORY_BYTES // 1_000_000):
        try:
            server.set(f"filler-{number}", b"x" * 1_000_000)
        except redis.OutOfMemoryError:
            refused += 1
    return refused


def test_sessions_and_queues_cannot_evict_each_other(tmp_path):
    """Each server is filled twice over; the other one keeps what it had.

    Sessions that were unused for the longest time go; queues refuse writes.
    """
    clients = []
    with ExitStack() as running:
        for name, configuration in (
            ("redis", redis_server.CONFIGURATION),
            ("broker", redis_server.BROKER_CONFIGURATION),
        ):
            (port,) = ports.free(1)
            store = redis_server.Store(
                redis_server.find(None), tmp_path / name, port, configuration=configuration
            )
            redis_server.prepare(store)
            refusal = partial(redis_server.refusal, port)
            running.enter_context(serving(store.command(), refusal, tmp_path / f"{name}.log"))
            clients.append(running.enter_context(redis.Redis(port=port)))
        sessions, queues = clients
        sessions.set("shop:session", "a customer", ex=86_400)
        queues.rpush("doorbuster-console", "a message")
        queues.set("celery-task-meta-1", "a result", ex=86_400)
        assert fill(queues) > 0
        assert sessions.get("shop:session") == b"a customer"
        assert fill(sessions) == 0
        sessions.set("shop:session", "the next", ex=86_400)
        assert sessions.get("shop:session") == b"the next"
        assert queues.lrange("doorbuster-console", 0, -1) == [b"a message"]
        assert queues.get("celery-task-meta-1") == b"a result"
