"""Labs on system containers; `make test-ansible` asks for them."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ansible.machines import Machines, missing_tools

ASKED_FOR = "DOORBUSTER_TEST_ANSIBLE"


@pytest.fixture(scope="module")
def lab(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machines]:
    """The hosts of the module's INVENTORY, with NAMES and VARIABLES, fresh from Debian."""
    if os.environ.get(ASKED_FOR) != "1":
        pytest.skip("make test-ansible")
    if why := missing_tools():
        pytest.skip(why)
    module: Any = request.module
    folder: Path = tmp_path_factory.mktemp(module.INVENTORY)
    prefix = f"doorbuster-lab-{secrets.token_hex(3)}"
    machines = Machines(folder, module.INVENTORY, module.NAMES, prefix, module.VARIABLES)
    try:
        machines.start()
        yield machines
    finally:
        machines.stop()
