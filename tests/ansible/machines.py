"""Debian system containers as hosts of a lab, and Ansible on them."""

import hashlib
import json
import os
import secrets
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.waiting import retry
from runtime.settings import REPOSITORY
from tests.ansible.playing import ANSIBLE, played

IMAGE = "doorbuster-lab-host"
CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SYS_NICE", "SYS_PTRACE", "SYSLOG", "AUDIT_CONTROL")
"""The capabilities that systemd and nftables need in addition to Docker's; the clock is
left out."""
PACKAGES = (
    *("ca-certificates", "chrony", "nftables", "python3-venv", "tar", "postgresql", "redis-server"),
    *("prometheus", "prometheus-node-exporter", "prometheus-postgres-exporter"),
    "prometheus-redis-exporter",
)
"""The packages that the roles install; the image's cache has them, so one download is enough."""
PREPARED_BY = ("uv.lock", "pyproject.toml", "runtime/bootstrap.sh", "ansible/roles/host")
LIMITS = ANSIBLE / "roles/common/files/limits.py"
CLOCK_WITHOUT_RIGHTS = """
apt-get install --quiet=2 --yes --no-install-recommends chrony >/dev/null 2>&1
echo 'local stratum 8' >/etc/chrony/conf.d/here.conf
echo 'DAEMON_OPTS="-x -F 0"' >/etc/default/chrony
mkdir -p /etc/systemd/system/chrony.service.d
printf '[Unit]\\nConditionCapability=\\n' >/etc/systemd/system/chrony.service.d/rights.conf
systemctl daemon-reload && systemctl restart chrony
"""
"""The settings of Chrony as a time server of itself: a container may not set the
machine's clock."""
UNIFIED = Path("/sys/fs/cgroup/cgroup.controllers").exists()
SYSTEMD = (
    "/lib/systemd/systemd",
    *(() if UNIFIED else ("systemd.unified_cgroup_hierarchy=0",)),
    *(() if UNIFIED else ("SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE=1",)),
)
"""The option with which Debian 13's systemd accepts control groups of version 1."""
UP_WITHIN_S = 300.0
CONVERGED_WITHIN_S = 3600.0


def docker(*arguments: str, check: bool = True, timeout_s: float = 1800.0) -> str:
    done = subprocess.run(
        ["docker", *arguments], capture_output=True, text=True, check=False, timeout=timeout_s
    )
    assert not check or done.returncode == 0, f"docker {arguments}: {done.stderr}"
    return done.stdout.strip()


def fresh_image(suite: str) -> str:
    """Return an image of a fresh Debian without the lab; make it if it is missing."""
    name = f"{IMAGE}:{suite}"
    script = Path(__file__).with_name("image.sh")
    recipe = hashlib.sha256(script.read_bytes() + repr(PACKAGES).encode()).hexdigest()[:12]
    labelled = ("image", "ls", "--quiet", "--filter", f"label=recipe={recipe}", name)
    if not docker(*labelled):
        command = [str(script), name, suite, *PACKAGES]
        subprocess.run(command, check=True, timeout=1800, env={**os.environ, "RECIPE": recipe})
    return name


def prepared_image(suite: str, folder: Path) -> str:
    """Return an image after the role `host`, without settings: the virtual environment is made
    once."""
    base = fresh_image(suite)
    digest = hashlib.sha256(docker("image", "inspect", "--format", "{{.Id}}", base).encode())
    for part in PREPARED_BY:
        path = REPOSITORY / part
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(file.read_bytes())
    name = f"{IMAGE}:{suite}-{digest.hexdigest()[:12]}"
    if docker("image", "ls", "--quiet", name):
        return name
    old = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", f"{IMAGE}:{suite}-*")
    if old:
        docker("image", "rm", *old.split(), check=False)
    seed = Machines(folder, "single-host", ["here"], f"doorbuster-seed-{secrets.token_hex(3)}")
    try:
        seed.start(base)
        played = seed.play("site.yml", "--tags", "host")
        assert played.status == 0, played.output[-5000:]
        seed.ssh(
            "here",
            "systemctl disable --now doorbuster-firewall; truncate --size=0 /etc/machine-id; "
            "rm -rf /etc/doorbuster /etc/ssh/ssh_host_* /root/.ssh/authorized_keys; sync",
        )
        docker("commit", f"{seed.prefix}-here", name)
    finally:
        seed.stop()
    return name


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
class Machines:
    """Containers by the name of their host, on a separate network."""

    folder: Path
    inventory: str
    names: list[str]
    prefix: str
    variables: dict[str, Any] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Additional hosts of groups, beyond the inventory."""
    addresses: dict[str, str] = field(default_factory=dict)
    version: str = ""
    """The commit to install: the same in every run, whatever is committed meanwhile."""

    def start(self, image: str) -> None:
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
                *(image, *SYSTEMD),
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
        retry(lambda: self.ssh(name, "true"), AssertionError, UP_WITHIN_S, every_s=1)

    def stop(self) -> None:
        for name in self.names:
            docker("rm", "--force", "--volumes", f"{self.prefix}-{name}", check=False)
        docker("network", "rm", self.prefix, check=False)

    def ssh_command(self, name: str, command: str) -> list[str]:
        options = ["StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"]
        given = [word for option in (*options, "ConnectTimeout=5") for word in ("-o", option)]
        key = str(self.folder / "key")
        return ["ssh", *given, "-i", key, f"root@{self.addresses[name]}", command]

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

    def limits(self, name: str, *parts: str) -> dict[str, Any]:
        """Return the limits in force of these parts' slices:
        ansible/roles/common/files/limits.py."""
        docker("cp", str(LIMITS), f"{self.prefix}-{name}:/root/limits.py")
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

    def reaches(self, name: str, port: int) -> bool:
        """Return whether a connection from outside the lab succeeds."""
        try:
            with socket.create_connection((self.addresses[name], port), timeout=3):
                return True
        except OSError:
            return False

    def play(self, playbook: str, *arguments: str, **variables: Any) -> Recap:
        """Run a playbook on the hosts; variables override the inventory's."""
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
        more: dict[str, Any] = {
            part: {"hosts": {name: {} for name in names}} for part, names in self.groups.items()
        }
        here.write_text(json.dumps({"host": {"hosts": hosts}, **more}))
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
        status, output = played(
            self.folder,
            *(playbook, "--extra-vars", json.dumps(given)),
            *("-i", f"inventories/{self.inventory}/hosts.yml", "-i", here),
            *("--limit", ":".join(["localhost", *self.names]), *arguments),
            within_s=CONVERGED_WITHIN_S,
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


def missing_tools() -> str:
    """Return why this machine can have no system containers; empty if it can."""
    for program in ("docker", "debootstrap", "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    return ""
