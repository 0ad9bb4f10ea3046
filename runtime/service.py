"""One service of the appliance, as a row of the table of services."""

import hashlib
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runtime import pinned
from runtime.settings import REPOSITORY, Settings

APPLIANCE_VARIABLE = "DOORBUSTER_APPLIANCE"  # in every service's environment: the state folder
SEEDING_TIMEOUT_S = 300.0
SEEDING_TIMEOUT_S_PER_ROW = 0.002  # ten times what a book takes; a banner takes less


@dataclass(frozen=True, slots=True)
class Service:
    """One long-running program.

    `refusal` returns why it does not serve yet, None when it does. `page_refusal` does the same for
    a whole page, and is called only once after a start, because a page takes part in a running
    measurement.
    """

    name: str
    title: str
    program: tuple[str, ...]
    port: int | None  # None: it has no port
    cpus: tuple[int, ...]
    stop_signal: signal.Signals  # also when its supervisor dies
    stop_wait_s: int
    ready_within_s: float
    refusal: Callable[[], str | None]
    page_refusal: Callable[[], str | None] = lambda: None
    tables: "Tables | None" = None
    port_variable: str = ""  # an optional service's port, among OPTIONAL_PORTS
    code: tuple[str, ...] = ()  # files and folders, of the repository; a change restarts it
    prepare: Callable[[], None] = lambda: None
    started: Callable[[], None] = lambda: None
    user: str | None = None  # the account that it runs under instead of root
    plain_environment: bool = False  # no locale, no secrets
    writes_results: bool = False  # others may read results; its other files are in closed folders

    def command(self, supervisor: Path | None = None) -> tuple[str, ...]:
        """Return the command line, beginning with the CPUs.

        `supervisor` is the file with the id of the process that will start it. If that process was
        killed while the service began, the service is not started.
        """
        return tuple(
            pinned.command(
                self.cpus,
                self.program,
                user=self.user,
                end_with_parent=self.stop_signal,
                parent=supervisor,
                plain_environment=self.plain_environment,
            )
        )

    @property
    def is_optional(self) -> bool:
        """Whether all other services work without it."""
        return bool(self.port_variable)

    def code_version(self) -> str:
        """Return a fingerprint of the code this service runs."""
        digest = hashlib.sha256()
        for part in self.code:
            root = REPOSITORY / part
            for path in [root] if root.is_file() else sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"{path}\0".encode() + path.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables that a service needs in the database before it starts.

    `command` makes them and is harmless when they exist already. It is left out if it has run
    before for the same `wanted` and the same code. `log` is also the name of its stamp.
    """

    title: str
    command: tuple[str, ...]
    log: str
    wanted: str
    timeout_s: float


def beside(settings: Settings, module: str, *arguments: str) -> tuple[str, ...]:
    """Return `python -m module …`, on the CPUs that are not the shop's."""
    return tuple(pinned.command(settings.other_cpus, [sys.executable, "-m", module, *arguments]))
