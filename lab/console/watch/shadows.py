"""Functions that add a shadow to the running gateway and remove it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from lab.engines.live.appliance import Appliance

WITHOUT_RUN = (
    "No run is in progress: the shadow sees only visitors' requests, and ends when a run begins."
)


def add(appliance: Appliance, policy: Mapping[str, Any]) -> None:
    """Add a shadow; `policy` has the form of `PUT /policy`. Raises ExperimentError."""
    appliance.gateway.call("POST", "/shadows", policy)


def remove(appliance: Appliance, name: str) -> None:
    """Remove the shadow with this name. Raises ExperimentError, for example if the shadow has
    already ended.
    """
    appliance.gateway.call("DELETE", f"/shadows/{quote(name, safe='')}")
