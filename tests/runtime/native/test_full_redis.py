"""The data that a full Redis keeps, with real servers that are really filled."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import redis

from common import ports
from runtime.native import redis_server
from tests.conftest import serving

MEMORY_BYTES = 128 * 1024**2


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[redis.Redis, redis.Redis]]:
    """Yield clients of the sessions' Redis and the queues' Redis, configured as by `make up`."""
    clients = []
    with ExitStack() as running:
        for name, configuration in (
            ("redis", redis_server.CONFIGURATION),
            ("broker", redis_server.BROKER_CONFIGURATION),
        ):
            store = redis_server.Store(
                redis_server.find(None),
                tmp_path / name,
                ports.free(1)[0],
                configuration=configuration,
            )
            redis_server.prepare(store)
            refusal = partial(redis_server.refusal, store.port)
            running.enter_context(serving(store.command(), refusal, tmp_path / f"{name}.log"))
            client = redis.Redis(host="127.0.0.1", port=store.port)
            running.callback(client.close)
            clients.append(client)
        yield clients[0], clients[1]


def fill(server: redis.Redis) -> int:
    """Write values of 1 MB, twice the server's memory in all; return how many were refused."""
    refused = 0
    for number in range(2 * MEMORY_BYTES // 1_000_000):
        try:
            server.set(f"filler-{number}", b"x" * 1_000_000)
        except redis.OutOfMemoryError:
            refused += 1
    return refused


def test_sessions_and_queues_cannot_evict_each_other(
    servers: tuple[redis.Redis, redis.Redis],
) -> None:
    """Each server is filled twice over; the other one keeps what it had."""
    sessions, queues = servers
    sessions.set("shop:session", "a customer", ex=86_400)
    queues.rpush("doorbuster-console", "a message")
    queues.set("celery-task-meta-1", "a result", ex=86_400)
    assert fill(queues) > 0
    assert sessions.get("shop:session") == b"a customer"
    assert fill(sessions) == 0
    assert queues.lrange("doorbuster-console", 0, -1) == [b"a message"]
    assert queues.get("celery-task-meta-1") == b"a result"


def test_the_shop_s_redis_takes_the_next_customer_when_it_is_full(
    servers: tuple[redis.Redis, redis.Redis],
) -> None:
    """The sessions that were unused for the longest time go."""
    sessions, _ = servers
    assert fill(sessions) == 0
    sessions.set("shop:session", "the next", ex=86_400)
    assert sessions.get("shop:session") == b"the next"
    assert sessions.dbsize() < MEMORY_BYTES // 1_000_000  # half of the fillers are gone


def test_a_full_queue_is_usable_again_when_results_are_taken(
    servers: tuple[redis.Redis, redis.Redis],
) -> None:
    """It refuses writes, serves reads and removals, and then takes messages again."""
    _, queues = servers
    queues.rpush("doorbuster-console", "a message")
    assert fill(queues) > 0
    with pytest.raises(redis.OutOfMemoryError):
        queues.rpush("doorbuster-console", b"x" * 10_000_000)
    assert queues.lpop("doorbuster-console") == b"a message"
    queues.delete(*(f"filler-{number}" for number in range(30)))
    queues.rpush("doorbuster-console", "another")
