"""Virtual machines as hosts of a lab: QEMU with the definitions of `make lab-vms`."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as Tree
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common import ports
from common.hosts import LOOPBACK
from common.waiting import retry, wait_until
from runtime.docs_site import SITE
from runtime.settings import REPOSITORY
from tests.ansible.hosts import Hosts
from tests.ansible.machines import PACKAGES
from tests.ansible.playing import played
from tests.vm.switch import Switch

PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "debootstrap": "debootstrap",
    "cloud-localds": "cloud-image-utils",
    "ssh": "openssh-client",
}
"""The Debian package of each program."""
KEPT = REPOSITORY / "build" / "vm"
USER = "doorbuster-admin"
NETWORK, GATEWAY, NAMESERVER = "10.0.0.0/24", "10.0.0.1", "10.0.0.3"
FORWARDED = (22, 2222, 8080, 9999)
"""The ports of every guest that this machine can reach, each by a port of its own."""
# An emulated processor is twenty to fifty times as slow as a real one.
UP_WITHIN_S = 1200.0
KVM_WITHIN_S = 20.0
# At the usual ten paper seconds per second, it serves too few pages to measure a capacity.
EMULATED_COMPARISON = ["--policies", "sq,8q-lifo-pri", "--rho", "1.4", "--sessions", "20"]
EMULATED_COMPARISON += ["--repetitions", "1", "--time-scale", "1"]
LINE = "root=LABEL=doorbuster ro console=ttyS0 mitigations=off"


def missing_tools() -> str:
    """Return why this machine can have no virtual machines; empty if it can."""
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"{program} is missing; Debian package: {package}"
    return "" if os.geteuid() == 0 else "only root makes the disk of a virtual machine"


def image(suite: str) -> Path:
    """Return the folder with disk, kernel and initramfs of a fresh Debian; make it if it is
    missing."""
    script = Path(__file__).with_name("image.sh")
    recipe = hashlib.sha256(script.read_bytes() + repr(PACKAGES).encode()).hexdigest()[:12]
    folder = KEPT / f"{suite}-{recipe}"
    if not (folder / "disk.qcow2").exists():
        subprocess.run([str(script), str(folder), suite, *PACKAGES], check=True, timeout=3600)
    return folder


def accelerator(made: Path) -> str:
    """Return `kvm` if a kernel starts with it within 20 seconds, otherwise `tcg`."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    # The kernel finds no disk and gives up, which ends QEMU.
    command = [
        *("qemu-system-x86_64", "-machine", "q35", "-accel", "kvm", "-cpu", "host", "-m", "256"),
        *("-nodefaults", "-display", "none", "-serial", "stdio", "-no-reboot"),
        *("-kernel", str(made / "vmlinuz"), "-append", "console=ttyS0 panic=-1"),
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=KVM_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "tcg"
    return "kvm" if "Linux version" in done.stdout else "tcg"


@dataclass
class Guests(Hosts):
    """Virtual machines by the name of their host, on a network of their own."""

    converged_within_s: float = 4 * 3600.0
    accelerator: str = "tcg"
    _switch: Switch = field(default_factory=Switch)
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _forwarded: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if certificate := os.environ.get("PIP_CERT"):
            self.variables.setdefault("doorbuster_package_environment", {"PIP_CERT": certificate})

    def start(self, made: Path) -> None:
        """Define the machines with `make lab-vms`, start them, and wait for their cloud-init."""
        self.prepare()
        self.accelerator = accelerator(made)
        if self.accelerator == "tcg":
            self.variables["doorbuster_verify_comparison"] = EMULATED_COMPARISON
        self.addresses = {name: f"10.0.0.{11 + n}" for n, name in enumerate(self.names)}
        definitions = self._define()
        plugs = {name: self._switch.plug("lab") for name in self.names}
        self._start_world()
        self._switch.start()
        for number, name in enumerate(self.names):
            self._start_guest(name, made, definitions / name, plugs[name], number)
        for name in self.names:
            self.wait_for_ssh(name, UP_WITHIN_S)
            # cloud-init may restart the SSH server, which ends this connection.
            retry(
                lambda: self.ssh(name, "cloud-init status --wait"),  # noqa: B023
                AssertionError,
                UP_WITHIN_S,
                every_s=5,
            )

    def stop(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()
        self._switch.stop()

    def reboot(self, name: str) -> None:
        """Reboot the guest as an administrator does, and wait until it has started again."""
        boot = self.ssh(name, "cat /proc/sys/kernel/random/boot_id")
        # The connection may end before the command does.
        with contextlib.suppress(AssertionError):
            self.ssh(name, "systemctl reboot")

        def rebooted() -> None:
            assert self.ssh(name, "cat /proc/sys/kernel/random/boot_id") != boot

        retry(rebooted, AssertionError, UP_WITHIN_S, every_s=2)
        up = wait_until(
            lambda: self.ssh(name, "systemctl is-system-running || true") != "starting",
            UP_WITHIN_S,
            every_s=5,
        )
        assert up, self.ssh(name, "systemctl list-jobs")

    def give_documentation(self, name: str) -> None:
        """Copy the documentation site from this machine to the guest. Sphinx may take ten minutes,
        and on an emulated processor it takes longer."""
        build = [sys.executable, "-m", "runtime.docs_site", "--if-stale"]
        subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True, timeout=1200)
        there = "/opt/doorbuster/build"
        unpack = f"mkdir -p {there} && tar -xz -C {there} && chown -R root:root {there}"
        packed = ["tar", "-cz", "-C", str(SITE.parent), SITE.name]
        with subprocess.Popen(packed, stdout=subprocess.PIPE) as packing:
            subprocess.run(
                self.ssh_command(name, unpack), stdin=packing.stdout, check=True, timeout=1200
            )

    def connection(self, name: str) -> dict[str, Any]:
        return {
            "ansible_host": LOOPBACK,
            "ansible_port": self.port(name, 22),
            "ansible_user": USER,
        }

    def port(self, name: str, inside: int) -> int:
        """Return the port of this machine that leads to a port of the guest."""
        return self._forwarded[name, inside]

    def _define(self) -> Path:
        """Write the definitions of `make lab-vms` for this inventory."""
        hosts = {name: {"doorbuster_address": at} for name, at in self.addresses.items()}
        here = self.folder / "vms.json"
        here.write_text(json.dumps({"host": {"hosts": hosts}}))
        made = self.folder / "vms"
        given = {
            "doorbuster_vms": str(made),
            "doorbuster_vm_ssh_key": self.key.with_suffix(".pub").read_text().strip(),
            "doorbuster_vm_nameserver": NAMESERVER,
            "ansible_user": USER,
        }
        inventory = f"inventories/{self.inventory}/hosts.yml"
        limit = ":".join(self.names)
        status, said = played(
            self.folder,
            *("-i", inventory, "-i", here, "--limit", limit, "vms.yml", "-e", json.dumps(given)),
        )
        assert status == 0, said
        return made

    def _start_world(self) -> None:
        """Start the network's way out, a QEMU without a machine, and the ways to the guests."""
        forwards = []
        for name, address in self.addresses.items():
            for port in FORWARDED:
                here = self._forwarded[name, port] = ports.free(1)[0]
                forwards.append(f"hostfwd=tcp:{LOOPBACK}:{here}-{address}:{port}")
        user = f"user,id=world,net={NETWORK},host={GATEWAY},dns={NAMESERVER},{','.join(forwards)}"
        command = ["qemu-system-x86_64", "-machine", "none", "-nodefaults", "-display", "none"]
        for number, netdev in enumerate((user, self._switch.plug("wire"))):
            given = netdev.split(",")[1].removeprefix("id=")
            command += ["-netdev", netdev]
            command += ["-netdev", f"hubport,hubid=0,id=port{number},netdev={given}"]
        self._run("", command)

    def _start_guest(self, name: str, made: Path, defined: Path, plug: str, number: int) -> None:
        domain = Tree.parse(defined / "domain.xml").getroot()
        disk, seed = self.folder / f"{name}.qcow2", self.folder / f"{name}-seed.iso"
        base = str(made / "disk.qcow2")
        _call("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", base, str(disk))
        network = f"--network-config={defined / 'network-config'}"
        _call(
            "cloud-localds",
            network,
            *map(str, (seed, defined / "user-data", defined / "meta-data")),
        )
        threads = ",thread=multi" if self.accelerator == "tcg" else ""
        self._run(
            name,
            [
                *("qemu-system-x86_64", "-machine", "q35", "-nodefaults", "-display", "none"),
                *("-accel", f"{self.accelerator}{threads}"),
                *("-cpu", "host" if self.accelerator == "kvm" else "max"),
                *("-smp", str(domain.findtext("vcpu")), "-m", str(domain.findtext("memory"))),
                *("-serial", f"file:{self.folder / name}.console"),
                *("-kernel", str(made / "vmlinuz"), "-initrd", str(made / "initrd.img")),
                *("-append", LINE),
                *("-drive", f"file={disk},if=virtio,format=qcow2,cache=unsafe"),
                *("-drive", f"file={seed},if=virtio,format=raw,readonly=on"),
                *("-netdev", plug),
                *("-device", f"virtio-net-pci,netdev=lab,mac=52:54:00:00:00:{number + 1:02x}"),
                *("-device", "virtio-rng-pci"),
            ],
        )

    def _run(self, name: str, command: list[str]) -> None:
        log = (self.folder / f"{name or 'world'}.qemu").open("wb")
        with log:
            self._running[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )


def _call(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=300)
