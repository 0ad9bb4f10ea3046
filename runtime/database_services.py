"""PostgreSQL and the two servers of Redis as services."""

import signal
from collections.abc import Mapping

from runtime import account, postgres, redis_server
from runtime.service import Service
from runtime.settings import Settings
from runtime.state import State


def postgres_service(settings: Settings, state: State) -> Service:
    """Return the service of PostgreSQL.

    Raises `PostgresError`, or `LookupError` without an account that can run it.
    """
    run_as = account.for_database(state.postgres / "data")
    cluster = postgres.Cluster(
        installation=postgres.find(settings.postgres_bin, state.postgres, run_as),
        folder=state.postgres,
        port=settings.postgres_port,
        user=settings.postgres_user,
        password=settings.postgres_password,
        database=settings.postgres_db,
        account=run_as,
    )
    installation = cluster.installation
    return Service(
        name="postgres",
        title=f"PostgreSQL {installation.version} ({installation.origin})",
        program=tuple(cluster.command()),
        user=run_as.name if run_as else None,
        plain_environment=True,
        port=settings.postgres_port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGINT,  # fast shutdown: does not wait for clients
        stop_wait_s=30,
        ready_within_s=60,
        refusal=lambda: postgres.refusal(cluster),
        code=("runtime/postgres.py",),
        prepare=lambda: postgres.prepare(cluster),
        started=lambda: postgres.make_database(cluster),
    )


def redis_service(settings: Settings, state: State) -> Service:
    """Return the service of the Redis for the shop's sessions.

    Raises `RedisError`, or `LookupError` without an account that can run it.
    """
    return _redis(
        settings, state, "redis", "Redis", settings.redis_port, redis_server.CONFIGURATION
    )


def broker_service(settings: Settings, state: State) -> Service:
    """Return the Redis for the queues of the console and of simulated grids.

    It is a separate server: a full memory of one takes nothing from the other. Raises as
    `redis_service`.
    """
    return _redis(
        settings,
        state,
        "broker",
        "Queues, Redis",
        settings.broker_port,
        redis_server.BROKER_CONFIGURATION,
    )


def _redis(
    settings: Settings,
    state: State,
    name: str,
    title: str,
    port: int,
    configuration: Mapping[str, str],
) -> Service:
    run_as = account.for_database()
    store = redis_server.Store(
        installation=redis_server.find(settings.redis_bin, state.redis, run_as),
        folder=state.folder / name,
        port=port,
        password=settings.redis_password,
        account=run_as,
        configuration=configuration,
    )
    installation = store.installation
    return Service(
        name=name,
        title=f"{title} {installation.version} ({installation.origin})",
        program=tuple(store.command()),
        user=run_as.name if run_as else None,
        plain_environment=True,
        port=port,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=10,
        ready_within_s=15,
        refusal=lambda: redis_server.refusal(store.port),
        code=("runtime/redis_server.py",),
        prepare=lambda: redis_server.prepare(store),
    )
