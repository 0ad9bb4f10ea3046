"""The command `make up` for processes, which starts or restarts services and waits until all are
healthy.
"""

import hashlib
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from common import cpus, hosts, log_tail, ports, seeded_shop
from runtime import certificate_files, credentials, docs_site, monitoring
from runtime.native import down, services
from runtime.native.services import Service, Tables
from runtime.native.supervision import Supervisor, left_over
from runtime.progress import Progress
from runtime.settings import OPTIONAL_PORTS, REPOSITORY, Settings, load, used_twice
from runtime.state import State, said

SUPERVISED = "supervised"
LOG_LINES = 20
RETRY_PATIENCE_S = 15.0
"""The real seconds for which the start of a service is repeated if it keeps ending immediately."""
FIRST_SPARE_PORT = 8095  # after the default ports 8080 to 8094
LOOPBACK_PORTS = tuple(  # with `make up`
    f"DOORBUSTER_{name}_PORT" for name in ("POSTGRES", "REDIS", "BROKER")
)
PUBLIC_PORTS = ("DOORBUSTER_GATEWAY_PORT", "DOORBUSTER_GATEWAY_TLS_PORT")
# Two rows, because one would be too long for a terminal of 80 columns.
SIGN_IN = {
    "Sign in": " … ".join(seeded_shop.ACCOUNT_NAME % n for n in (1, seeded_shop.ACCOUNTS)),
    "Password": seeded_shop.PASSWORD,
}


class StartError(RuntimeError):
    """The error for a failed step; the message has the fix and, for a service, its last output."""


def up(settings: Settings, progress: Progress) -> None:
    """Start stopped services, restart changed services, and wait until all are healthy."""
    state = State(settings.state_dir)
    with progress.step("State folder") as step:
        state.make()
        state.close_to_others(settings.results_dir)
        step.detail = str(state.folder)
    with state.locked():
        credentials.make(state.folder)
        settings = load()  # now with the secrets
        Start(settings, state, progress).run()
    watched = settings.monitoring and monitoring.find(monitoring.PROMETHEUS) is not None
    progress.box("Doorbuster is up", urls(settings, prometheus=watched))
    _build_documentation(progress)


def _build_documentation(progress: Progress) -> None:
    """Build the documentation site after the start, because the appliance does not need it."""
    if docs_site.is_current() or not docs_site.can_build():
        return
    try:
        with progress.step("Documentation"):
            docs_site.build(if_stale=True)
    except docs_site.BuildError as error:
        progress.say(
            f"  {error}\n  Everything else works without the documentation; fix: make docs"
        )
    except KeyboardInterrupt:
        progress.say("  Everything runs. The documentation is not built; make docs builds it later")
        raise


def urls(settings: Settings, *, prometheus: bool = False) -> dict[str, str]:
    """Return the addresses that users open, and the next commands; `prometheus` is whether
    Prometheus runs.
    """
    host = hosts.from_here(settings.host)
    inner = hosts.from_here(settings.inner_host)
    admin = hosts.authority(inner, settings.gateway_admin_port)
    figures = hosts.authority(inner, settings.prometheus_port)
    return {
        "Shop": f"http://{hosts.authority(host, settings.gateway_port)}/",
        "Shop by TLS": f"https://{hosts.authority(host, settings.gateway_tls_port)}/ (make certs)",
        **SIGN_IN,
        "Lab console": f"{settings.lab_url}/"
        + (" (other machines: DOORBUSTER_LAB_ACCOUNTS=1)" if settings.lab_is_hidden else ""),
        **trusted_by_browsers(settings),
        "Gateway's admin API": f"http://{admin}/snapshot"
        + (" (make token)" if settings.inner_token_required else ""),
        **({"Prometheus": f"http://{figures}/"} if prometheus else {}),
        "First comparison": "make compare",
        "Everything else": "make help",
        "Stop": "make down",
    }


