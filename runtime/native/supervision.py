"""The appliance's supervisor, a supervisord with a separate configuration and socket."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import xmlrpc.client
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import psutil
from supervisor.xmlrpc import Faults, SupervisorTransport

from common import pinned, private_file
from common.waiting import wait_until
from runtime.native import redis_server
from runtime.native.services import APPLIANCE_VARIABLE, Service
from runtime.settings import REPOSITORY, Settings
from runtime.state import State

LOG_BYTES = 10_000_000
START_WITHIN_S = 10.0
END_WITHIN_S = 120.0
START_RETRIES = 20
"""The number of times that a failed start is repeated, after 1 s, 2 s, 3 s and so on.

A start can fail because processes of the dead service still hold its port.
"""


_BROKEN_OFF = (ConnectionResetError, BrokenPipeError)
"""The exceptions for a connection that is accepted and then closed without an answer."""


class SupervisorError(RuntimeError):
    """The error for a supervisor that does not work correctly; the message has the fix."""


class StoppingError(SupervisorError):
    """The error for a supervisor that is stopping its services."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """The supervisor's report on one service."""

    name: str
    state: str  # RUNNING, STARTING, STOPPED, BACKOFF, EXITED, FATAL, …
    pid: int
    up_s: float

    @property
    def runs(self) -> bool:
        """Whether the service has a process, which may not be ready yet."""
        return self.state in ("STARTING", "RUNNING")


