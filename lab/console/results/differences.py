"""The differences between this machine and the machine on which a result was made."""

from collections.abc import Mapping
from typing import Any

from lab.console.results.result_list import ResultEntry
from lab.console.site.settings import LAB
from lab.machine.description import describe_machine, describe_versions

MACHINE = {"cpu": "CPU", "cpus": "CPUs", "memory_gib": "GiB of memory", "shop_workers": "workers"}
"""The properties of a machine that determine the speed of a live run; the kernel's patch level is
left out.
"""
CODE = {"code": "code of the experiments", "parts": "code of shop and gateway"}
VERSIONS = {**CODE, "python": "Python"}


def differences(result: ResultEntry) -> list[str]:
    """Return a line for each difference, such as `CPUs: 4 there, 2 here`; empty if no difference is
    known.

    Versions are compared only if a result has no fingerprint of its code, because versions with the
    same code give the same results.
    """
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
