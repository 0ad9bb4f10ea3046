"""Configure, start and end the process of a baseline proxy, and read its log and statistics."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, Self

from common import hosts, log_tail, pinned, ports, processes
from gateway.http import pages
from gateway.http.pages import Rule
from lab.baselines import haproxy, nginx
from lab.baselines.requests import Ended, Place, Queue
from lab.baselines.sheets import PROXIES, Proxy
from lab.errors import ExperimentError
from lab.wording import title_of
from runtime import settings


class Dialect(Protocol):
    """The module of a baseline proxy: its configuration, log and statistics."""

    CONFIGURATION: str
    LOG: str
    ERRORS: str
    STATS: str
    STATS_QUESTION: bytes

    def configuration(
        self, parameters: Mapping[str, Any], rules: Sequence[Rule], place: Place
    ) -> str: ...
    def options(self, file: Path) -> list[str]: ...
    def read_line(self, line: str) -> Ended | None: ...
    def read_stats(self, text: str) -> Queue: ...


DIALECTS: Final[Mapping[str, Dialect]] = {"haproxy": haproxy, "nginx": nginx}

SYSTEM_PATH: Final = "/usr/local/sbin:/usr/sbin:/sbin"
"""The folders in which distributions install programs outside the search path of ordinary users."""
READY_WITHIN_S: Final = 60.0
END_WITHIN_S: Final = 10.0
_TRIES: Final = 3
"""The number of tries to start a proxy. A try fails if another process takes the chosen port
first.
"""
_LAST_CHARACTERS: Final = 500
_VERSION: Final = re.compile(r"version:? (?:nginx/)?(\S+)")


def program(proxy: Proxy) -> str:
    """Return the program's path; raises ExperimentError, which names the package, if it is not
    installed."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), SYSTEM_PATH))
    found = shutil.which(proxy.program, path=path)
    if found is None:
        raise ExperimentError(
            f"{proxy.program} is not installed here; on Debian or Ubuntu: "
            f"apt-get install {proxy.package}"
        )
    return found


def check(lab: settings.Settings, wanted: Iterable[str | None]) -> None:
    """Raise ExperimentError if one of the baseline proxies in `wanted` cannot run here. A proxy
    must be installed, and the gateway, the shop and all load generators must be on this machine.
    None means the gateway, which this function does not check."""
    for name in wanted:
        if name is None:
            continue
        program(PROXIES[name])
        where = {"the gateway": lab.gateway_pages_host, "the shop": lab.shop_host}
        for part, host in where.items():
            if not hosts.is_loopback(host):
                raise ExperimentError(
                    f"{name} needs the gateway and the shop on this machine, but {part} is on "
                    f"{host} (a container or another host). `make up RUNTIME=native` starts all "
                    "of them here."
                )
        if lab.loadgen_workers:
            raise ExperimentError(
                f"{name}: load generators on other machines cannot reach a baseline proxy; set "
                f"DOORBUSTER_LOADGEN_WORKERS={lab.loadgen_workers} to 0."
            )


