"""The check that Redis still has its data, on a real server."""

from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings
from django.core.cache import cache

from shop.page_costs.back_end import Memory, memory

pytestmark = pytest.mark.usefixtures("visitor")


def options():
    """Return the options with which the shop reaches its Redis."""
    shop = settings.CACHES["default"]
    address = urlsplit(shop["LOCATION"])
    password = shop["OPTIONS"].get("password")
    return {"host": address.hostname, "port": address.port, "password": password}


@pytest.fixture
def look():
    """Return a check of the shop's Redis on a new connection, as a thread makes it."""

    def looked(memory):
        connection = redis.Connection(**options())
        connection.connect()
        memory.look(connection)
        connection.disconnect()

    return looked


def test_the_shops_own_connections_look(look):
    """Each thread has a separate connection, and makes another when the server has closed it."""
    cache.get("x")
    losses = memory.losses
    with redis.Redis(**options()) as other:
        other.flushdb()
        other.client_kill_filter(_type="normal")
    cache.get("x")
    assert memory.losses == losses + 1


def test_connections_come_and_go_and_nothing_is_lost(look):
    memory, another_process = Memory(), Memory()
    for _ in range(3):
        look(memory)
        look(another_process)
    assert (memory.losses, another_process.losses) == (0, 0)


def test_what_has_forgotten_is_seen_once_by_each_process(look):
    memory, another_process = Memory(), Memory()
    look(memory)
    look(another_process)
    cache.clear()
    for _ in range(2):
        look(memory)
        look(another_process)
    assert (memory.losses, another_process.losses) == (1, 1)


def test_a_redis_that_was_never_seen_has_lost_nothing(look):
    cache.clear()
    memory = Memory()
    look(memory)
    assert memory.losses == 0
