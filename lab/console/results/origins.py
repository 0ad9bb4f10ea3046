"""The origin of each result in a list: how long its launch took, and who launched or imported
it."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.console.models import Launch
from lab.console.results.result_list import ResultEntry


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the result list: a result and its origin."""

    result: ResultEntry
    took_s: float | None
    """The real seconds of the result's last launch; None for imported results and for results made
    at a terminal."""
    by: str
    """The person who launched or imported the result; empty if this is unknown."""


def listed(results: Sequence[ResultEntry]) -> list[Listed]:
    """Return these results with their origins."""
    launches = {
        one.result: one
        for one in Launch.objects.filter(result__in=[one.name for one in results])
        .only("result", "by", "began_at", "ended_at")
        .order_by("asked_at")
    }
    return [_listed(one, launches.get(one.name)) for one in results]


def _listed(result: ResultEntry, launch: Launch | None) -> Listed:
    if result.reference:
        return Listed(result, result.reference.took_real_s or None, "Doorbuster")
    if result.imported:
        return Listed(result, None, result.imported.by)
    return Listed(result, launch.took_s if launch else None, launch.by if launch else "")