@dataclass(frozen=True, slots=True)
class Supervisor:
    """The supervisor of a state folder, running or not."""

    state: State

    @property
    def socket(self) -> Path:
        """The path of the supervisor's socket, in the state folder if possible."""
        return private_file.socket_path(self._wanted_socket)

    @property
    def _wanted_socket(self) -> Path:
        return self.state.folder / "supervisor.sock"

    @property
    def pid_file(self) -> Path:
        """The file with the supervisor's process id."""
        return self.state.folder / "supervisord.pid"

    @property
    def configuration_file(self) -> Path:
        """The configuration that `start` writes and the supervisor reads."""
        return self.state.folder / "supervisord.conf"

    def is_stopping(self) -> bool:
        """Return whether the supervisor answers that it is about to end."""
        try:
            with self.calls() as calls:
                calls.getState()
        except StoppingError:
            return True
        except SupervisorError:
            pass
        return False

    def is_running(self) -> bool:
        with contextlib.suppress(SupervisorError), self.calls() as calls:
            return bool(calls.getState()["statename"] == "RUNNING")
        return False

    def has_died(self) -> bool:
        """Return whether the supervisor ended without a command, because it was killed or the
        machine went down. A supervisor that stops on command removes its pid file.
        """
        return self.pid_file.exists() and self.recorded_pid() is None

    def why_down(self) -> str:
        """Return how to start the supervisor, and whether it was killed."""
        if not self.has_died():
            return "`make up` starts it."
        why = "The supervisor was killed, or the machine went down."
        return f"{why} `make up` starts everything again."

    def start(self, services: Sequence[Service], settings: Settings) -> None:
        """Start the supervisor without any service; raises `SupervisorError` if that fails."""
        self.remove_files()
        try:
            private_file.make_socket_path(self._wanted_socket)
        except OSError as error:
            raise SupervisorError(f"the supervisor cannot create a socket: {error}") from None
        private_file.write(self.configuration_file, self.configuration(services).encode())
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
            umask=0o077,  # for its log, which it opens before it sets its umask
            check=False,
        )
        if done.returncode != 0 or not wait_until(self.is_running, START_WITHIN_S):
            said = (done.stderr or done.stdout).strip()
            raise SupervisorError(
                f"supervisord did not start: {said}; fix: `make doctor` checks the machine"
            )

    def remove_files(self) -> None:
        """Remove the socket and the pid file that an ended supervisor may have left behind."""
        private_file.remove_socket(self._wanted_socket)
        self.pid_file.unlink(missing_ok=True)

    def configuration(self, services: Sequence[Service]) -> str:
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
            "umask = 077",
            "strip_ansi = false",
            *(["user = root"] if os.geteuid() == 0 else []),
        ]
        for priority, service in enumerate(services, start=1):
            sections += [
                f"[program:{service.name}]",
                f"command = {_escaped(shlex.join(service.command(self.pid_file)))}",
                f"priority = {priority}",
                "autostart = false",  # `make up` starts each service when the previous one is ready
                "autorestart = true",
                "startsecs = 1",
                f"startretries = {START_RETRIES}",
                f"stopsignal = {service.stop_signal.name.removeprefix('SIG')}",
                f"stopwaitsecs = {service.stop_wait_s}",
                f"umask = {'022' if service.writes_results else '077'}",
                # Remaining processes of the service's group end with it.
                "killasgroup = true",
                "redirect_stderr = true",
                # supervisord expands this value twice.
                f"stdout_logfile = {_escaped(_escaped(self.state.log(service.name)))}",
                f"stdout_logfile_maxbytes = {LOG_BYTES}",
                "stdout_logfile_backups = 2",
            ]
        return "\n".join(sections) + "\n"

    def states(self) -> dict[str, ServiceState]:
        with self.calls() as calls:
            return {
                one["name"]: ServiceState(
                    one["name"], one["statename"], one["pid"], max(0.0, one["now"] - one["start"])
                )
                for one in calls.getAllProcessInfo()
            }

    def start_service(self, name: str) -> None:
        """Start a service without waiting for it."""
        with self.calls() as calls:
            calls.startProcess(name, False)

    def stop_service(self, name: str) -> None:
        """Stop a service and wait for its end; do nothing if it does not run."""
        with self.calls() as calls:
            try:
                calls.stopProcess(name, True)
            except xmlrpc.client.Fault as fault:
                if "NOT_RUNNING" not in fault.faultString:
                    raise

    def shut_down(self) -> None:
        """Stop every service in the reverse order, then the supervisor."""
        pid = self.recorded_pid()
        try:
            with self.calls() as calls:
                calls.shutdown()
        except StoppingError:
            pass  # another caller is already stopping it
        except SupervisorError:
            if self.recorded_pid() is not None:
                raise  # otherwise, it has just ended
        if pid is not None:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.TimeoutExpired):
                psutil.Process(pid).wait(END_WITHIN_S)

    def recorded_pid(self) -> int | None:
        """Return the process id in the pid file. Return None if there is no such file, or if the
        process is not this supervisor.
        """
        try:
            pid = int(self.pid_file.read_text())
            command = psutil.Process(pid).cmdline()
        except (OSError, ValueError, psutil.Error):
            return None
        return pid if str(self.configuration_file) in command else None

    @contextlib.contextmanager
    def calls(self) -> Iterator[Any]:
        transport = SupervisorTransport(None, None, f"unix://{self.socket}")
        proxy = xmlrpc.client.ServerProxy("http://127.0.0.1", transport=transport)
        try:
            yield proxy.supervisor
        except (OSError, HTTPException) as error:
            # A supervisor that ends in order removes its pid file before it closes a connection; a
            # killed supervisor leaves the file.
            if isinstance(error, _BROKEN_OFF) and not self.pid_file.exists():
                raise _being_stopped() from error
            raise SupervisorError(
                f"the supervisor does not answer: {error}; fix: make down, then make up"
            ) from error
        except xmlrpc.client.Fault as fault:
            if fault.faultCode != Faults.SHUTDOWN_STATE:
                raise
            raise _being_stopped() from fault
        finally:
            transport.close()


def _being_stopped() -> StoppingError:
    return StoppingError("the appliance is being stopped; fix: wait until it has stopped")


def left_over(state: State) -> list[psutil.Process]:
    """Return the processes of this appliance that still run, whatever started them.

    A process belongs to the appliance if its environment has the appliance's mark, or if its
    command line names a file of the state folder.
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
    """End these processes: send SIGINT to PostgreSQL and SIGTERM to the others, then SIGKILL to
    those that still run.
    """
    # Not `common.processes`, because these are not children of this process.
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
    programs = {"postgres", *redis_server.PROGRAMS, "supervisord"}
    names = {Path(part).name for part in command[:3]} | {
        part.split(".")[-1] for part in command[:3]
    }
    inside = f"{folder}/"
    return bool(names & programs) and any(part.startswith(inside) for part in command[1:])


def _escaped(value: object) -> str:
    return str(value).replace("%", "%%")
