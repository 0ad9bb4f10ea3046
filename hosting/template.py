"""The template of an application: its name, ports, processors and settings."""

import json
from dataclasses import dataclass
from pathlib import Path

from common.shared_settings import LEAST_BOOKS
from gateway.policies.processor_assignment import INTERVAL_S
from hosting.environment import application_environment, application_settings
from hosting.options import PERSISTENCE_S, PlatformOptions
from runtime.settings import Settings

CATALOGUE_BOOKS = LEAST_BOOKS
"""The number of books in the shop's catalogue. It is the smallest allowed number, because eDragon's
experiment does not study searches.
"""
DRAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Application:
    """An application, with its ports and processors.

    `port` is the plain HTTP port of its gateway. `shop_ports` and `controller_ports` list the shop
    processes in the same order. `cpus` are the CPUs on which its processes start. `processors` is
    the number of processors that its admission policy assumes; with 0, the policy uses the number
    that the CPU manager has assigned.
    """

    name: str
    priority: float
    port: int
    tls_port: int
    admin_port: int
    shop_ports: tuple[int, ...]
    controller_ports: tuple[int, ...]
    shop_threads: int
    cpus: tuple[int, ...]
    processors: float


def name_of(number: int) -> str:
    return f"application-{number}"


def environment(
    lab: Settings,
    options: PlatformOptions,
    application: Application,
    *,
    certificate: Path,
    key: Path,
    cpu_manager: Path | None,
) -> dict[str, str]:
    """Return the environment of an application's parent process, which all its processes inherit.

    `hosting.application` adds the ports to each shop process's environment.
    """
    parameters: dict[str, float] = {}
    if options.admission == "eac":
        assert options.cto_s is not None
        assert options.ctn_s is not None
        parameters = {
            "cto_s": options.cto_s,
            "ctn_s": options.ctn_s,
            "k_apl_s": INTERVAL_S,
            "processors": application.processors,
        }
    gateway = {
        "SHOP_PORTS": ",".join(map(str, application.shop_ports)),
        "TIME_SCALE": options.time_scale,
        "IDLE_S": PERSISTENCE_S / options.time_scale,
        "DRAIN_S": DRAIN_S,
        "CONNECTION_ADMISSION": options.admission,
        "CONNECTION_ADMISSION_PARAMETERS": json.dumps(parameters),
        "PRIORITY": application.priority,
        "CPU_MANAGER": cpu_manager or "",
    }
    settings = application_settings(
        lab,
        gateway_port=application.port,
        gateway_tls_port=application.tls_port,
        gateway_tls_certificate=certificate,
        gateway_tls_key=key,
        gateway_admin_port=application.admin_port,
        shop_port=application.shop_ports[0],
        shop_controller_port=application.controller_ports[0],
        shop_cpus=application.cpus,
        shop_workers=application.shop_threads,
        catalogue_books=CATALOGUE_BOOKS,
    )
    return application_environment(settings, application.name, gateway)
