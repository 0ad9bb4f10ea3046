"""What is not the same here as where a result was made.

Owns: which facts of machine and versions matter to somebody who compares or runs it again.
Must not know: pages, the queue.
"""

from collections.abc import Mapping
from typing import Any

from lab.console.settings import LAB
from lab.console.shelf import Shelved
from lab.experiments.machine import describe_machine, describe_versions

MACHINE = {"cpu": "CPU", "cpus": "CPUs", "memory_gib": "GiB of memory", "shop_workers": "workers"}
"""What decides how fast a live run is; a kernel's patch level is on the page below."""
VERSIONS = {"code": "code of the experiments", "python": "Python", "doorbuster": "version"}


def differences(result: Shelved) -> list[str]:
    """A line for each: `CPUs: 4 there, 2 here`; empty where all is alike or nothing is known."""
    pairs = (
        (MACHINE, result.facts("machine"), describe_machine(LAB)),
        (VERSIONS, result.facts("versions"), describe_versions()),
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
