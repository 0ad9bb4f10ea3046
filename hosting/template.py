"""The template of a platform's application (name, ports, processors and settings), and the
environment of every complete shop next to the appliance's.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from common import hosts
from common.shared_settings import LEAST_BOOKS
from gateway.policies.processor_assignment import INTERVAL_S
from hosting.options import PERSISTENCE_S, PlatformOptions
from runtime.native.services import APPLIANCE_VARIABLE
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


def application_settings(lab: Settings, **changes: object) -> Settings:
    """Return the appliance's settings with these changes, for an application. All its parts use
    this machine's loopback address.
    """
    return lab.changed(
        host=hosts.LOOPBACK,
        inner_host=hosts.LOOPBACK,
        gateway_host=hosts.LOOPBACK,
        shop_host=hosts.LOOPBACK,
        **changes,
    )


def application_environment(
    settings: Settings, name: str, gateway: Mapping[str, object]
) -> dict[str, str]:
    """Return the environment that all processes of an application inherit.

    `name` has only lower-case letters, digits and hyphens. The application's database schema and
    cookies get their names from `name`; the names of the cache keys come from the schema. `gateway`
    has further settings of the gateway. Its keys are the settings' variables without
    `DOORBUSTER_GATEWAY_`.
    """
    schema = name.replace("-", "_")
    of_gateway = {
        "APPLICATION": name,
        "SESSION_COOKIE": f"{schema}_sessionid",
        "SIGNED_COOKIE": f"{schema}_doorbuster_session",
        **gateway,
    }
    own = {
        APPLIANCE_VARIABLE: settings.state_dir,  # so that `make down` also ends it
        "DJANGO_SETTINGS_MODULE": "shop.settings",  # a process of another site may start it
        "DOORBUSTER_SHOP_SCHEMA": schema,
        "DOORBUSTER_ADS_PORT": "",  # no banners
        "DOORBUSTER_TELEMETRY_ENDPOINT": "",  # traces would cost the measurement CPU time
        **{f"DOORBUSTER_GATEWAY_{variable}": value for variable, value in of_gateway.items()},
    }
    return settings.environment() | {variable: str(value) for variable, value in own.items()}
