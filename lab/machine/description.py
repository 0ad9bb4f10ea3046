"""The machine and the software versions of results."""

import contextlib
import hashlib
import json
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from common import hosts
from runtime import settings

ROOT = Path(__file__).parents[2]
_NOT_CODE = ":(exclude)lab/reference"
SIMULATED = (
    *("common", "gateway/policies", "gateway/students", "loadgen", "simulator"),
    *("lab/analysis", "lab/baselines", "lab/engines", "lab/executors", "lab/files"),
    *("lab/leaderboard", "lab/runner", "lab/spec", "lab/students", "lab/studies"),
)
"""The folders with the code that determines the results of simulated runs. `lab/executors` and
`lab/files` are among them, because they define the form in which workers on other machines send
results.
"""
_PACKAGES = ("django", "gunicorn", "psycopg", "locust", "uvloop", "httptools", "redis", "pyarrow")


def describe_machine(lab: settings.Settings) -> dict[str, Any]:
    """Return the facts about a machine that determine the shop's speed. If parts of the appliance
    are on other machines, `hosts` names these machines. All other facts are about this machine."""
    elsewhere = {
        part: host
        for part, host in (
            ("shop", lab.shop_host),
            ("gateway", lab.gateway_host or hosts.LOOPBACK),
            ("PostgreSQL", lab.postgres_host),
            ("Redis", lab.redis_host),
        )
        if not hosts.is_loopback(host)
    }
    return {
        "cpu": _cpu_model(),
        "cpus": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "kernel": platform.release(),
        "system": platform.platform(),
        "shop_cpus": list(lab.shop_cpus),
        "other_cpus": list(lab.other_cpus),
        "shop_workers": lab.shop_workers,
        **({"hosts": elsewhere} if elsewhere else {}),
    }


def describe_versions() -> dict[str, str]:
    """Return the commit, digests of the code, and the versions of Python and the libraries."""
    ours = {"doorbuster": commit(), "code": code_digest(), "parts": parts_digest()}
    return {**ours, "python": platform.python_version(), **_libraries()}


@cache
def code_digest() -> str:
    """Return a digest of the code that determines the results of simulated runs: policies,
    customers, simulator, and the lab without its pages, reports and commands. A process computes
    the digest only once, because files can change while the process runs."""
    return _digest(*SIMULATED)


@cache
def parts_digest() -> str:
    """Return a digest of the code of gateway, shop and hosting platform; see `code_digest`."""
    return _digest("gateway", "shop", "hosting")


def _digest(*folders: str) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint(lab: settings.Settings) -> str:
    """Return a text that identifies the machine, the libraries, and the code of shop, gateway and
    customers. Measured speeds are valid only while this text stays the same.
    """
    facts = {**describe_machine(lab), **_measured_software()}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


@cache
def _measured_software() -> dict[str, str]:
    """Return the versions of the software that affects a measured speed, computed once."""
    return {
        "python": platform.python_version(),
        "parts": parts_digest(),
        "customers": _digest("loadgen"),
        **_libraries(),
    }


def _libraries() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


@cache
def commit() -> str:
    """Return the commit, with `-dirty` if files were edited; without Git, return the release. If a
    folder belongs to another user, Git reads it only if Git's configuration lists the folder as
    safe. Doorbuster's folder is safe, because this process already runs its code."""
    try:
        if not (ROOT / ".git").exists():
            raise FileNotFoundError  # an installed package, perhaps below another repository
        described = _git("describe", "--always", "--abbrev=12")
        # Reference results are not code, so newer ones do not count as an edit.
        edited = _git("status", "--porcelain", "--untracked-files=no", "--", ".", _NOT_CODE)
    except (OSError, subprocess.SubprocessError):  # a copy without history, or without git
        return f"{metadata.version('doorbuster')}, commit unknown"
    return f"{described}-dirty" if edited else described


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    return done.stdout.strip()
