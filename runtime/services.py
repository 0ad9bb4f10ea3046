"""The services of the appliance, in the order they start."""

from pathlib import Path

from runtime import database_services, lab_services, monitoring_services, shop_services
from runtime.service import Service
from runtime.settings import REPOSITORY, Settings
from runtime.state import State


def table(settings: Settings, state: State) -> list[Service]:
    """Return the services in the order they start; they stop in the reverse order.

    Raises `PostgresError`, `RedisError` or `LookupError` when a program is missing.
    """
    return [
        database_services.postgres_service(settings, state),
        database_services.redis_service(settings, state),
        database_services.broker_service(settings, state),
        shop_services.shop(settings),
        shop_services.ads(settings),
        shop_services.gateway(settings),
        lab_services.lab(settings),
        lab_services.lab_worker(settings),
        *(monitoring_services.watchers(settings) if settings.monitoring else ()),
    ]


def locked_dependencies() -> Path:
    """Return the file whose change means that every service runs on other libraries."""
    return REPOSITORY / "uv.lock"
