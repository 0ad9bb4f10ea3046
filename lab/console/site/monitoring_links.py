"""Links to the shop, and to Prometheus and Grafana while these programs answer."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import HttpRequest

from common import hosts
from common.answering import get_refusal
from lab.console.site.settings import LAB
from runtime.settings import Settings

LOOK_EVERY_S = 10.0


@dataclass(frozen=True, slots=True)
class Watcher:
    """Prometheus or Grafana. `name` is also the name of its service in containers."""

    name: str
    title: str
    port: int
    health: str


def watchers_of(lab: Settings) -> tuple[Watcher, ...]:
    """Return Prometheus and Grafana as watchers."""
    return (
        Watcher("prometheus", "Prometheus", lab.prometheus_port, "/-/ready"),
        Watcher("grafana", "Grafana", lab.grafana_port, "/api/health"),
    )


class Watchers:
    """The watchers that answered the newest health requests; empty at first."""

    def __init__(
        self,
        watchers: Sequence[Watcher],
        host: str,
        *,
        refusal: Callable[[str, int, str], str | None] = get_refusal,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Store the `host` of this machine's watchers, and the function `refusal`, which returns
        why a watcher does not answer."""
        self._watchers = tuple(watchers)
        self._host = host
        self._refusal = refusal
        self._clock = clock
        self._there: tuple[Watcher, ...] = ()
        self._due_s = float("-inf")
        self._lock = threading.Lock()

    def there(self) -> tuple[Watcher, ...]:
        """Return the watchers that answered last time. A thread renews old answers."""
        with self._lock:
            if self._clock() >= self._due_s:
                self._due_s = self._clock() + LOOK_EVERY_S
                threading.Thread(target=self.look, name="watchers", daemon=True).start()
        return self._there

    def look(self) -> None:
        """Send a request to all watchers: first on this machine, then by the names of their Compose
        services."""
        self._there = tuple(
            one
            for one in self._watchers
            if any(
                self._refusal(host, one.port, one.health) is None for host in (self._host, one.name)
            )
        )


def links(there: Sequence[Watcher], own_host: str, inner_host: str) -> list[tuple[str, str]]:
    """Return the address and the title of each link, for a browser that reaches the console at
    `own_host` (a host name without a port).

    If the inner host is a loopback or wildcard address, pages show the links only to browsers on
    this machine. Otherwise, the links lead to the inner host.
    """
    inner_is_far = not hosts.is_loopback(inner_host) and inner_host not in hosts.EVERYWHERE
    if not (hosts.is_loopback(own_host) or inner_is_far):
        return []
    host = inner_host if inner_is_far else own_host
    return [(f"http://{hosts.authority(host, one.port)}/", one.title) for one in there]


def host_of(request: HttpRequest) -> str:
    """Return the host name or address that the browser uses for this machine, without a port."""
    return urlsplit(f"//{request.get_host()}").hostname or ""


def shop_address(request: HttpRequest) -> str:
    """Return the address of the shop's first page."""
    return f"http://{hosts.authority(host_of(request), LAB.gateway_port)}/"
