"""The events of a run as text, for marks in diagrams."""

from collections.abc import Mapping
from typing import Any

from lab.titles import title_of

FAULT_BEGINS = {"slow-database": "the database is slow"}
FAULT_ENDS = {"slow-database": "the database is normal again"}


def load_words(rho: float | None) -> str:
    """Return a run's offered load as text; a load of None means a closed loop."""
    return "closed loop" if rho is None else f"ρ = {rho:g}"


def factor_words(factor: float, rho: float | None = None) -> str:
    """Return the text that describes a change of the load; with `rho`, the load of the plan, the
    text also gives the new load."""
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
