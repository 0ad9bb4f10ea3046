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
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from lab.experiments.errors import ExperimentError
from lab.experiments.progress_file import progress_file
from runtime import hosts, settings

ROOT = Path(__file__).parents[2]
_PACKAGES = ("django", "gunicorn", "psycopg", "locust", "uvloop", "httptools", "redis", "pyarrow")


def describe_machine(lab: settings.Settings) -> dict[str, Any]:
    """What of a machine decides how fast the shop is.

    With `hosts` where parts are elsewhere: the rest is of the machine that asks.
    """
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
    """The project's commit, its code (two edited trees of one commit differ), what it runs on."""
    versions = {name: metadata.version(name) for name in _PACKAGES}
    ours = {"doorbuster": _commit(), "code": code_digest(), "parts": parts_digest()}
    return {**ours, "python": platform.python_version(), **versions}


@cache
def code_digest() -> str:
    """Changes with every line that decides what a simulated run gives.

    As it was when this process first asked: somebody may be editing.
    """
    return _digest("gateway/policies", "loadgen", "simulator", "lab/experiments")


@cache
def parts_digest() -> str:
    """Changes with every line of the parts that a live run meets. As `code_digest`."""
    return _digest("gateway", "shop", "hosting")


def _digest(*folders: str) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def fingerprint(lab: settings.Settings) -> str:
    """Changes when a measured capacity can no longer be trusted on this machine."""
    facts = {**describe_machine(lab), "python": platform.python_version()}
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


GIVES_WAY = "DOORBUSTER_GIVES_WAY"
"""In the environment of a live run that ends as soon as another wants the machine."""
WAITS = "DOORBUSTER_WAITS_FOR_MACHINE"
"""In the environment of a live run that waits until no other holds the machine."""
_GIVES_WAY_WITHIN_S = 60.0


@contextlib.contextmanager
def live_run_lock() -> Iterator[None]:
    """Hold the machine for one live run; raises ExperimentError while another holds it.

    A run that gives way is asked to end, and waited for; so is any other where WAITS is set.
    """
    path = Path(tempfile.gettempdir()) / "doorbuster-live-run.lock"
    try:
        handle = _opened(path)
    except OSError as fault:
        raise ExperimentError(
            f"The lock {path} cannot be opened ({fault.strerror}); another user made it: "
            "remove it when no experiment is running."
        ) from None
    try:
        _take(handle)
        with contextlib.suppress(PermissionError):
            os.fchmod(handle, 0o666)
        os.ftruncate(handle, 0)
        words = f"{os.getpid()} gives way" if os.environ.get(GIVES_WAY) else str(os.getpid())
        os.pwrite(handle, words.encode(), 0)
        yield
    finally:
        os.close(handle)


def _opened(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:  # with O_CREAT Linux refuses another user's file in /tmp (fs.protected_regular)
        return os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o666)


def _take(handle: int) -> None:
    asked: str | None = None
    until_s = time.monotonic() + _GIVES_WAY_WITHIN_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = os.pread(handle, 100, 0).decode(errors="replace").strip() or "unknown"
        process, _, rest = holder.partition(" ")
        asks = rest == "gives way" and not os.environ.get(GIVES_WAY)
        waits = os.environ.get(WAITS) or (asks and time.monotonic() < until_s)
        if not waits:
            raise ExperimentError(
                f"Another live run holds this machine (process {process}); "
                "two at a time would spoil both. Wait for it or stop it."
            )
        progress_file.tell(words=f"waits for another live run on this machine (process {process})")
        if asks and holder != asked:
            asked = holder
            with contextlib.suppress(ValueError, OSError):  # it may have ended, or be another's
                os.kill(int(process), signal.SIGINT)
        time.sleep(0.1)


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
