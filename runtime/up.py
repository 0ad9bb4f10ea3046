"""`make up`: from whatever state the machine is in to a healthy appliance.

Owns: the order of the steps and what a person reads when one fails. Must not know: how a service
works inside.
"""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runtime import cpus, credentials, down, ports, services
from runtime.progress import Progress
from runtime.services import Service, Tables
from runtime.settings import REPOSITORY, Settings, load
from runtime.state import State
from runtime.supervision import Supervisor, left_over

SUPERVISED = "supervised"
LOG_LINES = 20
FIRST_SPARE_PORT = 8088  # the defaults end at 8087
PUBLIC_PORTS = ("DOORBUSTER_GATEWAY_PORT", "DOORBUSTER_GATEWAY_TLS_PORT")
# As the shop seeds them (docs/shop.md); the runtime knows no module of the shop.
# Two rows: one would not fit the box of a terminal of 80 columns.
SIGN_IN = {"Sign in": "customer-0001 … customer-1000", "Password": "doorbuster-2005"}


class StartError(RuntimeError):
    """A step failed; the message has the service's last words and the mend."""


def up(settings: Settings, progress: Progress) -> None:
    """Start what does not run, restart what has changed, and wait until everything is healthy."""
    state = State(settings.state_dir)
    with progress.step("State folder") as step:
        state.make()
        step.detail = str(state.folder)
    with state.locked():
        credentials.make(state.folder)
        settings = load()  # now with the secrets
        Start(settings, state, progress).run()
    progress.box("Doorbuster is up", urls(settings))


def urls(settings: Settings) -> dict[str, str]:
    """What to open or type next."""
    host = services.probe_host(settings)
    named = f"[{host}]" if ":" in host else host
    lab_host = services.lab_probe_host(settings)
    lab_named = f"[{lab_host}]" if ":" in lab_host else lab_host
    return {
        "Shop": f"http://{named}:{settings.gateway_port}/",
        "Shop by TLS": f"https://{named}:{settings.gateway_tls_port}/ (make certs)",
        **SIGN_IN,
        "Lab console": f"http://{lab_named}:{settings.lab_port}/"
        + (
            ""
            if settings.lab_host == settings.host
            else " (this machine; DOORBUSTER_LAB_ACCOUNTS=1)"
        ),
        "Gateway's admin API": f"http://127.0.0.1:{settings.gateway_admin_port}/snapshot",
        "First comparison": "make compare",
        "Everything else": "make help",
        "Stop": "make down",
    }


