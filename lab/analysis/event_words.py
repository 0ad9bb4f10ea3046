"""The events of a run in words, for marks in diagrams."""

from collections.abc import Mapping
from typing import Any

from lab.titles import title_of


def load_words(rho: float | None) -> str:
    """What load a run has; `rho` None: clients in a closed loop offer none."""
    return "closed loop" if rho is None else f"ρ = {rho:g}"


def factor_words(factor: float) -> str:
    """The load is changed."""
    return f"load × {factor:g}"


def leaving_words(abandonment: str) -> str:
    """What becomes of the request of a customer who leaves."""
    return f"who leaves: {title_of(abandonment)}"


def event_words(event: Mapping[str, Any]) -> str:
    """An event of a run's log, as `events.jsonl` has it."""
    if event["event"] == "switched":
        return f"{title_of(event['policy']['name'])}, {leaving_words(event['abandonment'])}"
    if event["event"] == "load changed":
        return factor_words(event["factor"])
    return str(event["event"])
