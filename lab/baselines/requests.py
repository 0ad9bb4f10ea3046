"""The common forms of the proxies' modules: a proxy's place in a run, a request in its log."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gateway.policies import Abandonment

CUSTOMERS: Final = 8192
"""Connections at a time, equal to `max_connections` of the gateway."""
BACKLOG: Final = 4096
"""Connections that the kernel keeps until they are accepted, as for the gateway."""
IDLE_S: Final = 60
"""Limit for a connection without a request and for a silent shop, real seconds, as in the
gateway."""
SHOP_IDLE_S: Final = 30
"""Real seconds; shorter than the shop's own keep-alive limit."""
CONNECT_S: Final = 5
"""Limit for a connection to the shop to open, real seconds, as in the gateway."""
HEAD_S: Final = 10
"""Real seconds in which a whole request must arrive, as in the gateway."""
BODY_BYTES: Final = 8_388_608
"""Limit for the body of a request, as in the gateway."""
OTHER_LIMIT: Final = 4
"""Concurrency limit for requests outside the eight pages, as in the gateway."""
OTHER: Final = "other"
"""The gateway's name for requests outside the eight pages."""

BUSY: Final = "<h1>The shop is very busy right now.</h1><p>Please try again in a moment.</p>"
"""The page for rejected customers."""

Fate = Literal["dropped", "withdrawn", "answered", "orphaned", "failed", "cancelled"]
"""The end of a request, in the gateway's words."""


@dataclass(frozen=True, slots=True)
class Place:
    """The facts about a run for a configuration. Times and rates are in paper seconds."""

    files: Path
    """The folder of configuration and logs."""
    sockets: Path
    """A folder with a short name, for sockets and temporary files."""
    host: str
    port: int
    shop_host: str
    shop_port: int
    time_scale: float
    abandonment: Abandonment
    capacity_rps: float | None
    """None in a closed loop, which measures no capacity."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has ended, from the baseline proxy's log. Times are Unix times in real
    seconds."""

    page: str
    fate: Fate
    arrived_s: float
    dispatched_s: float | None
    """None for a request that did not reach the shop."""
    ended_s: float


@dataclass(frozen=True, slots=True)
class Queue:
    """A baseline proxy's present statistics; None for values that it does not report."""

    waiting: int | None
    in_service: int | None
    connections: int | None
    """Connections of customers, and of the query itself if the baseline proxy counts it."""
