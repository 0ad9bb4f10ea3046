"""The services of docker-compose.yml in their starting order, with their titles and time limits."""

from dataclasses import dataclass

from runtime.native.services import Tables, ads_tables, lab_tables, shop_tables
from runtime.settings import Settings

WORKER = "lab-worker"
"""The service whose container runs commands that measure the appliance."""
OBSERVERS = ("prometheus", "node-exporter", "postgres-exporter", "redis-exporter")
GRAFANA = "grafana"
KEPT = "lab-processes"
"""The service whose container is kept when the image changes.

The console and its workers use the namespaces of this container, and would end with it.
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A group of services that start together and share one line on the screen.

    If `ends` is true, the services must end without an error. They run again when `wanted` or the
    image changes.
    """

    title: str
    services: tuple[str, ...]
    within_s: float
    ends: bool = False
    wanted: str = ""


def table(settings: Settings, *, with_grafana: bool) -> list[Part]:
    """Return the groups in their starting order; DOORBUSTER_MONITORING=0 omits monitoring."""
    parts = [
        Part("PostgreSQL", ("postgres",), 300),
        Part("Redis", ("redis", "broker"), 120),
        _preparation("shop-prepare", shop_tables(settings)),
        Part("Shop", ("shop",), 240),
        _preparation("ads-prepare", ads_tables(settings)),
        Part("Ad server", ("ads",), 360),
        Part("Gateway", ("gateway",), 240),
        _preparation("lab-prepare", lab_tables(settings)),
        Part("Workers of the console", (KEPT, WORKER), 120),
        Part("Lab console", ("lab",), 240),
    ]
    if settings.monitoring:
        parts.append(Part("Prometheus and exporters", OBSERVERS, 240))
    if with_grafana:
        parts.append(Part("Grafana", (GRAFANA,), 240))
    return parts


def _preparation(service: str, tables: Tables) -> Part:
    return Part(tables.title, (service,), tables.timeout_s, ends=True, wanted=tables.wanted)
