"""Definitions of virtual machines: what cloud-init and libvirt read of an inventory."""

import shutil
import subprocess
import xml.etree.ElementTree as Tree
from pathlib import Path

import pytest
import yaml

from tests.ansible.playing import played, with_tools

pytestmark = [pytest.mark.slow, with_tools]


@pytest.fixture(scope="module")
def vms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vms")
    given = f"doorbuster_vms={folder}/made doorbuster_vm_ssh_key=ssh-ed25519"
    inventory = "inventories/ad-server/hosts.yml"
    status, said = played(folder, "-i", inventory, "vms.yml", "-e", given)
    assert status == 0, said
    return folder / "made"


def test_a_machine_has_the_hardware_of_its_host(vms: Path) -> None:
    server, client = (
        Tree.parse(vms / name / "domain.xml").getroot() for name in ("server", "client-1")
    )
    assert (server.findtext("name"), server.findtext("vcpu")) == ("doorbuster-server", "4")
    assert client.findtext("vcpu") == "2"
    assert server.findtext("memory") == "2048"


def test_the_seed_is_a_disk_that_every_kernel_of_debian_finds(vms: Path) -> None:
    """Debian's cloud kernel has no driver for a CD-ROM on SATA."""
    targets = Tree.parse(vms / "server" / "domain.xml").getroot().iterfind("devices/disk/target")
    assert [target.get("bus") for target in targets] == ["virtio", "virtio"]


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


def said_of(*command: str | Path) -> str:
    """What a checker says of a file it finds good."""
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"only a host of virtual machines has {command[0]}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("host", ["server", "client-1"])
def test_libvirt_takes_the_domain(vms: Path, host: str) -> None:
    """Against the schemas of the distribution's libvirt."""
    assert "validates" in said_of("virt-xml-validate", vms / host / "domain.xml", "domain")


def test_cloud_init_takes_the_rest(vms: Path) -> None:
    folder = vms / "server"
    said = said_of("cloud-init", "schema", "--config-file", folder / "user-data")
    assert "Valid" in said


def test_a_seed_is_made_of_it(vms: Path, tmp_path: Path) -> None:
    """The image with which cloud-init is told, as create.sh makes it."""
    folder, seed = vms / "server", tmp_path / "seed.iso"
    network = f"--network-config={folder / 'network-config'}"
    said_of("cloud-localds", network, seed, folder / "user-data", folder / "meta-data")
    assert seed.stat().st_size > 0
