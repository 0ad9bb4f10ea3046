"""A lab on virtual machines, which only `make test-vm` starts."""

import os
from collections.abc import Iterator

import pytest
import yaml

from tests.ansible.playing import ANSIBLE
from tests.vm.guests import Guests, image, missing_tools

ASKED_FOR = "DOORBUSTER_TEST_VM"
"""The inventory, and after it the hosts of the inventory that take part; none: all of them."""


def groups(inventory: str) -> dict[str, list[str]]:
    """Return the hosts of every group, as the inventory has them."""
    text = (ANSIBLE / "inventories" / inventory / "hosts.yml").read_text()
    return {part: list(group["hosts"]) for part, group in yaml.safe_load(text).items()}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guests]:
    """Yield the running machines of the inventory, with a fresh Debian 12."""
    inventory, *hosts = os.environ.get(ASKED_FOR, "").split() or [""]
    if not inventory:
        pytest.skip("make test-vm")
    if why := missing_tools():
        pytest.exit(f"make test-vm: {why}", 2)
    names = hosts or groups(inventory)["host"]
    guests = Guests(tmp_path_factory.mktemp(inventory), inventory, names)
    try:
        guests.start(image("bookworm"))
        yield guests
    finally:
        guests.stop()


@pytest.fixture
def limited(lab: Guests) -> tuple[str, str]:
    """Return the first part whose hardware the inventory limits: its host and its name."""
    text = (ANSIBLE / "inventories" / lab.inventory / "group_vars" / "all.yml").read_text()
    part = next(iter(yaml.safe_load(text)["doorbuster_limits"]))
    return groups(lab.inventory)[part][0], part
