"""Calls that add a shadow to the running gateway and remove it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from lab.engines.live.appliance import Appliance


def add(appliance: Appliance, policy: Mapping[str, Any]) -> None:
    """`policy` as `PUT /policy` takes it, beside those there are. Raises ExperimentError."""
    appliance.gateway.call("POST", "/shadows", policy)


def take_away(appliance: Appliance, name: str) -> None:
    """All but the one of this name. Raises ExperimentError, also when it has gone already."""
    appliance.gateway.call("DELETE", f"/shadows/{quote(name, safe='')}")
