"""The template of an application: its names, ports, folders and environment."""

import json
from dataclasses import dataclass
from pathlib import Path

from common import hosts
from hosting.options import K_APL_S, PERSISTENCE_S, PlatformOptions
from runtime.native.services import APPLIANCE_VARIABLE
from runtime.settings import Settings

CATALOGUE_BOOKS = 1_000
"""The number of books in the shop's catalogue: the smallest allowed number, because eDragon's
experiment does not study searches.
"""
DRAIN_S = 5.0
_HOSTS = tuple(f"DOORBUSTER_{name}HOST" for name in ("", "INNER_", "GATEWAY_", "SHOP_"))
"""The environment variables of hosts; all parts of an application use this machine's loopback
address.
"""


@dataclass(frozen=True, slots=True)
class Application:
    """An application, with its ports and processors.

    `port` is the plain HTTP port of its gateway. The ports of shops and controllers are in the same
    order. `cpus` are the CPUs on which its processes start. `processors` is the number of
    processors that its admission policy assumes. If it is 0, the policy uses the CPU manager's
    assignment.
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

    @property
    def schema(self) -> str:
        """The name of the application's schema, from which the names of its cache keys and cookies
        are derived.
        """
        return self.name.replace("-", "_")


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
            "k_apl_s": K_APL_S,
            "processors": application.processors,
        }
    gateway = {
        "ADMIN_PORT": application.admin_port,
        "PORT": application.port,
        "SHOP_PORTS": ",".join(map(str, application.shop_ports)),
        "SESSION_COOKIE": f"{application.schema}_sessionid",
        "SIGNED_COOKIE": f"{application.schema}_doorbuster_session",
        "TIME_SCALE": options.time_scale,
        "IDLE_S": PERSISTENCE_S / options.time_scale,
        "DRAIN_S": DRAIN_S,
        "TLS_PORT": application.tls_port,
        "TLS_CERTIFICATE": certificate,
        "TLS_KEY": key,
        "CONNECTION_ADMISSION": options.admission,
        "CONNECTION_ADMISSION_PARAMETERS": json.dumps(parameters),
        "APPLICATION": application.name,
        "PRIORITY": application.priority,
        "CPU_MANAGER": cpu_manager or "",
    }
    own = {
        APPLIANCE_VARIABLE: lab.state_dir,  # so that `make down` also ends it
        **dict.fromkeys(_HOSTS, hosts.LOOPBACK),
        "DOORBUSTER_SHOP_SCHEMA": application.schema,
        "DOORBUSTER_SHOP_PORT": application.shop_ports[0],
        "DOORBUSTER_SHOP_CONTROLLER_PORT": application.controller_ports[0],
        "DOORBUSTER_SHOP_CPUS": ",".join(map(str, application.cpus)),
        "DOORBUSTER_SHOP_WORKERS": application.shop_threads,
        "DOORBUSTER_CATALOGUE_BOOKS": CATALOGUE_BOOKS,
        "DOORBUSTER_ADS_PORT": "",  # no banners, because the platform has no ad server
        "DOORBUSTER_TELEMETRY_ENDPOINT": "",  # traces would cost the measurement CPU time
        **{f"DOORBUSTER_GATEWAY_{name}": value for name, value in gateway.items()},
    }
    return lab.environment() | {name: str(value) for name, value in own.items()}
