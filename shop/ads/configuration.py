"""The ad server's settings, read from its environment (docs/settings.md)."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field

from common import settings as reader
from common.settings import PREFIX, Form, SettingsError, SettingsModel
from common.shared_settings import AdsBanners, AdsPort
from shop.ads.selection.fan_out import check_levels

__all__ = ["Configuration", "SettingsError", "read"]


def _levels(value: Any) -> Any:
    """Read a text such as `0=1,1=4`: level 0 has one thread, and level 1 has four."""
    if not isinstance(value, str):
        return value
    try:
        pairs = [part.split("=") for part in value.split(",")]
        levels = {int(level): int(threads) for level, threads in pairs}
    except ValueError:
        raise ValueError("must be level=threads,level=threads, for example 0=1,1=4") from None
    check_levels(levels)
    return levels


Levels = Annotated[
    dict[int, int],
    BeforeValidator(_levels),
    Form(
        "pairs level=threads, separated by commas; levels are numbered from 0 and have 1 to 8 "
        "threads each"
    ),
]


class Configuration(SettingsModel):
    """The settings of an ad server process."""

    prefix: ClassVar[str] = PREFIX + "ADS_"

    port: AdsPort
    processes: Annotated[int, Field(ge=1, le=32)] = Field(
        1, description="number of server processes, each with the whole inventory in memory"
    )
    threads: Annotated[int, Field(ge=1, le=128)] = Field(
        16, description="number of requests that a process answers at the same time"
    )
    priority_levels: Levels = Field(
        {0: 1, 1: 4},
        description="for each priority level, the number of threads that search for a request",
        json_schema_extra={"shown": "`0=1,1=4`"},
    )
    flush_s: Annotated[float, Field(ge=0.05, le=60.0)] = Field(
        1.0, description="time between two reports of delivered banners to the database"
    )
    block: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        100,
        description="maximum number of a banner's impressions that a process has not reported yet; "
        "it limits over-delivery",
    )
    banners: AdsBanners


def read(environ: Mapping[str, str] = os.environ) -> Configuration:
    """Return the configuration in these variables; raise SettingsError if one is invalid."""
    return reader.read(Configuration, environ)
