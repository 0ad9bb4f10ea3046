"""The common data types of the proxies' modules: the facts about a run, a request in a log, and a
proxy's statistics.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gateway.policies import Abandonment

CUSTOMERS: Final = 8192
"""The maximum number of simultaneous connections, equal to `max_connections` of the gateway."""
BACKLOG: Final = 4096
"""The number of connections that the kernel holds until the proxy accepts them, equal to the
gateway's.
"""
IDLE_S: Final = 60
"""The limit, in real seconds, for a connection without a request and for a shop that sends nothing,
as in the gateway.
"""
SHOP_IDLE_S: Final = 30
"""The limit for an idle connection to the shop, in real seconds; it is shorter than the shop's own
keep-alive limit.
"""
CONNECT_S: Final = 5
"""The limit for opening a connection to the shop, in real seconds, as in the gateway."""
HEAD_S: Final = 10
"""The limit for the arrival of a whole request, in real seconds, as in the gateway."""
BODY_BYTES: Final = 8_388_608
"""The maximum size of a request's body, as in the gateway."""
OTHER_LIMIT: Final = 4
"""The concurrency limit for requests that are not for the eight pages, as in the gateway."""
OTHER: Final = "other"
"""The gateway's name for requests that are not for the eight pages."""

BUSY: Final = "<h1>The shop is very busy right now.</h1><p>Please try again in a moment.</p>"
"""The page for rejected customers."""

Fate = Literal["dropped", "withdrawn", "answered", "orphaned", "failed", "cancelled"]
"""The ways in which a request can end, with the gateway's names."""


@dataclass(frozen=True, slots=True)
class Place:
    """The facts about a run that a proxy's configuration needs. Times and rates are in paper
    seconds."""

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
    """The measured capacity; None in a closed loop, for which no capacity is measured."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has ended, from the baseline proxy's log. Times are Unix times in real
    seconds."""

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
    """The number of customers' connections, including the query's own connection if the baseline
    proxy counts it.
    """
