"""The process of a platform's CPU manager: its start, its restart after a crash, and its end."""

import socket
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from common import cpus, hosts, log_tail, ports, private_file, processes
from common.waiting import wait_while
from hosting import starting
from hosting.options import PlatformOptions
from hosting.starting import HostingError
from runtime import monitoring
from runtime.native.services import APPLIANCE_VARIABLE
from runtime.settings import Settings

END_PATIENCE_S = 60.0
LEFT_OVER_PATIENCE_S = 10.0  # a killed platform has ended within this time


class ManagerProcess:
    """The process of a CPU manager.

    The caller must call `begin` first, `check` regularly, and `end` last. `begin` and `check` raise
    HostingError if the manager does not start.
    """

    def __init__(
        self,
        lab: Settings,
        options: PlatformOptions,
        folder: Path,
        accounts: Path,
        say: Callable[[str], None],
    ) -> None:
        """Create the object without starting the process.

        `folder` gets the process's log, and its socket if the socket's path is short enough.
        `accounts` is the file of the manager's accounts, which `begin` deletes first.
        """
        self._wanted_socket = folder / "ecm.sock"
        self._lab = lab
        self._options = options
        self._accounts = accounts
        self._log = folder / "ecm.log"
        self._say = say
        self._metrics_port = ports.free(1)[0]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return private_file.socket_path(self._wanted_socket)

    @property
    def target(self) -> monitoring.Group:
        """The address at which Prometheus scrapes the manager."""
        return monitoring.group("cpu-manager", (hosts.LOOPBACK, self._metrics_port))

    def begin(self) -> None:
        """Start the manager. Raises HostingError if this fails, or if another platform's manager
        still runs.
        """
        self._wait_until_free()
        self._accounts.unlink(missing_ok=True)  # of an earlier platform
        self._start()

    def check(self) -> None:
        """Start a new manager if the manager has ended; the new manager takes over the
        applications.
        """
        if self._process is not None and self._process.poll() is not None:
            self._say(
                f"the CPU manager has ended; {log_tail.of(self._log)}\n  the platform restarts it"
            )
            self._start()

    def end(self) -> None:
        if self._process is not None:
            processes.end(self._process, END_PATIENCE_S)
            private_file.remove_socket(self._wanted_socket)

    def _start(self) -> None:
        options = {
            "socket": private_file.make_socket_path(self._wanted_socket),
            "cpus": cpus.written(self._options.processors),
            "interval-s": self._options.manager_interval_s,
            "sharing": self._options.sharing,
            "accounts": self._accounts,
            "metrics-port": self._metrics_port,
        }
        process = self._process = starting.start(
            ["hosting", "ecm", *(f"--{name}={value}" for name, value in options.items())],
            on=tuple(sorted(cpus.usable())),
            environment=self._lab.environment() | {APPLIANCE_VARIABLE: str(self._lab.state_dir)},
            log=self._log,
        )
        if not processes.becomes_ready(process, self._accepts, starting.START_PATIENCE_S):
            processes.end(process, END_PATIENCE_S)
            raise HostingError(f"the CPU manager did not start; {log_tail.of(self._log)}")

    def _wait_until_free(self) -> None:
        if wait_while(self._accepts, LEFT_OVER_PATIENCE_S):
            raise HostingError(
                f"the CPU manager of another platform uses {self.socket}; fix: end that platform"
            )

    def _accepts(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
            probe.connect(str(self.socket))
            return True
        return False
