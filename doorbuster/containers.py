"""The choice whether a command runs on this machine or in a container of the appliance."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

_IS_CHECKOUT = (Path(__file__).parents[1] / "docker-compose.yml").is_file()
"""Whether the code runs from a clone of the repository; the appliance's containers need a clone."""


def run_inside(arguments: Sequence[str]) -> int | None:
    """Run `doorbuster ARGUMENTS` in a container of the appliance; return its exit status.

    Returns None if the appliance does not run in containers; the caller then runs the command.
    """
    wants_containers = os.environ.get("RUNTIME", "") not in ("", "native")
    if not _IS_CHECKOUT or not (wants_containers or shutil.which("docker")):
        return None  # without the import of the runtime, which takes a second
    from runtime import commands

    return commands.run_inside(("doorbuster", *arguments))
