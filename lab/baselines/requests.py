"""The data types that the modules of both proxies share, and `complete`, which adds numbers from a
proxy's log to the samples of a run."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from gateway.policies import Abandonment
from gateway.policies.interface import PAGES

CUSTOMERS: Final = 8192
"""The maximum number of simultaneous connections, equal to `max_connections` of the gateway."""
BACKLOG: Final = 4096
"""The number of connections that the kernel holds until the proxy accepts them, equal to the
gateway's.
"""
IDLE_S: Final = 60
"""The limit, in real seconds, for a connection without a request and for a pause in the shop's
answer, as in the gateway.
"""
SHOP_IDLE_S: Final = 30
"""The limit for an idle connection to the shop, in real seconds. The limit is shorter than the
shop's keep-alive limit.
"""
CONNECT_S: Final = 5
"""The limit for opening a connection to the shop, in real seconds, as in the gateway."""
HEAD_S: Final = 10
"""The limit for the arrival of a request's head, in real seconds, as in the gateway. In HAProxy,
the limit includes the body; in nginx, it also applies to each pause in the body."""
BODY_BYTES: Final = 8_388_608
"""nginx's maximum size of a request's body, as in the gateway."""
OTHER_LIMIT: Final = 4
"""HAProxy's concurrency limit for requests that are not for the eight pages, as in the gateway."""
OTHER: Final = "other"
"""The gateway's name for requests that are not for the eight pages."""
FORGEABLE: Final = ("Forwarded", "X-Real-IP", "Proxy", "traceparent", "tracestate")
"""The header fields that the proxies remove from customers' requests, as the gateway does, in
addition to X-Forwarded-*.
"""

BUSY: Final = "<h1>The shop is very busy right now.</h1><p>Please try again in a moment.</p>"
"""The page for requests that the proxy turns away."""

Fate = Literal["dropped", "withdrawn", "answered", "orphaned", "failed", "cancelled"]
"""The ways in which a request can end, with the gateway's names."""


@dataclass(frozen=True, slots=True)
class Place:
    """The facts about a run that a proxy's configuration needs."""

    files: Path
    """The folder for the configuration and the logs."""
    sockets: Path
    """A folder with a short name, for sockets and temporary files."""
    host: str
    port: int
    shop_host: str
    shop_port: int
    time_scale: float
    abandonment: Abandonment
    capacity_rps: float | None
    """The measured capacity per paper second; None in a closed loop."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has ended, from the proxy's log. Times are Unix times in real seconds."""

    page: str
    fate: Fate
    arrived_s: float
    dispatched_s: float | None
    """The time at which the request was sent to the shop; None if it did not reach the shop."""
    ended_s: float


@dataclass(frozen=True, slots=True)
class Queue:
    """A baseline proxy's current statistics; a value that the proxy does not report is None."""

    waiting: int | None
    in_service: int | None
    connections: int | None
    """The number of customers' connections."""


def complete(
    rows: Sequence[dict[str, Any]], ended: Iterable[Ended], began_at: float, time_scale: float
) -> None:
    """Add the numbers from the baseline proxy's log to the samples in `rows`.

    The function sets `arrived_total`, `dispatched_total`, the number of waiting requests by page
    and, if the proxy did not report it, `waiting`. `began_at` is the Unix time of the rows' time 0.
    A wait of less than a millisecond does not count as queueing, because the log's times are whole
    milliseconds.
    """
    of_pages = [one for one in ended if one.page in PAGES]
    arrivals = sorted(one.arrived_s for one in of_pages)
    dispatches = sorted(one.dispatched_s for one in of_pages if one.dispatched_s is not None)
    came, went = _queue(of_pages)
    for row in rows:
        now = began_at + row["time_s"] / time_scale
        row["arrived_total"] = bisect_right(arrivals, now)
        row["dispatched_total"] = bisect_right(dispatches, now)
        waiting = {
            page: bisect_right(came[page], now) - bisect_right(went[page], now) for page in PAGES
        }
        row |= {f"waiting_{page}": number for page, number in waiting.items()}
        if row["waiting"] is None:
            row["waiting"] = sum(waiting.values())


def _queue(ended: Iterable[Ended]) -> tuple[Mapping[str, list[float]], Mapping[str, list[float]]]:
    """Return the times at which waits began and ended, by page, in increasing order."""
    came: dict[str, list[float]] = defaultdict(list)
    went: dict[str, list[float]] = defaultdict(list)
    for one in ended:
        came[one.page].append(one.arrived_s)
        went[one.page].append(one.ended_s if one.dispatched_s is None else one.dispatched_s)
    for times in (*came.values(), *went.values()):
        times.sort()
    return came, went
