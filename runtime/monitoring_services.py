"""Prometheus and the exporters as services: each where its program is installed."""

import signal
from collections.abc import Iterator
from typing import Any

from common import hosts
from common.answering import get_refusal
from runtime import monitoring
from runtime.service import Service
from runtime.settings import Settings


def watchers(settings: Settings) -> Iterator[Service]:
    """Yield Prometheus where it is installed, and the installed exporters."""
    prometheus = monitoring.find(monitoring.PROMETHEUS)
    if prometheus is None:
        return
    exporters = {job: monitoring.find(job) for job in monitoring.EXPORTERS}
    jobs = [job for job, program in exporters.items() if program is not None]

    def configure() -> None:
        places = monitoring.native(settings, [*jobs, monitoring.PROMETHEUS])
        folder = monitoring.folder_of(settings.state_dir)
        targets = monitoring.targets(settings, places)
        monitoring.configure(folder, "appliance", targets, monitoring.trust(settings))
        folder.chmod(0o700)  # unlike in containers, Prometheus runs under this account

    def password() -> None:
        monitoring.prepare_postgres(settings)

    for job, program in exporters.items():
        if program is not None:
            yield _optional(
                settings,
                f"{job}-exporter",
                f"Exporter of {job} {program.version}",
                monitoring.exporter(job, program, settings),
                path="/",
                prepare=password if job == "postgres" else lambda: None,
                plain_environment=job != "redis",  # which holds its password
            )
    yield _optional(
        settings,
        "prometheus",
        f"Prometheus {prometheus.version}",
        monitoring.prometheus(prometheus, settings),
        path="/-/ready",
        code=("dashboards/prometheus",),
        prepare=configure,
    )


def _optional(
    settings: Settings,
    name: str,
    title: str,
    program: list[str],
    *,
    path: str,
    plain_environment: bool = True,
    **more: Any,
) -> Service:
    """Return a service that all others can miss; it listens on the inner host."""
    variable = f"DOORBUSTER_{name.upper().replace('-', '_')}_PORT"
    port = settings.ports()[variable]
    return Service(
        name=name,
        title=title,
        program=tuple(program),
        plain_environment=plain_environment,
        port=port,
        port_variable=variable,
        cpus=settings.other_cpus,
        stop_signal=signal.SIGTERM,
        stop_wait_s=20,
        ready_within_s=120,
        refusal=lambda: get_refusal(hosts.from_here(settings.inner_host), port, path),
        **more,
    )
