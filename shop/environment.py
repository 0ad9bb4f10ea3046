"""The settings that the shop reads from its environment."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from common import shared_settings
from common.settings import Form, SettingsModel, like

_TAKEN = "ads, information_schema or shop"
_SCHEMA = (
    "up to 40 lower-case letters, digits and underscores, beginning with a letter, but not with "
    f"`pg_`; not {_TAKEN}"
)


def _schema(text: str) -> str:
    # PostgreSQL and the ad server have schemas with these names. The first shop's keys in Redis
    # begin with `shop`.
    if not re.fullmatch(r"(?!pg_|(ads|information_schema|shop)$)[a-z][a-z0-9_]{0,39}", text):
        raise ValueError(f"must be {_SCHEMA}")
    return text


class Environment(SettingsModel):
    """The settings that the shop reads from its environment; `shop.settings` has Django's
    settings.
    """

    shop_schema: Annotated[str, AfterValidator(_schema), Form(_SCHEMA)] = Field(
        "public",
        description="schema of the shop's tables; shops with different schemas can share a "
        "database and a Redis server",
    )
    state_dir: shared_settings.StateDir
    inner_host: shared_settings.InnerHost
    shop_host: shared_settings.ShopHost
    shop_port: Annotated[
        shared_settings.FreePort,
        like(shared_settings.ShopPort, 8082, "port of the shop; 0: any free port"),
    ]
    shop_controller_port: Annotated[
        shared_settings.FreePort,
        like(shared_settings.ShopControllerPort, 8083, "port of the controller; 0: any free port"),
    ]
    shop_workers: shared_settings.ShopWorkers
    shop_cpus: shared_settings.ShopCpus
    catalogue_books: shared_settings.CatalogueBooks
    ads_host: shared_settings.AdsHost
    ads_port: Annotated[
        shared_settings.Port | None,
        like(
            shared_settings.AdsPort,
            None,
            "port of the ad server; without this setting, pages have no banners",
        ),
    ]
    inner_token: shared_settings.InnerToken
    inner_token_required: shared_settings.InnerTokenRequired
    secret_key: Annotated[
        str,
        like(
            shared_settings.SecretKey, "only-for-a-shop-that-nobody-visits", "Django's secret key"
        ),
    ]
    postgres_host: shared_settings.PostgresHost
    postgres_port: shared_settings.PostgresPort
    postgres_user: shared_settings.PostgresUser
    postgres_password: shared_settings.PostgresPassword
    postgres_db: shared_settings.PostgresDb
    redis_host: shared_settings.RedisHost
    redis_port: shared_settings.RedisPort
    redis_password: shared_settings.RedisPassword
    telemetry_endpoint: shared_settings.TelemetryEndpoint
    telemetry_sampled_ratio: shared_settings.TelemetrySampledRatio