class ProxyProcess:
    """A baseline proxy that serves during the block `with ProxyProcess(…)`, on the CPUs `cpus`. The
    object chooses the port and stores it in `place.port`. Raises ExperimentError if the proxy does
    not start."""

    def __init__(
        self, name: str, parameters: Mapping[str, Any], place: Place, cpus: tuple[int, ...]
    ) -> None:
        self.proxy = PROXIES[name]
        self.place = place
        self._dialect = DIALECTS[name]
        self.parameters = parameters
        self._cpus = cpus
        self.process: subprocess.Popen[bytes] | None = None
        """The running proxy; None outside the block."""

    def __enter__(self) -> Self:
        tries = 0
        while self.process is None:
            self.place = replace(self.place, port=ports.free(1, self.place.host)[0])
            tries += 1
            try:
                self._start()
            except BaseException as fault:
                self.end()
                if not isinstance(fault, ExperimentError) or tries == _TRIES:
                    raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def url(self) -> str:
        return f"http://{hosts.authority(hosts.from_here(self.place.host), self.place.port)}"

    @property
    def title(self) -> str:
        """The proxy's name as pages and tables print it."""
        return title_of(self.proxy.sheet.name)

    def log(self) -> "Log":
        """Return the proxy's log, which the caller reads from the beginning."""
        return Log(self._dialect, self.place.files / self._dialect.LOG)

    def version(self) -> str:
        """Return the version that the distribution's program prints; raises ExperimentError if the
        program is not installed or prints no version.
        """
        words = [program(self.proxy), "-v"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        found = _VERSION.search(done.stdout + done.stderr)  # nginx prints it on standard error
        if found is None:
            raise ExperimentError(f"{self.title} does not print its version.")
        return found[1]

    def check_lives(self) -> None:
        """Raise ExperimentError if the process has ended by itself."""
        if self.process is not None and self.process.poll() is not None:
            raise ExperimentError(
                f"{self.title} ended in mid-run with status {self.process.returncode}: "
                f"{self._last_words()}"
            )

    def look(self) -> Queue:
        """Return the current statistics; raises ExperimentError if the proxy does not answer."""
        path = self.place.sockets / self._dialect.STATS
        try:
            text = _ask(path, self._dialect.STATS_QUESTION)
            queue: Queue = self._dialect.read_stats(text)
        except (OSError, ValueError) as fault:
            raise ExperimentError(f"{self.title} does not answer ({fault}).") from None
        return queue

    def end(self) -> None:
        """End the process and wait for its end; further calls have no effect."""
        process, self.process = self.process, None
        if process is not None:
            processes.end(process, END_WITHIN_S)

    def _start(self) -> None:
        files = self.place.files
        file = files / self._dialect.CONFIGURATION
        text = self._dialect.configuration(self.parameters, page_rules(), self.place)
        file.write_text(text, encoding="utf-8")
        # If the runner is killed, the proxy also ends.
        words = pinned.command(
            self._cpus,
            [program(self.proxy), *self._dialect.options(file)],
            end_with_parent=signal.SIGTERM,
            parent=os.getpid(),
            plain_environment=True,
        )
        with (files / self._dialect.LOG).open("ab") as log, self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=errors,
                start_new_session=True,  # Ctrl-C reaches only the runner, which then ends the proxy
            )
        if not processes.becomes_ready(self.process, self._answers, READY_WITHIN_S):
            if self.process.poll() is not None:
                raise ExperimentError(f"{self.title} does not start: {self._last_words()}")
            raise ExperimentError(f"{self.title} did not answer within {READY_WITHIN_S:g} s.")

    def _answers(self) -> bool:
        try:
            self.look()
        except ExperimentError:
            return False
        return True

    @property
    def _errors(self) -> Path:
        return self.place.files / self._dialect.ERRORS

    def _last_words(self) -> str:
        said = log_tail.read(self._errors).strip()
        return said[-_LAST_CHARACTERS:] or "it did not print a reason"


@dataclass(slots=True)
class Log:
    """A baseline proxy's log, which can be read while it grows."""

    dialect: Dialect
    path: Path
    ended: list[Ended] = field(default_factory=list)
    """The requests that have ended, in the order of the log."""
    _read_bytes: int = 0

    def read(self) -> list[Ended]:
        """Return the requests in the complete lines that were added since the last call."""
        try:
            with self.path.open("rb") as file:
                file.seek(self._read_bytes)
                whole, newline, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return []
        self._read_bytes += len(whole) + len(newline)
        lines = whole.decode("utf-8", "replace").split("\n")
        added = [one for line in lines if (one := self.dialect.read_line(line)) is not None]
        self.ended += added
        return added


def folder_for_sockets() -> "tempfile.TemporaryDirectory[str]":
    """Return a new folder with a short name; a socket's path has at most 107 characters."""
    return tempfile.TemporaryDirectory(prefix="doorbuster-proxy-")


def _ask(path: Path, question: bytes) -> str:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(str(path))
        sock.sendall(question)
        found = b""
        while chunk := sock.recv(65536):
            found += chunk
    return found.decode("utf-8", "replace")


@cache
def page_rules() -> tuple[pages.Rule, ...]:
    """Return the gateway's default rules for page types, in the order in which it applies them."""
    return pages.load().rules
