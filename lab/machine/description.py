"""The machine and the software versions of results, the load of other programs, and the lock for
live runs. Only one live run at a time can hold a lock; the environment variable
DOORBUSTER_LIVE_RUN_LOCK names the lock, by default `live-run`.
"""

import contextlib
import hashlib
import json
import os
import platform
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from common import cpus, hosts, machine_lock
from lab.errors import ExperimentError
from lab.machine.progress_file import progress_file
from runtime import settings

ROOT = Path(__file__).parents[2]
_NOT_CODE = ":(exclude)lab/reference"
SIMULATED = (
    *("common", "gateway/policies", "gateway/students", "loadgen", "simulator"),
    *("lab/analysis", "lab/baselines", "lab/engines", "lab/executors", "lab/files"),
    *("lab/leaderboard", "lab/runner", "lab/spec", "lab/students", "lab/studies"),
)
"""The folders with the code that determines the results of simulated runs. `lab/executors` and
`lab/files` are among them, because another machine's workers send results in their forms.
"""
_PACKAGES = ("django", "gunicorn", "psycopg", "locust", "uvloop", "httptools", "redis", "pyarrow")


def describe_machine(lab: settings.Settings) -> dict[str, Any]:
    """Return the facts about a machine that determine the shop's speed. `hosts` names the hosts of
    the appliance's parts on other machines. All other facts are about this machine."""
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


GIVES_WAY = "DOORBUSTER_GIVES_WAY"
"""The environment variable for a live run that stops if another run needs the machine."""
WAITS = "DOORBUSTER_WAITS_FOR_MACHINE"
"""The environment variable for a live run that waits until the machine is free."""
LOCK = "DOORBUSTER_LIVE_RUN_LOCK"
"""The environment variable with the name of the lock, by default `live-run`.

Appliances on separate CPUs can have different locks.
"""
_GIVES_WAY_WITHIN_S = 60.0
_ASK_EVERY_S = 0.1


@contextlib.contextmanager
def live_run_lock() -> Iterator[None]:
    """Hold the machine's lock for one live run; raises ExperimentError while another run holds it.
    If the holder gives way and belongs to the same user, the new run interrupts it and waits for
    its end. A run with WAITS in its environment waits for every holder."""
    with _taken(os.environ.get(LOCK) or "live-run"):
        yield


def _taken(name: str) -> socket.socket:
    other: machine_lock.Holder | None = None
    interrupted: machine_lock.Holder | None = None
    # `wait_until` cannot be used, because the limit depends on the holder, which may change.
    until_s = time.monotonic() + _GIVES_WAY_WITHIN_S
    while True:
        try:
            return machine_lock.take(name, other)
        except machine_lock.HeldError as held:
            other, words = held.holder, str(held)
        except OSError as fault:
            raise ExperimentError(
                f"{LOCK}={name}: a lock cannot have this name ({fault.strerror or fault}); "
                "allowed: up to 90 bytes."
            ) from None
        asks = (
            other is not None
            and bool(other.environment().get(GIVES_WAY))
            and not os.environ.get(GIVES_WAY)
        )
        waits = os.environ.get(WAITS) or (asks and time.monotonic() < until_s)
        if not waits and other is not None:
            is_ours = other.user == os.geteuid()
            fix = "stop it" if is_ours else f"ask {other.user_name} to stop it"
            raise ExperimentError(
                f"Another live run holds this machine ({words}); two simultaneous live runs would "
                f"spoil both results. Wait until that run has ended, or {fix}."
            )
        progress_file.tell(words=f"waits for another live run on this machine ({words})")
        if other is not None and asks and other != interrupted:
            interrupted = other
            other.interrupt()
        time.sleep(_ASK_EVERY_S)


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
    with tempfile.NamedTemporaryFile("w", suffix=".gitconfig") as trusting:
        trusting.write(f"[safe]\n\tdirectory = {_as_git_value(ROOT)}\n")
        trusting.flush()
        done = subprocess.run(
            ["git", *words],
            cwd=ROOT,
            env={**os.environ, "GIT_CONFIG_GLOBAL": trusting.name},
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    return done.stdout.strip()


def _as_git_value(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


class OtherLoad:
    """The CPU time that processes other than this process and its children use between two samples.
    Take samples while the children run, because an ended child counts as another process."""

    def __init__(self) -> None:
        self._cpus = len(cpus.here())
        self._before = self._look()

    def share(self) -> float:
        """Return the CPU time that other processes have used since this object was created, divided
        by the real time and by the number of CPUs that this process may use."""
        (wall, busy, own), (wall_now, busy_now, own_now) = self._before, self._look()
        others_s = busy_now - busy - (own_now - own)
        return max(0.0, others_s / ((wall_now - wall) * self._cpus))

    @staticmethod
    def _look() -> tuple[float, float, float]:
        times = psutil.cpu_times()
        me = psutil.Process()
        own = 0.0
        for process in (me, *me.children(recursive=True)):
            try:
                spent = process.cpu_times()
            except psutil.Error:
                continue
            own += spent.user + spent.system
        return time.monotonic(), times.user + times.nice + times.system, own