def trusted_by_browsers(settings: Settings) -> dict[str, str]:
    """Return the rows with the certificate authority that browsers must import.

    There is no such row without TLS, or if the appliance did not create the console's certificate.
    """
    tls = (settings.lab_tls_certificate, settings.lab_tls_key)
    if not settings.lab_accounts or not settings.creates_certificate(*tls):
        return {}
    return {
        "Browser setup": "import this authority, so that browsers trust the console:",
        "Authority": str(certificate_files.of(settings.state_dir).authority),
    }


@dataclass(slots=True)
class Start:
    """The steps of one call of `make up`."""

    settings: Settings
    state: State
    progress: Progress

    def run(self) -> None:
        """Carry out all steps.

        If the supervisor had to be started and a step fails or is interrupted, all services are
        stopped.
        """
        supervisor = Supervisor(self.state)
        with self.progress.step("Programs") as step:
            table = services.table(self.settings, self.state)
            step.detail = ", ".join(one.title for one in table[:2])
        version = self._supervised_version(supervisor, table)
        if supervisor.is_running() and not self.state.stamped(SUPERVISED, version):
            with self.progress.step("Stopping, because settings or programs have changed"):
                down.stop(self.state)
        ran_before = supervisor.is_running()
        try:
            if not ran_before:
                self._start_supervisor(supervisor, table, version)
            for service in table:
                if service.is_optional:
                    self._try(supervisor, service)
                else:
                    self._bring_up(supervisor, service)
        except BaseException:
            if not ran_before:
                with self.progress.step("Stopping what was started"):
                    down.stop(self.state)
            raise

    def _supervised_version(self, supervisor: Supervisor, table: Sequence[Service]) -> str:
        # All services restart if one of these values changes. Code is not included, because it
        # restarts only its service. Only a console's first start reads FIRST_LOOK.
        variables = {**self.settings.environment(), "DOORBUSTER_FIRST_LOOK": ""}.items()
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
            with self.progress.step("Ending processes that an earlier start left behind"):
                down.stop(self.state)
        with self.progress.step("Ports") as step:
            wanted = ports_of(self.settings, table)
            if faults := [*unknown_hosts(self.settings), *taken_ports(self.settings, wanted)]:
                raise StartError("\n".join(faults))
            step.detail = ", ".join(map(str, sorted(wanted.values())))
        with self.progress.step("Supervisor"):
            supervisor.start(table, self.settings)
        self.state.write_stamp(SUPERVISED, version)

    def _try(self, supervisor: Supervisor, service: Service) -> None:
        try:
            self._bring_up(supervisor, service)
        except (StartError, OSError) as error:
            supervisor.stop_service(service.name)
            why = str(error)
            if isinstance(error, OSError):
                why = (
                    f"{service.title} could not be started: {said(error)}; fix: `make doctor` "
                    "checks the state folder and its disk"
                )
            self.progress.say(f"{why}\n  Everything else works without it.")

    def _bring_up(self, supervisor: Supervisor, service: Service) -> None:
        version = service.code_version()
        if service.tables is not None:
            self._migrate_and_seed(service.tables, version)
        runs = supervisor.states()[service.name].runs
        if runs and self.state.stamped(service.name, version) and service.refusal() is None:
            with self.progress.step(service.title) as step:
                step.detail = "already runs"
            return
        with self.progress.step(service.title) as step:
            step.detail = "restarted" if runs else ""
            supervisor.stop_service(service.name)
            service.prepare()
            version = service.code_version()  # `prepare` may have changed these files
            supervisor.start_service(service.name)
            self._wait(supervisor, service, service.refusal)
            self._wait(supervisor, service, service.page_refusal)
            service.started()
            self.state.write_stamp(service.name, version)

    def _wait(
        self, supervisor: Supervisor, service: Service, refusal: Callable[[], str | None]
    ) -> None:
        # Not `wait_while`, because the time limit changes once the service has ended.
        began_s = time.monotonic()
        ended_s: float | None = None  # time at which its end was noticed
        while (why := refusal()) is not None:
            state, now_s = supervisor.states()[service.name].state, time.monotonic()
            patience_s = began_s + service.ready_within_s - now_s
            if state in ("BACKOFF", "EXITED", "FATAL"):
                why = f"it ended immediately after its start ({state})"
                if ended_s is None:
                    ended_s = now_s
                    self.progress.say(
                        f"    {service.title} ended immediately after its start; the start is "
                        f"repeated for up to {RETRY_PATIENCE_S:.0f} s"
                    )
            if ended_s is not None:
                # The supervisor starts it again. This can succeed when a killed predecessor has
                # freed its resources.
                patience_s = min(patience_s, ended_s + RETRY_PATIENCE_S - now_s)
            if patience_s > 0 and state != "FATAL":
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
            # Not through the supervisor, because the command ends by itself, and an interrupt must
            # end it.
            try:
                done = subprocess.run(
                    tables.command,
                    cwd=REPOSITORY,
                    env=self.settings.environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    umask=0o077,
                    timeout=tables.timeout_s,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise StartError(
                    f"the tables were not created within {tables.timeout_s:.0f} s\n"
                    + last_words(self.state, tables.log)
                ) from None
            if done.returncode != 0:
                raise StartError(
                    f"the tables could not be created (exit {done.returncode})\n"
                    + last_words(self.state, tables.log)
                )
        self.state.write_stamp(tables.log, version)


def ports_of(settings: Settings, table: Iterable[Service]) -> dict[str, int]:
    """Return the ports that these services and the appliance need, by their variables."""
    optional = {service.port_variable for service in table}
    return {
        variable: port
        for variable, port in settings.ports().items()
        if variable not in OPTIONAL_PORTS or variable in optional
    }


def unknown_hosts(settings: Settings) -> list[str]:
    """Return a line for each configured host name that this machine cannot resolve."""
    return [
        f"{variable}={host}: no such host ({why}); fix: give the name or the address of an "
        "existing host"
        for variable, host in settings.reached_hosts().items()
        if (why := hosts.unknown(host))
    ]


def taken_ports(settings: Settings, wanted: Mapping[str, int]) -> list[str]:
    """Return a line for each port in use, with its process and the fix."""
    lines = used_twice(wanted)
    avoid = set(settings.ports().values())
    for variable, port in wanted.items():
        host_variable, host = _listens_at(settings, variable)
        try:
            who = ports.holder(port, host)
        except ports.AddressError as error:
            line = f"{host_variable}: {error}; fix: 127.0.0.1, or 0.0.0.0 for all addresses"
            lines += [line] if line not in lines else []  # one line for all ports on that host
            continue
        if who:
            spare = ports.first_free(FIRST_SPARE_PORT, avoid, host)
            if spare is None:
                lines.append(f"port {port} is taken by {who}; fix: end it")
                continue
            avoid.add(spare)
            lines.append(
                f"port {port} is taken by {who}; fix: end it, or put a line "
                f"{variable}={spare} into the file .env"
            )
    return lines


def _listens_at(settings: Settings, variable: str) -> tuple[str, str]:
    if variable in LOOPBACK_PORTS:
        return variable, hosts.LOOPBACK
    public = variable in PUBLIC_PORTS
    if public or (variable == "DOORBUSTER_LAB_PORT" and settings.lab_host == settings.host):
        return "DOORBUSTER_HOST", settings.host
    return "DOORBUSTER_INNER_HOST", settings.inner_host


def busy_machine() -> str:
    """Return a warning if more processes are ready to run than the machine has CPUs, otherwise an
    empty text.
    """
    load, count = os.getloadavg()[0], len(cpus.usable())
    return (
        f"the machine is busy: on average, {load:.1f} processes compete for {count} CPUs"
        if load > count
        else ""
    )


def last_words(state: State, service: str) -> str:
    """Return the end of a service's log, with the command that checks the machine."""
    end = log_tail.of(state.log(service), LOG_LINES)
    return f"  {end}\n  fix: `make doctor` checks the machine"
