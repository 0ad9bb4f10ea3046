"""Debian system containers as hosts of a lab, and Ansible on them."""

import hashlib
import json
import os
import secrets
import shutil
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from runtime.settings import REPOSITORY
from tests.ansible.hosts import Hosts
from tests.ansible.playing import ROLES

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
PREPARED_BY = (
    *(REPOSITORY / name for name in ("uv.lock", "pyproject.toml", "runtime/bootstrap.sh")),
    ROLES / "host",
)
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
    for path in PREPARED_BY:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                digest.update(file.read_bytes())
    name = f"{IMAGE}:{suite}-{digest.hexdigest()[:12]}"
    if docker("image", "ls", "--quiet", name):
        return name
    old = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", f"{IMAGE}:{suite}-*")
    if old:
        docker("image", "rm", *old.split(), check=False)
    seed = Machines(
        folder, "single-host", ["here"], prefix=f"doorbuster-seed-{secrets.token_hex(3)}"
    )
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
class Machines(Hosts):
    """Containers by the name of their host, on a separate network."""

    prefix: str = ""

    def __post_init__(self) -> None:
        self.variables = {
            "doorbuster_clock_left_alone_because": "a container has the clock of its machine",
            "doorbuster_package_environment": {
                "UV_CACHE_DIR": "/var/cache/uv",
                "PIP_CERT": "/etc/ssl/certs/ca-certificates.crt",
            },
            **self.variables,
        }

    def start(self, image: str) -> None:
        self.prepare()
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
            docker("cp", f"{self.key}.pub", f"{self.prefix}-{name}:/root/.ssh/authorized_keys")
            docker(
                "exec", f"{self.prefix}-{name}", "chown", "root:root", "/root/.ssh/authorized_keys"
            )
            (found,) = json.loads(docker("inspect", f"{self.prefix}-{name}"))
            networks = found["NetworkSettings"]["Networks"]
            self.addresses[name] = networks[self.prefix]["IPAddress"]
        for name in self.names:
            self.wait_for_ssh(name)

    def stop(self) -> None:
        for name in self.names:
            docker("rm", "--force", "--volumes", f"{self.prefix}-{name}", check=False)
        docker("network", "rm", self.prefix, check=False)

    def reaches(self, name: str, port: int) -> bool:
        """Return whether a connection from outside the lab succeeds."""
        try:
            with socket.create_connection((self.addresses[name], port), timeout=3):
                return True
        except OSError:
            return False


def missing_tools() -> str:
    """Return why this machine can have no system containers; empty if it can."""
    for program in ("docker", "debootstrap", "ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            return f"{program} is missing"
    return ""
