"""The data sheets of the baseline proxies, with the abandonment that each supports."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.policies import Abandonment, PolicyError
from gateway.policies.interface import Page
from gateway.policies.sheet import Parameter, Sheet

WORKERS: Final = 30
"""The default number of the shop's workers (DOORBUSTER_SHOP_WORKERS)."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that can replace the gateway."""

    sheet: Sheet
    program: str
    package: str
    """The name of the proxy's package in Debian and in distributions derived from Debian."""
    leaving: tuple[Abandonment, ...]
    """The kinds of abandonment that the proxy supports."""


HAPROXY: Final = Proxy(
    sheet=Sheet(
        name="haproxy",
        idea="This is HAProxy with the configuration that a competent operator would use for this "
        "shop. While all workers of the shop are busy, requests wait in one queue, in which later "
        "pages come first.",
        rule="At most maxconn requests are at the shop. The next request is the oldest of the "
        "waiting requests with the lowest priorities[page]. A request gets 503 after it has waited "
        "queue_s, or at once if maxqueue requests already wait (maxqueue 0 means no limit).",
        source="HAProxy 2.6 Configuration Manual: server `maxconn`, `timeout queue`, "
        "`http-request set-priority-class`, `queue()`, `option abortonclose`; HAProxy's tutorial "
        "*Queue connections to servers* uses maxconn 30 and a timeout queue.",
        deviations="HAProxy's own `maxqueue` does not limit the queue of a backend with a single "
        "server, so maxqueue is implemented by an `http-request return` on `queue()`. Requests "
        "that are not for the eight pages have a separate backend with maxconn 4, as in the "
        "gateway. If the shop cannot be reached, the answer is 503, as for a full queue. While "
        "abandonment is `ignore`, the request of a customer who leaves without a TCP reset is "
        "logged as answered.",
        parameters=(
            Parameter(
                "maxconn",
                WORKERS,
                "requests",
                "the maximum number of requests at the shop at a time",
                "the number of the shop's workers; according to the manual, maxconn protects a "
                "server from more requests than it can process at once. Requests "
                "that wait inside the shop are not ordered by priority",
                1,
                10_000,
            ),
            Parameter(
                "queue_s",
                5.0,
                "s",
                "the maximum wait of a request",
                "according to the manual, the limit is 5 s if only Debian's `timeout connect "
                "5000` is set; customers wait at least 8 s for a page",
                0.1,
                3600,
            ),
            Parameter(
                "maxqueue",
                0,
                "requests",
                "the maximum number of waiting requests; 0: no limit",
                "the manual's default for `maxqueue`; queue_s limits the queue instead",
                0,
                100_000,
            ),
            Parameter(
                "priorities",
                {page: float(-place) for place, page in enumerate(Page)},
                "class",
                "the class of each page, a whole number; lower classes are served first",
                "a customer on a later page is closer to an order",
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
        idea="nginx has no queue in front of the shop, because the free version does not have the "
        "directive `queue`.",
        rule="The rules apply to the pages in limited. A request gets 503 if the requests exceed "
        "the rate by more than burst (leaky bucket). The rate is rate_rps, or rate_ratio × the "
        "measured capacity. A request also gets 503 if the shop already has as many requests for "
        "these pages as the parameter connections allows. With nodelay = 1, a request within "
        "burst continues "
        "at once. With nodelay = 0, a request within burst waits, in order of arrival, until the "
        "rate allows it.",
        source="nginx 1.22, ngx_http_limit_req_module and ngx_http_limit_conn_module; *Rate "
        "Limiting with NGINX* (nginx.com blog) recommends burst with nodelay for most deployments.",
        deviations="The limits are keyed by the server, not by the customer, because they protect "
        "the shop. For a page without a limit, this key is empty, as in the manual. nginx runs as "
        "one process. Requests that are not for the eight pages have no limit. With "
        "nodelay = 0, nginx withdraws a delayed request whose customer leaves, so "
        "abandonment `ignore` needs nodelay = 1.",
        parameters=(
            Parameter(
                "rate_ratio",
                0.9,
                "of the capacity",
                "the sustained rate of requests for limited pages",
                "the remaining tenth is for the pages without a limit (5 % of all requests) and "
                "for chance; nginx's manual gives no advice",
                0.01,
                100,
            ),
            Parameter(
                "rate_rps",
                0.0,
                "requests/s",
                "the sustained rate as a number; 0: rate_ratio applies",
                "rate_ratio is easier to choose, because the capacity is known",
                0,
                100_000,
            ),
            Parameter(
                "burst",
                WORKERS,
                "requests",
                "the number of requests by which a burst may exceed the rate",
                "the number of the shop's workers, which can take such a burst at once",
                0,
                100_000,
            ),
            Parameter(
                "nodelay",
                1,
                "0 or 1",
                "1: a burst continues at once; 0: its requests wait until the rate allows them",
                "recommended for most deployments (*Rate Limiting with NGINX*)",
                0,
                1,
            ),
            Parameter(
                "connections",
                WORKERS,
                "requests",
                "the maximum number of requests for limited pages at the shop at a time",
                "the number of the shop's workers; more requests would wait inside the shop",
                1,
                10_000,
            ),
            Parameter(
                "limited",
                {page: 0.0 if page.startswith("Tr") else 1.0 for page in Page},
                "0 or 1",
                "1: the limits apply to the page; 0: they do not",
                "a checkout is worth more than a visit to another page, and nginx can express "
                "this only by a map with an empty key",
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
    """Return the parameters of baseline proxy `name`: the values in `given`, and defaults for all
    other parameters. Raises PolicyError for an unknown parameter or an invalid value."""
    values: dict[str, object] = dict(PROXIES[name].sheet.read(given))
    for parameter, value in values.items():
        if isinstance(value, Mapping):
            for page, number in value.items():
                if number != int(number):
                    raise PolicyError(
                        f"parameters.{parameter}.{page}",
                        f"{number!r} is not a whole number",
                        "whole numbers",
                    )
    return values


def knows_its_rate(name: str, parameters: Mapping[str, object]) -> bool:
    """Return whether the proxy can run without a measured capacity."""
    return bool(read(name, parameters).get("rate_rps", True))


def check_leaving(name: str, parameters: Mapping[str, object], abandonment: Abandonment) -> None:
    """Raise PolicyError if the proxy does not support this abandonment mode with these
    parameters."""
    proxy = PROXIES[name]
    if abandonment not in proxy.leaving:
        raise PolicyError(
            "abandonment", f"{name} does not support {abandonment!r}", ", ".join(proxy.leaving)
        )
    if abandonment == "ignore" and not read(name, parameters).get("nodelay", 1):
        raise PolicyError(
            "abandonment",
            f"{name} does not support {abandonment!r} with parameters.nodelay = 0, because nginx "
            "then withdraws the delayed requests of customers who leave",
            "drop-queued, cancel, or parameters.nodelay = 1",
        )