@dataclass(slots=True)
class Start:
    """One `make up`."""

    settings: Settings
    state: State
    progress: Progress

    def run(self) -> None:
        """All steps. What an interrupted or failed start has started is stopped again."""
        supervisor = Supervisor(self.state)
        with self.progress.step("Programs") as step:
            table = services.table(self.settings, self.state)
            step.detail = ", ".join(one.title for one in table[:2])
        version = self._supervised_version(supervisor, table)
        if supervisor.is_running() and not self.state.stamped(SUPERVISED, version):
            with self.progress.step("Stopping, for the settings have changed"):
                down.stop(self.state)
        ran_before = supervisor.is_running()
        try:
            if not ran_before:
                self._start_supervisor(supervisor, table, version)
            for service in table:
                self._bring_up(supervisor, service)
        except BaseException:
            if not ran_before:
                with self.progress.step("Stopping what was started"):
                    down.stop(self.state)
            raise

    def _supervised_version(self, supervisor: Supervisor, table: Sequence[Service]) -> str:
        # Everything a running service got at its start, but its code: that restarts it alone.
        variables = self.settings.environment().items()
        parts = [
            supervisor.configuration(table),
            repr(sorted(item for item in variables if item[0].startswith("DOORBUSTER_"))),
            services.locked_dependencies().read_text(),
        ]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _start_supervisor(
        self, supervisor: Supervisor, table: Sequence[Service], version: str
    ) -> None:
        if left_over(self.state):
            with self.progress.step("Ending what an earlier start left behind"):
                down.stop(self.state)
        with self.progress.step("Ports") as step:
            taken = taken_ports(self.settings)
            if taken:
                raise StartError("\n".join(taken))
            step.detail = ", ".join(map(str, sorted(self.settings.ports().values())))
        with self.progress.step("Supervisor"):
            supervisor.start(table, self.settings)
        self.state.stamp(SUPERVISED).write_text(version)

    def _bring_up(self, supervisor: Supervisor, service: Service) -> None:
        version = service.code_version()
        if service.tables is not None:
            self._migrate_and_seed(service.tables, version)
        runs = supervisor.states()[service.name].runs
        if runs and self.state.stamped(service.name, version) and service.refusal() is None:
            with self.progress.step(service.title) as step:
                step.detail = "runs already"
            return
        with self.progress.step(service.title) as step:
            step.detail = "restarted" if runs else ""
            supervisor.stop_service(service.name)
            service.prepare()
            version = service.code_version()  # it may have prepared what counts
            supervisor.start_service(service.name)
            self._wait(supervisor, service, service.refusal)
            self._wait(supervisor, service, service.page_refusal)
            service.started()
            self.state.stamp(service.name).write_text(version)

    def _wait(
        self, supervisor: Supervisor, service: Service, refusal: Callable[[], str | None]
    ) -> None:
        deadline_s = time.monotonic() + service.ready_within_s
        while (why := refusal()) is not None:
            state = supervisor.states()[service.name].state
            if state in ("BACKOFF", "FATAL", "EXITED"):
                why = f"it ended right after its start ({state})"
            elif time.monotonic() < deadline_s:
                time.sleep(0.05)
                continue
            raise StartError(
                "\n".join(
                    [
                        f"{service.title} did not become healthy: {why}",
                        *filter(None, [busy_machine()]),
                        last_words(self.state, service.name),
                    ]
                )
            )

    def _migrate_and_seed(self, tables: Tables, code_version: str) -> None:
        version = f"{tables.wanted} {code_version}"
        if self.state.stamped(tables.log, version):
            return
        with self.progress.step(tables.title), self.state.log(tables.log).open("w") as log:
            # Not through the supervisor: it is to end, and an interrupt is to end it at once.
            try:
                done = subprocess.run(
                    tables.command,
                    cwd=REPOSITORY,
                    env=self.settings.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    timeout=tables.timeout_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise StartError(
                    f"this took more than {tables.timeout_s:.0f} s\n"
                    + last_words(self.state, tables.log)
                ) from None
            if done.returncode != 0:
                raise StartError(
                    f"the tables could not be made (exit {done.returncode})\n"
                    + last_words(self.state, tables.log)
                )
        self.state.stamp(tables.log).write_text(version)


def taken_ports(settings: Settings) -> list[str]:
    """A line for each port that somebody else holds: who, and the mend.

    The port it proposes is the same each time, so that `make up` and `make doctor` agree.
    """
    lines = []
    avoid = set(settings.ports().values())
    for variable, port in settings.ports().items():
        host = settings.host if variable in PUBLIC_PORTS else "127.0.0.1"
        if variable == "DOORBUSTER_LAB_PORT":
            host = settings.lab_host
        try:
            who = ports.holder(port, host)
        except ports.AddressError as error:
            line = f"DOORBUSTER_HOST: {error}; mend: 127.0.0.1, or 0.0.0.0 for all addresses"
            lines += [line] if line not in lines else []  # once for all ports that listen there
            continue
        if who:
            spare = ports.first_free(FIRST_SPARE_PORT, avoid, host)
            if spare is None:
                lines.append(f"port {port} is taken by {who}; mend: end it")
                continue
            avoid.add(spare)
            lines.append(
                f"port {port} is taken by {who}; mend: end it, or put a line "
                f"{variable}={spare} into the file .env"
            )
    return lines


def busy_machine() -> str:
    """Says so if more wants to run than there are CPUs; empty if not."""
    load, count = os.getloadavg()[0], len(cpus.usable())
    return f"the machine is busy: {load:.1f} processes for {count} CPUs" if load > count else ""


def last_words(state: State, service: str) -> str:
    """The end of a service's log, and where the rest is."""
    path = state.log(service)
    try:
        lines = path.read_text(errors="replace").splitlines()[-LOG_LINES:]
    except FileNotFoundError:
        lines = []
    shown = "\n".join(f"    {line}" for line in lines) or "    (it printed nothing)"
    return f"  last lines of {path}:\n{shown}\n  mend: `make doctor` looks at the machine"
