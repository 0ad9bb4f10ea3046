"""supervisord: one supervisor per appliance, told what to run and spoken to over its socket.

Owns: its configuration, its start and end, its answers. Must not know: what the services do.
"""

import contextlib
import hashlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import xmlrpc.client
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psutil
from supervisor.xmlrpc import Faults, SupervisorTransport

from runtime import pinned
from runtime.service import APPLIANCE_VARIABLE, Service
from runtime.settings import REPOSITORY, Settings
from runtime.state import State

_LONGEST_SOCKET_PATH_BYTES = 90  # of 107; supervisord appends its process id while it binds
LOG_BYTES = 10_000_000
START_RETRIES = 20
"""A second, two, three … apart: what a dead service leaves behind, as PostgreSQL its backends, may
hold up the next start for a while."""


class SupervisorError(RuntimeError):
    """The supervisor does not do as told; the message says the mend."""


def socket_path(wanted: Path) -> Path:
    """`wanted`, or one in the temporary folder if that is too long for a socket."""
    path = os.fsencode(wanted)
    if len(path) <= _LONGEST_SOCKET_PATH_BYTES:
        return wanted
    name = hashlib.sha256(path).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"doorbuster-{os.geteuid()}-{name}.sock"


class StoppingError(SupervisorError):
    """It has been told to end, and stops its services."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What the supervisor says of one service."""

    name: str
    state: str  # RUNNING, STARTING, STOPPED, BACKOFF, EXITED, FATAL, …
    pid: int
    up_s: float

    @property
    def runs(self) -> bool:
        """Whether there is a process; it may not be ready yet."""
        return self.state in ("STARTING", "RUNNING")


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The supervisor of one state folder, running or not."""

    state: State

    @property
    def socket(self) -> Path:
        """Where it listens: in the state folder if it can."""
        return socket_path(self.state.folder / "supervisor.sock")

    @property
    def pid_file(self) -> Path:
        """Where it writes its process id."""
        return self.state.folder / "supervisord.pid"

    @property
    def configuration_file(self) -> Path:
        """What `start` writes and it reads."""
        return self.state.folder / "supervisord.conf"

    def is_stopping(self) -> bool:
        """Whether it answers that it is about to end."""
        try:
            with self._calls() as calls:
                calls.getState()
        except StoppingError:
            return True
        except SupervisorError:
            pass
        return False

    def is_running(self) -> bool:
        """Whether it answers."""
        with contextlib.suppress(SupervisorError), self._calls() as calls:
            return bool(calls.getState()["statename"] == "RUNNING")
        return False

    def start(self, services: Sequence[Service], settings: Settings) -> None:
        """Start it with no service running yet.

        Raises `SupervisorError` with its own words.
        """
        for left_over in (self.socket, self.pid_file):
            left_over.unlink(missing_ok=True)
        self.configuration_file.write_text(self.configuration(services))
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "supervisor.supervisord",
                "--configuration",
                self.configuration_file,
            ],
            cwd=REPOSITORY,
            env=settings.environment() | {APPLIANCE_VARIABLE: str(self.state.folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        deadline = time.monotonic() + 10
        while done.returncode == 0 and time.monotonic() < deadline:
            if self.is_running():
                return
            time.sleep(0.05)
        raise SupervisorError(f"supervisord did not start: {(done.stderr or done.stdout).strip()}")

    def configuration(self, services: Sequence[Service]) -> str:
        """supervisord's configuration for these services."""
        open_files = pinned.raise_open_files()
        sections = [
            "[unix_http_server]",
            f"file = {_escaped(self.socket)}",
            "chmod = 0600",
            "[rpcinterface:supervisor]",
            "supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface",
            "[supervisord]",
            f"logfile = {_escaped(self.state.log('supervisor'))}",
            f"logfile_maxbytes = {LOG_BYTES}",
            "logfile_backups = 1",
            f"pidfile = {_escaped(self.pid_file)}",
            f"childlogdir = {_escaped(self.state.logs)}",
            f"directory = {_escaped(REPOSITORY)}",
            f"minfds = {open_files}",
            "nodaemon = false",
            "strip_ansi = false",
            *(["user = root"] if os.geteuid() == 0 else []),
        ]
        for priority, service in enumerate(services, start=1):
            sections += [
                f"[program:{service.name}]",
                f"command = {_escaped(shlex.join(service.command))}",
                f"priority = {priority}",
                "autostart = false",  # `make up` starts each when the one before is ready
                "autorestart = true",
                "startsecs = 1",
                f"startretries = {START_RETRIES}",
                f"stopsignal = {service.stop_signal.name.removeprefix('SIG')}",
                f"stopwaitsecs = {service.stop_wait_s}",
                # What a service leaves behind in its process group ends with it.
                "killasgroup = true",
                "redirect_stderr = true",
                # supervisord expands this one twice.
                f"stdout_logfile = {_escaped(_escaped(self.state.log(service.name)))}",
                f"stdout_logfile_maxbytes = {LOG_BYTES}",
                "stdout_logfile_backups = 2",
            ]
        return "\n".join(sections) + "\n"

    def states(self) -> dict[str, ServiceState]:
        """Each service's state."""
        with self._calls() as calls:
            return {
                one["name"]: ServiceState(
                    one["name"], one["statename"], one["pid"], max(0.0, one["now"] - one["start"])
                )
                for one in calls.getAllProcessInfo()
            }

    def start_service(self, name: str) -> None:
        """Start a service without waiting for it."""
        with self._calls() as calls:
            calls.startProcess(name, False)

    def stop_service(self, name: str) -> None:
        """Stop a service and wait until it has ended; harmless when it is not running."""
        with self._calls() as calls:
            try:
                calls.stopProcess(name, True)
            except xmlrpc.client.Fault as fault:
                if "NOT_RUNNING" not in fault.faultString:
                    raise

    def shut_down(self, within_s: float = 120.0) -> None:
        """Stop every service, last started first, and end the supervisor itself."""
        pid = self.recorded_pid()
        # Somebody else may have told it already, and given up waiting.
        with contextlib.suppress(StoppingError), self._calls() as calls:
            calls.shutdown()
        if pid is not None:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
                psutil.Process(pid).wait(within_s)

    def recorded_pid(self) -> int | None:
        """The process id in its pid file, if that process is this supervisor; None otherwise."""
        try:
            pid = int(self.pid_file.read_text())
            command = psutil.Process(pid).cmdline()
        except (OSError, ValueError, psutil.Error):
            return None
        return pid if str(self.configuration_file) in command else None

    @contextlib.contextmanager
    def _calls(self) -> Iterator[Any]:
        transport = SupervisorTransport(None, None, f"unix://{self.socket}")
        proxy = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
        try:
            yield proxy.supervisor
        except (OSError, HTTPException) as error:
            raise SupervisorError(f"the supervisor does not answer: {error}") from error
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != Faults.SHUTDOWN_STATE:
                raise
            raise StoppingError(
                "the appliance is being stopped; mend: wait until that has ended"
            ) from fault
        finally:
            transport.close()


