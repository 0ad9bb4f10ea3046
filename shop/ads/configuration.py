"""The ad server's own settings, from the DOORBUSTER_ADS_* environment (docs/ads.md, *Settings*).

Owns: names, defaults and limits. Must not know: Django; what the settings are for.
"""

import os
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from shop.ads.fan_out import check_levels

PREFIX = "DOORBUSTER_ADS_"


class ConfigurationError(ValueError):
    """A setting cannot be used; one line per variable."""


def _levels(value: Any) -> Any:
    """`0=1,1=4`: level 0 has one thread, level 1 has four."""
    if not isinstance(value, str):
        return value
    try:
        pairs = [part.split("=") for part in value.split(",")]
        levels = {int(level): int(threads) for level, threads in pairs}
    except ValueError:
        raise ValueError("write level=threads,level=threads, for example 0=1,1=4") from None
    check_levels(levels)
    return levels


class Configuration(BaseModel):
    """What a process of the ad server is told when it starts."""

    model_config = ConfigDict(frozen=True)

    port: int = Field(8086, ge=1, le=65535)
    processes: int = Field(1, ge=1, le=32)
    """Server processes, each with the whole inventory in memory."""
    threads: int = Field(16, ge=1, le=128)
    """Requests that one process answers at a time."""
    priority_levels: Annotated[dict[int, int], BeforeValidator(_levels)] = {0: 1, 1: 4}
    """Threads that search for a request, by its priority."""
    flush_s: float = Field(1.0, ge=0.05, le=60.0)
    """Delivered impressions are reported to the database so often."""
    block: int = Field(100, ge=1, le=1_000_000)
    """Impressions of one banner that a process may leave unreported: bounds over-delivery."""
    banners: int = Field(200_000, ge=0, le=2_000_000)
    """Size of the inventory that comes with the server."""


def read(environ: Mapping[str, str] = os.environ) -> Configuration:
    """The configuration in these variables. Raises ConfigurationError."""
    given = {
        name: environ[PREFIX + name.upper()]
        for name in Configuration.model_fields
        if environ.get(PREFIX + name.upper())
    }
    try:
        return Configuration.model_validate(given)
    except ValidationError as error:
        lines = [
            f"{PREFIX}{str(fault['loc'][0]).upper()}={fault['input']}: {fault['msg']}"
            for fault in error.errors()
        ]
        raise ConfigurationError("\n".join(lines)) from error
