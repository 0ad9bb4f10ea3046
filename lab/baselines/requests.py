"""The forms that the proxies' modules share: a proxy's place in a run, a request in its log."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from gateway.policies import Abandonment

CUSTOMERS: Final = 8192
"""Connected at a time, as the gateway's `max_connections`."""
BACKLOG: Final = 4096
"""Connections the kernel keeps until accepted, as the gateway's."""
IDLE_S: Final = 60
"""Real seconds, as the gateway's: a connection without a request, a silent shop."""
SHOP_IDLE_S: Final = 30
"""Real seconds; shorter than the shop's own keep-alive limit."""
CONNECT_S: Final = 5
"""Real seconds, as the gateway's."""
HEAD_S: Final = 10
"""Real seconds within which a whole request must have come, as the gateway's."""
BODY_BYTES: Final = 8_388_608
"""Of a request, as the gateway's."""
OTHER_LIMIT: Final = 4
"""Requests for none of the eight pages at the shop at a time, as the gateway's."""
OTHER: Final = "other"
"""What the gateway calls requests for none of the eight pages."""

BUSY: Final = "<h1>The shop is very busy right now.</h1><p>Please try again in a moment.</p>"
"""The page for those who are turned away."""

Fate = Literal["dropped", "withdrawn", "answered", "orphaned", "failed", "cancelled"]
"""How a request ended, in the gateway's words."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a configuration needs to know of its run. Times are paper seconds, rates per paper s."""

    files: Path
    """Where configuration and logs are kept."""
    sockets: Path
    """A folder of short name, for sockets and what is temporary."""
    host: str
    port: int
    shop_host: str
    shop_port: int
    time_scale: float
    abandonment: Abandonment
    capacity_rps: float | None
    """None in a closed loop, which measures none."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A request that has ended, from the baseline proxy's log. Unix times, real seconds."""

    page: str
    fate: Fate
    arrived_s: float
    dispatched_s: float | None
    """None for one that the shop never got."""
    ended_s: float


@dataclass(frozen=True, slots=True)
class Queue:
    """What a baseline proxy says of itself now; None is what it cannot tell."""

    waiting: int | None
    in_service: int | None
    connections: int | None
    """Of customers; also of whoever asks, if the baseline proxy counts that."""
