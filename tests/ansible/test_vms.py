"""Definitions of virtual machines: what cloud-init and libvirt read of an inventory."""

import os
import subprocess
import xml.etree.ElementTree as Tree
from pathlib import Path

import pytest
import yaml

from runtime.settings import REPOSITORY

ANSIBLE = REPOSITORY / "ansible"
PROGRAM = REPOSITORY / ".venv" / "bin" / "ansible-playbook"

pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="make lab-tools")


@pytest.fixture(scope="module")
def vms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vms")
    given = f"doorbuster_vms={folder}/made doorbuster_vm_ssh_key=ssh-ed25519"
    done = subprocess.run(
        [PROGRAM, "-i", "inventories/ad-server/hosts.yml", "vms.yml", "-e", given],
        cwd=ANSIBLE,
        env={**os.environ, "ANSIBLE_HOME": str(folder / "ansible"), "ANSIBLE_NOCOLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return folder / "made"


def test_a_machine_has_the_hardware_of_its_host(vms: Path) -> None:
    server, client = (
        Tree.parse(vms / name / "domain.xml").getroot() for name in ("server", "client-1")
    )
    assert (server.findtext("name"), server.findtext("vcpu")) == ("doorbuster-server", "4")
    assert client.findtext("vcpu") == "2"
    assert server.findtext("memory") == "2048"


def test_it_gets_the_address_of_the_inventory(vms: Path) -> None:
    network = yaml.safe_load((vms / "client-2" / "network-config").read_text())
    (lab,) = network["ethernets"].values()
    assert lab["addresses"] == ["10.0.0.13/24"]
    assert lab["routes"] == [{"to": "default", "via": "10.0.0.1"}]


def test_one_gets_in_by_key_only(vms: Path) -> None:
    text = (vms / "server" / "user-data").read_text()
    assert text.startswith("#cloud-config\n")
    data = yaml.safe_load(text)
    assert data["ssh_pwauth"] is False
    assert data["users"][0]["ssh_authorized_keys"] == ["ssh-ed25519"]


def test_one_script_makes_them_all(vms: Path) -> None:
    script = vms / "create.sh"
    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert "for host in server client-1 client-2; do" in script.read_text()
