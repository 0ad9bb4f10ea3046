"""A wrong inventory stops before any change and says which host and which variable."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.settings import REPOSITORY

ANSIBLE = REPOSITORY / "ansible"
PROGRAM = REPOSITORY / ".venv" / "bin" / "ansible-playbook"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="make lab-tools")

PARTS = ("postgres", "redis", "shop", "ads", "gateway", "lab")


def inventory() -> dict[str, Any]:
    hosts = {
        "one": {"doorbuster_address": "10.0.0.1", "ansible_connection": "local"},
        "two": {"doorbuster_address": "10.0.0.2", "ansible_connection": "local"},
    }
    return {"host": {"hosts": hosts}} | {part: {"hosts": {"one": {}}} for part in PARTS}


def preflight(folder: Path, groups: dict[str, Any]) -> tuple[int, str]:
    """Status and output, in one line."""
    path = folder / "hosts.yml"
    path.write_text(yaml.safe_dump(groups))
    done = subprocess.run(
        [PROGRAM, "--inventory", path, "site.yml"],
        cwd=ANSIBLE,
        env={**os.environ, "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, " ".join(done.stdout.split())


def test_a_missing_group(tmp_path: Path) -> None:
    groups = inventory()
    del groups["redis"]
    status, said = preflight(tmp_path, groups)
    assert status != 0
    assert "group redis has 0 hosts (none); allowed is exactly one" in said
    assert "changed=1" not in said


def test_a_part_on_two_hosts(tmp_path: Path) -> None:
    groups = inventory()
    groups["shop"]["hosts"]["two"] = {}
    _, said = preflight(tmp_path, groups)
    assert "group shop has 2 hosts (one, two); allowed is exactly one" in said


def test_a_host_without_an_address(tmp_path: Path) -> None:
    groups = inventory()
    del groups["host"]["hosts"]["two"]["doorbuster_address"]
    _, said = preflight(tmp_path, groups)
    assert "host two: doorbuster_address is missing" in said


def test_an_address_that_the_host_does_not_have(tmp_path: Path) -> None:
    groups = inventory()
    groups["host"]["hosts"]["two"]["doorbuster_address"] = "127.0.0.1"
    _, said = preflight(tmp_path, groups)
    assert "host two: doorbuster_address is 127.0.0.1, where the other hosts do not reach" in said


def test_a_host_that_does_not_answer(tmp_path: Path) -> None:
    groups = inventory()
    groups["host"]["hosts"]["two"] |= {
        "ansible_connection": "ssh",
        "ansible_host": "192.0.2.1",  # of documentation: nobody has it
        "ansible_ssh_common_args": "-o ConnectTimeout=2",
    }
    status, said = preflight(tmp_path, groups)
    assert status != 0
    assert "host two: cannot be reached at ansible_host=192.0.2.1" in said
    assert "changed=1" not in said
