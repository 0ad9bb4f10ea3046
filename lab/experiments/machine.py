"""On what a result was measured, and the lock that keeps two runs apart.

Owns: the description of machine and versions kept with every result; the one lock per machine that
every live run takes. Must not know: what is run.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from lab.experiments.errors import ExperimentError
from runtime import settings

ROOT = Path(__file__).parents[2]
_PACKAGES = ("django", "gunicorn", "psycopg", "locust", "uvloop", "httptools", "redis", "pyarrow")


def describe_machine(lab: settings.Settings) -> dict[str, Any]:
    """What of a machine decides how fast the shop is."""
    return {
        "cpu": _cpu_model(),
        "cpus": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "kernel": platform.release(),
        "system": platform.platform(),
        "shop_cpus": list(lab.shop_cpus),
        "other_cpus": list(lab.other_cpus),
        "shop_workers": lab.shop_workers,
    }


def describe_versions() -> dict[str, str]:
    """The project's commit, its code (two edited trees of one commit differ), what it runs on."""
    versions = {name: metadata.version(name) for name in _PACKAGES}
    ours = {"doorbuster": _commit(), "code": code_digest()}
    return {**ours, "python": platform.python_version(), **versions}


@cache
def code_digest() -> str:
    """Changes with every line that decides what a simulated run gives.

    As it was when this process first asked: somebody may be editing.
    """
    digest = hashlib.sha256()
    for part in ("gateway/policies", "loadgen", "simulator", "lab/experiments"):
        for path in sorted((ROOT / part).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint(lab: settings.Settings) -> str:
    """Changes when a measured capacity can no longer be trusted on this machine."""
    facts = {**describe_machine(lab), "python": platform.python_version()}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


@contextlib.contextmanager
def live_run_lock() -> Iterator[None]:
    """Hold the machine for one live run; raises ExperimentError while another holds it."""
    path = Path(tempfile.gettempdir()) / "doorbuster-live-run.lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    except OSError as fault:
        raise ExperimentError(
            f"The lock {path} cannot be opened ({fault.strerror}); another user made it: "
            "remove it when no experiment is running."
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
            raise ExperimentError(
                f"Another live run holds this machine (process {holder}); "
                "two at a time would spoil both. Wait for it or stop it."
            ) from None
        with contextlib.suppress(PermissionError):
            os.fchmod(handle, 0o666)
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


@cache
def _commit() -> str:
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return metadata.version("doorbuster")
    return described.stdout.strip()
