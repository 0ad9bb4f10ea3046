"""Debian 12 system containers as hosts of a lab, and Ansible on them."""

import json
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.settings import REPOSITORY

IMAGE = "doorbuster-lab-host:bookworm"
ANSIBLE = REPOSITORY / "ansible"
CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SYS_NICE", "SYS_PTRACE", "SYSLOG", "AUDIT_CONTROL")
"""What systemd and nftables need besides Docker's own; not the clock, which is the machine's."""
UP_WITHIN_S = 300.0
CONVERGED_WITHIN_S = 3600.0


def docker(*arguments: str, check: bool = True, timeout_s: float = 1800.0) -> str:
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, check=False, timeout=timeout_s
    )
    assert not check or done.returncode == 0, f"docker {arguments}: {done.stderr}"
    return done.stdout.strip()


def make_image() -> None:
    if not docker("image", "ls", "--quiet", IMAGE):
        subprocess.run([Path(__file__).with_name("image.sh"), IMAGE], check=True, timeout=1800)


@dataclass
class Recap:
    """What Ansible says of a host at the end of a playbook."""

    status: int
    output: str
    hosts: dict[str, dict[str, int]]

    @property
    def changed(self) -> int:
        return sum(counts["changed"] for counts in self.hosts.values())


@dataclass
class Machines:
    """Containers by the name of their host, on a network of their own."""

    folder: Path
    inventory: str
    names: list[str]
    prefix: str
    variables: dict[str, Any] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    version: str = ""
    """The commit that is installed: the same in every run, whatever is committed meanwhile."""

    def start(self) -> None:
        make_image()
        self.version = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True
        ).stdout.strip()
        key = self.folder / "key"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
        docker("network", "create", self.prefix)
        cache = Path(os.environ.get("UV_CACHE_DIR") or Path.home() / ".cache" / "uv")
        cache.mkdir(parents=True, exist_ok=True)
        for name in self.names:
            docker(
                *("run", "--detach", "--name", f"{self.prefix}-{name}", "--hostname", name),
                *("--network", self.prefix, "--cgroupns", "host"),
                *(f"--cap-add={name}" for name in CAPABILITIES),
                *(f"--security-opt={name}=unconfined" for name in ("seccomp", "systempaths")),
                *("--volume", "/sys/fs/cgroup:/sys/fs/cgroup:rw"),
                *("--volume", f"{cache}:/var/cache/uv"),
                *("--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec,mode=1777"),
                IMAGE,
            )
            docker("cp", f"{key}.pub", f"{self.prefix}-{name}:/root/.ssh/authorized_keys")
            docker(
                "exec", f"{self.prefix}-{name}", "chown", "root:root", "/root/.ssh/authorized_keys"
            )
            (found,) = json.loads(docker("inspect", f"{self.prefix}-{name}"))
            networks = found["NetworkSettings"]["Networks"]
            self.addresses[name] = networks[self.prefix]["IPAddress"]
        for name in self.names:
            self._wait_for_ssh(name)

    def _wait_for_ssh(self, name: str) -> None:
        until_s = time.monotonic() + UP_WITHIN_S
        while True:
            try:
                return self.ssh(name, "true") and None
            except AssertionError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(1)

    def stop(self) -> None:
        for name in self.names:
            docker("rm", "--force", "--volumes", f"{self.prefix}-{name}", check=False)
        docker("network", "rm", self.prefix, check=False)

    def ssh(self, name: str, command: str) -> str:
        options = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        options += [
            "-o",
            "LogLevel=ERROR",
            "-o",
            "ConnectTimeout=5",
            "-i",
            str(self.folder / "key"),
        ]
        done = subprocess.run(
            ["ssh", *options, f"root@{self.addresses[name]}", command],
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def play(self, playbook: str, *arguments: str, **variables: Any) -> Recap:
        """Run a playbook on them; variables win over the inventory's."""
        hosts = {
            name: {
                "ansible_connection": "ssh",
                "ansible_host": address,
                "ansible_user": "root",
                "ansible_ssh_private_key_file": str(self.folder / "key"),
                "ansible_ssh_common_args": "-o StrictHostKeyChecking=no "
                "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
                "doorbuster_address": "127.0.0.1" if len(self.names) == 1 else address,
            }
            for name, address in self.addresses.items()
        }
        here = self.folder / "hosts.json"
        here.write_text(json.dumps({"host": {"hosts": hosts}}))
        given = {
            "doorbuster_version": self.version,
            "doorbuster_secrets": str(self.folder / "secrets"),
            "doorbuster_collected": str(self.folder / "collected"),
            "doorbuster_clock_left_alone_because": "a container has the clock of its machine",
            "doorbuster_package_environment": {
                "UV_CACHE_DIR": "/var/cache/uv",
                "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
            },
            **self.variables,
            **variables,
        }
        program = REPOSITORY / ".venv" / "bin" / "ansible-playbook"
        command: list[str] = [str(program), playbook, "--extra-vars", json.dumps(given)]
        command += ["-i", f"inventories/{self.inventory}/hosts.yml", "-i", str(here), *arguments]
        environment = {
            **os.environ,
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
        }
        done = subprocess.run(
            command,
            cwd=ANSIBLE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=CONVERGED_WITHIN_S,
        )
        (self.folder / f"{Path(playbook).stem}.log").write_text(done.stdout)
        return Recap(done.returncode, done.stdout, _recap(done.stdout))


def _recap(output: str) -> dict[str, dict[str, int]]:
    hosts: dict[str, dict[str, int]] = {}
    for line in output.partition("PLAY RECAP")[2].splitlines()[1:]:
        name, colon, counts = line.partition(":")
        if colon and "changed=" in counts:
            pairs = (pair.split("=") for pair in counts.split())
            hosts[name.strip()] = {what: int(number) for what, number in pairs}
    return hosts


def missing_tools() -> str:
    """Why no system container can be had here; empty if one can."""
    for program in ("docker", "debootstrap", "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    return ""
