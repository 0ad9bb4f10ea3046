"""Texts for users: the titles of policies, rounded durations, and the events of a run."""

from collections.abc import Mapping
from typing import Any

from gateway.policies import ADMISSIONS, NO_ADMISSION, POLICIES, registry

TITLES = {
    **{
        sheet.name: sheet.title or sheet.name
        for sheet in (*map(registry.sheet, POLICIES), *map(registry.admission_sheet, ADMISSIONS))
        if sheet.name != NO_ADMISSION
    },
    "haproxy": "HAProxy",
    "nginx": "nginx",
    "ignore": "ignore",
    "drop-queued": "drop queued",
    "cancel": "cancel",
}
"""The title of each policy (from its data sheet), baseline proxy and abandonment mode, by name."""


def title_of(key: str) -> str:
    """Return the title of a policy, or of a combination `queueing+admission+abandonment`.

    Any other label is returned unchanged.
    """
    parts = key.split("+")
    if any(part not in TITLES for part in parts):
        return key
    return " + ".join(TITLES[part] for part in parts)


def title_in_force(policy: Mapping[str, Any]) -> str:
    """Return the title of a policy that the gateway reported: e.g. `8Q-LIFO-Pri + SBAC hybrid`."""
    parts = (policy["name"], policy["admission"]["name"])
    return title_of("+".join(part for part in parts if part != NO_ADMISSION))


def duration(real_s: float) -> str:
    """Return a rounded duration as text: `40 s`, `3 min` or `1 h 20 min`."""
    if real_s < 90:
        return f"{max(1, round(real_s))} s"
    minutes = round(real_s / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02} min"


FAULT_BEGINS = {"slow-database": "the database is slow"}
FAULT_ENDS = {"slow-database": "the database is normal again"}


def load_words(rho: float | None) -> str:
    """Return a run's offered load as text; a load of None means a closed loop."""
    return "closed loop" if rho is None else f"ρ = {rho:g}"


def factor_words(factor: float, rho: float | None = None) -> str:
    """Return the text that describes a change of the load. With `rho`, the planned load, the text
    includes the new load.
    """
    return f"load × {factor:g}" + ("" if rho is None else f" (ρ = {rho * factor:.3g})")


def leaving_words(abandonment: str) -> str:
    """Return the text about a run's abandonment mode."""
    return f"when a customer leaves: {title_of(abandonment)}"


def event_words(event: Mapping[str, Any]) -> str:
    """Return the text for an event of `events.jsonl`."""
    if event["event"] == "switched":
        return f"{title_of(event['policy']['name'])}, {leaving_words(event['abandonment'])}"
    if event["event"] == "load changed":
        return factor_words(event["factor"])
    if event["event"] == "fault":
        return FAULT_BEGINS.get(event["name"], str(event["name"]))
    if event["event"] == "fault over":
        return FAULT_ENDS.get(event["name"], f"{event['name']} ends")
    return str(event["event"])
