"""The origin of a result: how long its launch took, who launched or imported it, and the
differences between its machine and this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lab.console.models import Launch
from lab.console.results.result_list import ResultEntry
from lab.console.site.settings import LAB
from lab.machine.description import describe_machine, describe_versions


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of the result list: a result and its origin."""

    result: ResultEntry
    took_s: float | None
    """The real seconds of the last launch, or of a reference result's command; None if unknown."""
    by: str
    """The person who launched or imported it; `Doorbuster` for a reference; empty if unknown."""


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


MACHINE = {"cpu": "CPU", "cpus": "CPUs", "memory_gib": "GiB of memory", "shop_workers": "workers"}
"""The properties of a machine that determine the speed of a live run."""
CODE = {"code": "code of the experiments", "parts": "code of gateway, shop and hosting platform"}
VERSIONS = {**CODE, "python": "Python"}


def differences(result: ResultEntry) -> list[str]:
    """Return the known differences of machine and versions between the result and this lab, such as
    `CPUs: 4 there, 2 here`. If the result has a fingerprint of its code, the versions of Doorbuster
    are not compared, because the same code gives the same results."""
    versions = result.facts("versions")
    names = VERSIONS if CODE.keys() <= versions.keys() else {**VERSIONS, "doorbuster": "version"}
    if result.engine == "simulated":
        names = {name: words for name, words in names.items() if name != "parts"}
    pairs = (
        (MACHINE, result.facts("machine"), describe_machine(LAB)),
        (names, versions, describe_versions()),
    )
    return [line for names, there, here in pairs for line in _unlike(names, there, here)]


def _unlike(
    names: Mapping[str, str], there: Mapping[str, Any], here: Mapping[str, Any]
) -> list[str]:
    return [
        f"{words}: {there[name]} there, {here.get(name)} here"
        for name, words in names.items()
        if name in there and there[name] != here.get(name)
    ]
