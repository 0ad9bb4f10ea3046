"""The hosting platform, which starts and ends the applications and the CPU manager.

    with Platform(lab, PlatformOptions(cto_s=…, ctn_s=…)) as platform:
        platform.applications[0].https_url

The platform uses the running appliance's PostgreSQL and Redis. The thread that enters the block
must not end before the block, because all processes end with the thread.
"""

import subprocess
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from common import ports, processes
from common.waiting import wait_while
from gateway.policies.processor_assignment import even_shares
from hosting import database, starting, template
from hosting.ecm.process import ManagerProcess
from hosting.options import PlatformOptions
from hosting.running import RunningApplication
from hosting.starting import HostingError, Started
from hosting.template import Application
from runtime import certificates, monitoring
from runtime.certificate_files import CertificateError, CertificateFiles
from runtime.settings import Settings

END_PATIENCE_S = 60.0
_PAUSE_S = 0.1


class Platform(Started):
    """A context manager that runs a hosting platform.

    Entering it raises HostingError if an application or the CPU manager cannot be started. `say`
    receives the progress messages.
    """

    def __init__(
        self, lab: Settings, options: PlatformOptions, say: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__()
        self.lab = lab
        self.options = options
        self.applications: tuple[RunningApplication, ...] = ()
        self.folder = lab.state_dir / "platform"
        self.accounts = self.folder / "accounts.jsonl"
        """The file of the CPU manager's accounts."""
        self._say = say
        self._cpu_manager: ManagerProcess | None = None

    def check(self) -> None:
        """Start the CPU manager again if it has ended.

        Raises HostingError, with the reason, if this fails, or if an application has ended.
        """
        for application in self.applications:
            if application.process.poll() is not None:
                raise HostingError(f"{application.name} has ended: {application.last_words()}")
        if self._cpu_manager is not None:
            self._cpu_manager.check()

    # ---- the start -----------------------------------------------------------------------------

    def _start(self) -> None:
        planned = self._planned()
        database.check_redis(self.lab)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._say(f"Creating the certificate ({self.options.key})")
        made = self._certificates()
        if self.options.provisioning == "ecm":
            self._say("Starting the CPU manager")
            manager = self._cpu_manager = ManagerProcess(
                self.lab, self.options, self.folder, self.accounts, self._say
            )
            self._running.callback(manager.end)
            manager.begin()
        environments = [
            template.environment(
                self.lab,
                self.options,
                one,
                certificate=made.server,
                key=made.key,
                cpu_manager=None if self._cpu_manager is None else self._cpu_manager.socket,
            )
            for one in planned
        ]
        for one, environment in zip(planned, environments, strict=True):
            self._say(f"Creating the tables and {template.CATALOGUE_BOOKS:,} books of {one.name}")
            starting.seed(
                one.name,
                books=template.CATALOGUE_BOOKS,
                on=self.options.processors,
                environment=environment,
                log=self._log(f"{one.name}-seed"),
            )
        self._say("Starting the applications")
        self._running.callback(self._end_applications)
        for one, environment in zip(planned, environments, strict=True):
            process = self._start_application(one, environment)
            running = RunningApplication(
                one, process, made.authority, self._log(one.name), self.lab.inner_token
            )
            self.applications += (running,)
        self._wait_until_all_serve()
        for running in self.applications:
            running.prepare(self.options)
        self._running.enter_context(monitoring.also_scraped(self.lab, "platform", self._targets()))

    def _targets(self) -> list[monitoring.Group]:
        found = [
            one
            for plan in (application.plan for application in self.applications)
            for one in monitoring.application_targets(
                plan.name, plan.admin_port, plan.controller_ports
            )
        ]
        if self._cpu_manager is not None:
            found.append(self._cpu_manager.target)
        return found

    def _certificates(self) -> CertificateFiles:
        """Return the applications' certificates. Later platforms use them again, because creating a
        large key takes half a minute.
        """
        key = self.options.key
        try:
            return certificates.keep(self.lab.state_dir / "certificates" / key, key)[0]
        except CertificateError as error:
            raise HostingError(str(error)) from None

    def _planned(self) -> list[Application]:
        options, on = self.options, self.options.processors
        count = options.applications
        shares: list[tuple[float, tuple[int, ...]]] = [(0.0, on)] * count
        if options.provisioning == "static":
            shares = even_shares(count, on)
        elif options.provisioning == "linux":
            shares = [(float(len(on)), on)] * count
        # No more processes than the application can use at the same time.
        counts = [len(share) for _, share in shares]
        threads = database.threads_of_a_shop(self.lab, sum(counts), options.shop_threads)
        tls_ports = self._tls_ports()
        planned = []
        for i, (processors, share) in enumerate(shares):
            port, admin_port, *others = ports.free(2 + 2 * counts[i])
            planned.append(
                Application(
                    name=template.name_of(i + 1),
                    priority=options.priorities[i],
                    port=port,
                    tls_port=tls_ports[i],
                    admin_port=admin_port,
                    shop_ports=tuple(others[: counts[i]]),
                    controller_ports=tuple(others[counts[i] :]),
                    shop_threads=threads,
                    cpus=share,
                    processors=processors,
                )
            )
        return planned

    def _tls_ports(self) -> list[int]:
        count, first = self.options.applications, self.options.port
        if first is None:
            return ports.free(count)
        for port in range(first, first + count):
            if (who := ports.holder(port)) is not None:
                raise HostingError(
                    f"port {port} is in use by {who}; fix: end that process, or choose other ports"
                )
        return list(range(first, first + count))

    def _start_application(
        self, application: Application, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        shops = zip(application.shop_ports, application.controller_ports, strict=True)
        options = [f"--shop={port}:{beside}" for port, beside in shops]
        options.append(f"--logs={self.folder / application.name}")
        return starting.start(
            ["hosting", "application", *options],
            on=application.cpus,
            environment=environment,
            log=self._log(application.name),
        )

    def _wait_until_all_serve(self) -> None:
        deadline_s = time.monotonic() + starting.START_PATIENCE_S
        for application in self.applications:
            left_s = deadline_s - time.monotonic()
            why = wait_while(partial(self._refusal, application), left_s, every_s=_PAUSE_S)
            if why is not None:
                raise HostingError(f"{application.name} does not serve: {why}")

    def _refusal(self, application: RunningApplication) -> str | None:
        why = application.refusal()
        if why is not None:
            self.check()
        return why

    # ---- the end -------------------------------------------------------------------------------

    def _end_applications(self) -> None:
        started = [application.process for application in self.applications]
        processes.end_all(started, END_PATIENCE_S)

    # ---- paths -----------------------------------------------------------------------------------

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"
