"""The settings that the shop reads from its environment."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from common.settings import Form, SettingsModel, like
from common.shared_settings import (
    AdsHost,
    AdsPort,
    CatalogueBooks,
    FreePort,
    InnerHost,
    InnerToken,
    InnerTokenRequired,
    Port,
    PostgresDb,
    PostgresHost,
    PostgresPassword,
    PostgresPort,
    PostgresUser,
    RedisHost,
    RedisPassword,
    RedisPort,
    SecretKey,
    ShopControllerPort,
    ShopCpus,
    ShopHost,
    ShopPort,
    ShopWorkers,
    StateDir,
    TelemetryEndpoint,
    TelemetrySampledRatio,
)

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
    state_dir: StateDir
    inner_host: InnerHost
    shop_host: ShopHost
    shop_port: Annotated[FreePort, like(ShopPort, 8082, "port of the shop; 0: any free port")]
    shop_controller_port: Annotated[
        FreePort,
        like(ShopControllerPort, 8083, "port of the controller; 0: any free port"),
    ]
    shop_workers: ShopWorkers
    shop_cpus: ShopCpus
    catalogue_books: CatalogueBooks
    ads_host: AdsHost
    ads_port: Annotated[
        Port | None,
        like(AdsPort, None, "port of the ad server; without this setting, pages have no banners"),
    ]
    inner_token: InnerToken
    inner_token_required: InnerTokenRequired
    secret_key: Annotated[
        str, like(SecretKey, "only-for-a-shop-that-nobody-visits", "Django's secret key")
    ]
    postgres_host: PostgresHost
    postgres_port: PostgresPort
    postgres_user: PostgresUser
    postgres_password: PostgresPassword
    postgres_db: PostgresDb
    redis_host: RedisHost
    redis_port: RedisPort
    redis_password: RedisPassword
    telemetry_endpoint: TelemetryEndpoint
    telemetry_sampled_ratio: TelemetrySampledRatio