def left_over(state: State) -> list[psutil.Process]:
    """Processes of this appliance that still run, whoever started them.

    A process is the appliance's if its environment says so, or its command line names a file in the
    state folder as one of the appliance's programs does.
    """
    mark = f"{APPLIANCE_VARIABLE}={state.folder}"
    found = []
    for process in psutil.process_iter():
        if process.pid == os.getpid():
            continue
        with contextlib.suppress(psutil.Error, OSError):
            environment = Path(f"/proc/{process.pid}/environ").read_bytes().decode(errors="replace")
            if mark in environment.split("\0") or _serves_from(process.cmdline(), state.folder):
                found.append(process)
    return found


def end(processes: Sequence[psutil.Process], within_s: float = 10.0) -> None:
    """End these processes: SIGINT to PostgreSQL, SIGTERM to the others, SIGKILL to the deaf."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            is_postgres = process.name() in ("postgres", "postmaster")
            process.send_signal(signal.SIGINT if is_postgres else signal.SIGTERM)
    _, deaf = psutil.wait_procs(processes, within_s)
    for process in deaf:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(deaf, within_s)


def _serves_from(command: Sequence[str], folder: Path) -> bool:
    programs = {"postgres", "redis-server", "supervisord"}
    names = {Path(part).name for part in command[:3]} | {
        part.split(".")[-1] for part in command[:3]
    }
    inside = f"{folder}/"
    return bool(names & programs) and any(part.startswith(inside) for part in command[1:])


def _escaped(value: object) -> str:
    return str(value).replace("%", "%%")
