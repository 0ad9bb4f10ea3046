"""Shadows of the running gateway: one more, one less.

Owns: the list that the gateway is told. Must not know: pages, what a shadow does.
"""

from collections.abc import Mapping
from typing import Any

from lab.experiments.appliance import Appliance, Json
from lab.experiments.errors import ExperimentError


def add(appliance: Appliance, policy: Mapping[str, Any]) -> None:
    """`policy` as `PUT /policy` takes it, beside those there are. Raises ExperimentError."""
    going = [_call(one) for one in _running(appliance)]
    if policy in going:
        raise ExperimentError("This policy is asked already.")
    _put(appliance, [*going, policy])


def take_away(appliance: Appliance, name: str) -> None:
    """All but the one of this name, which may have gone already. Raises ExperimentError."""
    _put(appliance, [_call(one) for one in _running(appliance) if one["name"] != name])


def _running(appliance: Appliance) -> list[Json]:
    return list(appliance.gateway.call("GET", "/shadows")["shadows"])


def _call(shadow: Json) -> Json:
    """A shadow as it was asked for; a student's own by the path of its file."""
    policy = shadow["policy"]
    return {
        "name": policy.get("file", policy["name"]),
        "parameters": policy["parameters"],
        "admission": policy["admission"],
    }


def _put(appliance: Appliance, policies: list[Any]) -> None:
    appliance.gateway.call("PUT", "/shadows", {"policies": policies})
