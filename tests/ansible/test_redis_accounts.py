"""The rights of the accounts of a lab host's Redis, tried on a real server."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jinja2
import pytest
import redis
import yaml
from django.core.cache.backends.redis import RedisCache
from kombu.transport.redis import Mutex

from common import ports
from runtime.native import redis_server
from tests.ansible.playing import ROLES
from tests.conftest import serving

PASSWORDS = {"default": "of-the-shop-alone", "console": "of-the-console-alone"}


def configuration(template: str, port: int) -> str:
    """Return a configuration as the role writes it for a host without grid and monitoring."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROLES / "redis/templates"),
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["hash"] = lambda text, kind: hashlib.new(kind, text.encode()).hexdigest()
    given: dict[str, Any] = yaml.safe_load(
        (ROLES / "redis/defaults/main.yml").read_text(encoding="utf-8")
    )
    return environment.get_template(template).render(
        **given,
        doorbuster_address="127.0.0.1",
        doorbuster_redis_port=port,
        doorbuster_broker_port=port,
        doorbuster_redis_password=PASSWORDS["default"],
        doorbuster_broker_password=PASSWORDS["console"],
        doorbuster_shop_database=0,
        groups={},
    )


@contextmanager
def server(template: str, port: int, folder: Path) -> Iterator[int]:
    """Run a server with the accounts of this template."""
    text = configuration(template, port)
    for path in ("/var/lib/redis", "/var/log/redis", "/run/redis-broker", "/run/redis"):
        text = text.replace(path, str(folder))
    (folder / "redis.conf").write_text(text)
    command = [str(redis_server.find(None).program), str(folder / "redis.conf")]
    with serving(command, lambda: redis_server.refusal(port), folder / "redis.log"):
        yield port


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[int]:
    """Yield the port of the shop's server."""
    with server("redis.conf.j2", *ports.free(1), tmp_path) as port:
        yield port


@pytest.fixture
def queues(tmp_path: Path) -> Iterator[int]:
    """Yield the port of the server of Celery's queues."""
    with server("broker.conf.j2", *ports.free(1), tmp_path) as port:
        yield port


def client(port: int, user: str, database: int) -> "redis.Redis[bytes]":
    return redis.Redis(port=port, username=user, password=PASSWORDS[user], db=database)


def test_the_shop_keeps_sessions_and_runs_no_scripts(sessions: int) -> None:
    """Django's cache works with the shop's account, which may not run Lua."""
    address = f"redis://:{PASSWORDS['default']}@127.0.0.1:{sessions}/0"
    cache = RedisCache(address, {})
    cache.set("session", {"cart": [1]}, 60)
    assert cache.add("session", {}, 60) is False
    assert cache.touch("session", 120)
    assert cache.get("session") == {"cart": [1]}
    cache.set_many({"a": 1, "b": 2})
    assert cache.get_many(["a", "b"]) == {"a": 1, "b": 2}
    assert cache.delete("session")
    with client(sessions, "default", 0) as shop:
        for command in (["EVAL", "return 1", "0"], ["SCRIPT", "LOAD", "return 1"]):
            with pytest.raises(redis.exceptions.NoPermissionError):
                shop.execute_command(*command)


def test_celery_needs_scripts_and_may_run_them(queues: int) -> None:
    """The lock under which kombu restores messages works with the console's account."""
    with client(queues, "console", 1) as console:
        with Mutex(console, "unacked_mutex", 10):
            assert console.exists("unacked_mutex")
        assert not console.exists("unacked_mutex")


def test_that_lock_is_a_script(sessions: int) -> None:
    """An account without scripts cannot release it, so the console's account has them."""
    with (
        client(sessions, "default", 0) as shop,
        pytest.raises(redis.exceptions.NoPermissionError),
        Mutex(shop, "unacked_mutex", 10),
    ):
        pass
