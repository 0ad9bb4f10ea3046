"""The number of threads for which the appliance's PostgreSQL has free connections.

Each thread of a shop keeps a connection (docs/decisions/0005-shop-database-connections.md).
"""

import psycopg

from common import hosts, log_tail
from hosting.options import MOST_THREADS
from hosting.starting import HostingError
from runtime.native import redis_server
from runtime.settings import Settings

BESIDE_THREADS = 3
"""The number of connections of a shop process in addition to those of its threads. It includes at
least one connection for the controller, and at least one to cancel queries.
"""
FOR_OTHERS = 30
"""The number of connections that stay free for the ad server, the console, seeding and people."""
LEAST_THREADS = 2


def threads_of_a_shop(lab: Settings, shop_processes: int, wanted: int | None) -> int:
    """Return the number of threads for each shop process that runs in addition to the appliance's
    shop.

    The number is `wanted` or, without it, the largest number for which PostgreSQL has connections,
    at most MOST_THREADS. Raises HostingError if PostgreSQL has too few connections or does not
    answer.
    """
    room = _connections(lab) - lab.shop_workers - FOR_OTHERS
    fitting = room // shop_processes - BESIDE_THREADS
    least = wanted or LEAST_THREADS
    if fitting < least:
        needed = shop_processes * (least + BESIDE_THREADS) + lab.shop_workers + FOR_OTHERS
        raise HostingError(
            f"with {shop_processes} shop processes of {least} threads each, PostgreSQL must accept "
            f"{needed} connections, but it accepts {_connections(lab)}; fix: "
            "use fewer applications or CPUs, or fewer threads for each shop"
        )
    return wanted or min(fitting, MOST_THREADS)


def check_redis(lab: Settings) -> None:
    if (why := redis_server.refusal(lab.redis_port, lab.redis_host)) is not None:
        raise _not_up("Redis", hosts.authority(lab.redis_host, lab.redis_port), why)


def _connections(lab: Settings) -> int:
    try:
        with psycopg.connect(
            host=lab.postgres_host,
            port=lab.postgres_port,
            user=lab.postgres_user,
            password=lab.postgres_password,
            dbname=lab.postgres_db,
            connect_timeout=10,
        ) as connection:
            row = connection.execute(
                "SELECT current_setting('max_connections')::int"
                " - current_setting('superuser_reserved_connections')::int"
            ).fetchone()
    except psycopg.OperationalError as error:
        raise _not_up(
            "PostgreSQL", hosts.authority(lab.postgres_host, lab.postgres_port), str(error)
        ) from None
    assert row is not None
    return int(row[0])


def _not_up(who: str, where: str, why: str) -> HostingError:
    return HostingError(
        f"{who} does not answer on {where} ({log_tail.last_line(why)}); the platform uses the "
        f"appliance's {who}; fix: `make up`"
    )
