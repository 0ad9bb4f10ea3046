"""The data sheets of the baseline proxies.

A sheet also states the supported abandonment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.policies import Abandonment, PolicyError
from gateway.policies.interface import Page
from gateway.policies.sheet import Parameter, Sheet

WORKERS: Final = 30
"""Threads of the shop, unless DOORBUSTER_SHOP_WORKERS changes the number."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that can replace the gateway."""

    sheet: Sheet
    program: str
    package: str
    """The package in Debian and distributions derived from it."""
    leaving: tuple[Abandonment, ...]
    """The abandonment that it supports."""


HAPROXY: Final = Proxy(
    sheet=Sheet(
        name="haproxy",
        idea="HAProxy, as a competent operator of this shop would set it up: as many requests "
        "at the shop as it has workers, the others in one queue, later pages first. A request "
        "that has waited too long is turned away.",
        rule="At most maxconn requests are at the shop. A freed place goes to the request with the "
        "lowest priorities[page], among equals to the oldest. 503 after queue_s in the queue, and "
        "at once where maxqueue (if not 0) wait already.",
        source="HAProxy 2.6 Configuration Manual: server `maxconn`, `timeout queue`, "
        "`http-request set-priority-class`, `queue()`, `option abortonclose`; HAProxy's tutorial "
        "*Queue connections to servers* has maxconn 30 and a timeout queue.",
        deviations="HAProxy's own `maxqueue` of a server does not bound the queue of a backend "
        "with one server, so maxqueue is an `http-request return` on `queue()`. Other requests "
        "than the eight pages have a separate backend with 4 places, as in the gateway. If the "
        "shop cannot be reached, the answer is 503, as for a full queue. A customer who leaves "
        "without a reset while abandonment is `ignore` is logged as answered.",
        parameters=(
            Parameter(
                "maxconn",
                WORKERS,
                "requests",
                "at the shop at a time",
                "the shop's workers: the manual has it protect a server from more than it can "
                "process at once, and more would wait in the shop, where no priority holds",
                1,
                10_000,
            ),
            Parameter(
                "queue_s",
                5.0,
                "s",
                "a request may wait this long",
                "the manual gives 5 s if only Debian's `timeout connect 5000` is set; "
                "customers leave from 8 s on, and the page itself takes some of it",
                0.1,
                3600,
            ),
            Parameter(
                "maxqueue",
                0,
                "requests",
                "most requests that may wait; 0: no limit",
                "the manual's default of `maxqueue`; queue_s bounds it",
                0,
                100_000,
            ),
            Parameter(
                "priorities",
                {page: float(-place) for place, page in enumerate(Page)},
                "class",
                "lower numbers are served first; whole numbers",
                "a customer who is further on is nearer to an order; the classes are the manual's, "
                "-2047 to 2047",
                -2047,
                2047,
            ),
        ),
    ),
    program="haproxy",
    package="haproxy",
    leaving=("ignore", "cancel"),
)

NGINX: Final = Proxy(
    sheet=Sheet(
        name="nginx",
        idea="nginx, which has no queue in front of a server (its `queue` is not in the free "
        "version): requests beyond a rate, and beyond a number at the shop, are turned away.",
        rule="The rules are for the pages in limited. More than burst requests beyond the rate get "
        "503 (leaky bucket: rate = rate_rps, or rate_ratio × the measured capacity). So does a "
        "request while as many as connections are at the shop. nodelay = 1: a request within burst "
        "continues at once; 0: it waits until the rate allows it, in order of arrival.",
        source="nginx 1.22, ngx_http_limit_req_module and ngx_http_limit_conn_module; *Rate "
        "Limiting with NGINX* (nginx.com blog) recommends burst with nodelay for most.",
        deviations="Keyed by the server, not by the customer: the limits protect the shop. An "
        "empty key leaves pages without limit, as the manual has it. One process. Nothing "
        "limits other requests than the eight pages. With nodelay = 0 a customer who leaves "
        "while being delayed is withdrawn, so abandonment `ignore` needs nodelay = 1.",
        parameters=(
            Parameter(
                "rate_ratio",
                0.9,
                "of the capacity",
                "requests of limited pages, sustained",
                "a tenth is left for the pages without limit (5 % of all requests) and for "
                "chance; nginx gives no advice",
                0.01,
                100,
            ),
            Parameter(
                "rate_rps",
                0.0,
                "requests/s",
                "the rate as a number; 0: rate_ratio applies",
                "rate_ratio is easier if the capacity is known",
                0,
                100_000,
            ),
            Parameter(
                "burst",
                WORKERS,
                "requests",
                "beyond the rate",
                "the shop's workers: a burst that the workers take at once",
                0,
                100_000,
            ),
            Parameter(
                "nodelay",
                1,
                "0 or 1",
                "1: a burst goes on at once; 0: it is delayed to the rate",
                "recommended for most deployments (*Rate Limiting with NGINX*)",
                0,
                1,
            ),
            Parameter(
                "connections",
                WORKERS,
                "requests",
                "the most of limited pages at the shop at a time",
                "the shop's workers: more would wait inside the shop",
                1,
                10_000,
            ),
            Parameter(
                "limited",
                {page: 0.0 if page.startswith("Tr") else 1.0 for page in Page},
                "0 or 1",
                "pages that the limits hold for",
                "a checkout is worth more than a glance, and nginx can express that only by a "
                "map with an empty key",
                0,
                1,
            ),
        ),
    ),
    program="nginx",
    package="nginx-light",
    leaving=("ignore", "drop-queued", "cancel"),
)

PROXIES: Final[Mapping[str, Proxy]] = {proxy.sheet.name: proxy for proxy in (HAPROXY, NGINX)}


def read(name: str, given: Mapping[str, object]) -> dict[str, object]:
    """Return the parameters of baseline proxy `name`, `given` over defaults; raises PolicyError."""
    values: dict[str, object] = dict(PROXIES[name].sheet.read(given))
    for parameter, value in values.items():
        if isinstance(value, Mapping):
            for page, number in value.items():
                if number != int(number):
                    raise PolicyError(
                        f"parameters.{parameter}.{page}",
                        f"{number!r} does not fit",
                        "whole numbers",
                    )
    return values


def knows_its_rate(name: str, parameters: Mapping[str, object]) -> bool:
    """Return whether the proxy needs no measured capacity."""
    return bool(read(name, parameters).get("rate_rps", True))


def check_leaving(name: str, parameters: Mapping[str, object], abandonment: Abandonment) -> None:
    """Raise PolicyError when the baseline proxy does not support this abandonment."""
    proxy = PROXIES[name]
    if abandonment not in proxy.leaving:
        raise PolicyError(
            "abandonment", f"{name} cannot do {abandonment!r}", ", ".join(proxy.leaving)
        )
    if abandonment == "ignore" and not read(name, parameters).get("nodelay", 1):
        raise PolicyError(
            "abandonment",
            "nginx withdraws a request whose customer leaves while it is delayed",
            "drop-queued, cancel, or parameters.nodelay = 1",
        )
