"""One service of the appliance, as the table of them has it.

Owns: what is said of a service. Must not know: which there are, how they are supervised, how
progress is shown.
"""

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

    `refusal` says why it does not serve yet, None when it does; `page_refusal` the same of a whole
    page, asked once after a start only, because a page takes part in a running measurement.
    """

    name: str
    title: str
    program: tuple[str, ...]
    port: int | None  # None: it listens nowhere
    cpus: tuple[int, ...]
    stop_signal: signal.Signals  # also when its supervisor dies
    stop_wait_s: int
    ready_within_s: float
    refusal: Callable[[], str | None]
    page_refusal: Callable[[], str | None] = lambda: None
    tables: "Tables | None" = None
    port_variable: str = ""  # of an optional service: which of OPTIONAL_PORTS it needs
    code: tuple[str, ...] = ()  # files and folders, of the repository; a change restarts it
    prepare: Callable[[], None] = lambda: None
    started: Callable[[], None] = lambda: None
    user: str | None = None  # gives up root for this one
    plain_environment: bool = False  # no locale, no secrets
    writes_results: bool = False  # which others may read; what else it writes is in closed folders

    def command(self, supervisor: Path | None = None) -> tuple[str, ...]:
        """The command line, from the CPUs on.

        `supervisor` is the file with the id of the process that will start it: if that was killed
        while the service began, the service is not started.
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
        """Whether everything else works as well without it."""
        return bool(self.port_variable)

    def code_version(self) -> str:
        """A fingerprint of the code this service runs."""
        digest = hashlib.sha256()
        for part in self.code:
            root = REPOSITORY / part
            for path in [root] if root.is_file() else sorted(root.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    digest.update(f"{path}\0".encode() + path.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Tables:
    """What a service wants in the database before it starts.

    `command` brings it there and is harmless when it is there already. It is left out after it was
    once done for the same `wanted` by the same code. `log` is also the name of its stamp.
    """

    title: str
    command: tuple[str, ...]
    log: str
    wanted: str
    timeout_s: float


def beside(settings: Settings, module: str, *arguments: str) -> tuple[str, ...]:
    """`python -m module …`, on the CPUs that are not the shop's."""
    return tuple(pinned.command(settings.other_cpus, [sys.executable, "-m", module, *arguments]))
