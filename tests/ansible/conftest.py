"""Labs on system containers, which only `make test-ansible` starts."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.machines import Machines, fresh_image, missing_tools, prepared_image

ASKED_FOR = "DOORBUSTER_TEST_ANSIBLE"


def made(
    request: pytest.FixtureRequest, folder: Path, inventory: str, names: list[str]
) -> Iterator[Machines]:
    """Yield the hosts of an inventory, with the module's SUITE, FRESH, VARIABLES and GROUPS."""
    if os.environ.get(ASKED_FOR) != "1":
        pytest.skip("make test-ansible")
    if why := missing_tools():
        pytest.skip(why)
    module: Any = request.module
    suite = getattr(module, "SUITE", "bookworm")
    seeds = folder / "seed"
    seeds.mkdir()
    image = fresh_image(suite) if getattr(module, "FRESH", False) else prepared_image(suite, seeds)
    prefix = f"doorbuster-lab-{secrets.token_hex(3)}"
    machines = Machines(folder, inventory, names, prefix=prefix)
    machines.variables |= getattr(module, "VARIABLES", {})
    machines.groups |= getattr(module, "GROUPS", {})
    try:
        machines.start(image)
        yield machines
    finally:
        machines.stop()


@pytest.fixture(scope="module")
def lab(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    """Yield the hosts NAMES of the module's INVENTORY."""
    module: Any = request.module
    folder = tmp_path_factory.mktemp(module.INVENTORY)
    yield from made(request, folder, module.INVENTORY, module.NAMES)
