"""Hosts of a lab, reached over SSH, and Ansible on them: containers and virtual machines."""

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from common.waiting import retry
from runtime.settings import REPOSITORY
from tests.ansible.playing import ROLES, played

LIMITS = ROLES / "common/files/limits.py"
ASKS_NOTHING = (
    *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
    *("-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60"),
)
UP_WITHIN_S = 300.0


@dataclass
class Recap:
    """Ansible's summary of the hosts at the end of a playbook."""

    status: int
    output: str
    hosts: dict[str, dict[str, int]]

    @property
    def changed(self) -> int:
        return sum(counts["changed"] for counts in self.hosts.values())


@dataclass
class Hosts:
    """Hosts by name, which a subclass starts and stops."""

    folder: Path
    inventory: str
    names: list[str]
    variables: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Additional hosts of groups, beyond the inventory."""
    addresses: dict[str, str] = field(default_factory=dict)
    version: str = ""
    """The commit to install: the same in every run, whatever is committed meanwhile."""
    converged_within_s: float = 3600.0

    def prepare(self) -> None:
        """Choose the commit, and make the key that opens the hosts."""
        self.version = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout.strip()
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)

    @property
    def key(self) -> Path:
        return self.folder / "key"

    def connection(self, name: str) -> dict[str, Any]:
        """Return Ansible's variables for the connection to a host."""
        return {"ansible_host": self.addresses[name], "ansible_user": "root", "ansible_port": 22}

    def ssh_command(self, name: str, command: str) -> list[str]:
        """Return how root calls a command on the host."""
        there = self.connection(name)
        account = f"{there['ansible_user']}@{there['ansible_host']}"
        as_root = command if there["ansible_user"] == "root" else f"sudo sh -c {quote(command)}"
        port = str(there["ansible_port"])
        return ["ssh", *ASKS_NOTHING, "-i", str(self.key), "-p", port, account, as_root]

    def ssh(self, name: str, command: str, given: str = "") -> str:
        done = subprocess.run(
            self.ssh_command(name, command),
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, f"{name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def wait_for_ssh(self, name: str, within_s: float = UP_WITHIN_S) -> None:
        retry(lambda: self.ssh(name, "true"), AssertionError, within_s, every_s=1)

    def limits(self, name: str, *parts: str) -> dict[str, Any]:
        """Return the limits in force of these parts' slices:
        `files/limits.py` of the role `common`."""
        self.ssh(name, "cat >/root/limits.py", LIMITS.read_text())
        return dict(json.loads(self.ssh(name, f"python3 /root/limits.py {' '.join(parts)}")))

    def cpu_samples(
        self, name: str, part: str, for_s: float, every_s: float
    ) -> list[tuple[float, float]]:
        """Return time and CPU seconds that a part's slice has used, both from the host's clocks."""
        self.limits(name, part)
        code = (
            "import sys, time, json; sys.path.insert(0, '/root'); import limits\n"
            f"end = time.monotonic() + {for_s}; seen = []\n"
            "while not seen or seen[-1][0] < end:\n"
            f"    if seen: time.sleep({every_s})\n"
            f"    seen.append((time.monotonic(), limits.read('{part}')['used_s']))\n"
            "print(json.dumps(seen))"
        )
        return [(at, used) for at, used in json.loads(self.ssh(name, f'python3 -c "{code}"'))]

    def play(self, playbook: str, *arguments: str, **variables: Any) -> Recap:
        """Run a playbook on the hosts; variables override the inventory's."""
        hosts = {
            name: {
                "ansible_connection": "ssh",
                **self.connection(name),
                "ansible_ssh_private_key_file": str(self.key),
                "ansible_ssh_common_args": " ".join(ASKS_NOTHING),
                "doorbuster_address": "127.0.0.1" if len(self.names) == 1 else address,
            }
            for name, address in self.addresses.items()
        }
        here = self.folder / "hosts.json"
        more: dict[str, Any] = {
            part: {"hosts": {name: {} for name in names}} for part, names in self.groups.items()
        }
        here.write_text(json.dumps({"host": {"hosts": hosts}, **more}))
        given = {
            "doorbuster_version": self.version,
            "doorbuster_secrets": str(self.folder / "secrets"),
            "doorbuster_collected": str(self.folder / "collected"),
            **self.variables,
            **variables,
        }
        status, output = played(
            self.folder,
            *(playbook, "--extra-vars", json.dumps(given)),
            *("-i", f"inventories/{self.inventory}/hosts.yml", "-i", here),
            *("--limit", ":".join(["localhost", *self.names]), *arguments),
            within_s=self.converged_within_s,
        )
        (self.folder / f"{Path(playbook).stem}.log").write_text(output)
        return Recap(status, output, _recap(output))


def _recap(output: str) -> dict[str, dict[str, int]]:
    hosts: dict[str, dict[str, int]] = {}
    for line in output.partition("PLAY RECAP")[2].splitlines()[1:]:
        name, colon, counts = line.partition(":")
        if colon and "changed=" in counts:
            pairs = (pair.split("=") for pair in counts.split())
            hosts[name.strip()] = {what: int(number) for what, number in pairs}
    return hosts
