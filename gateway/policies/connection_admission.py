"""Connection admission: before the expensive handshake, a policy decides whether to accept a TLS
connection.

The requests of accepted connections still pass session admission and queueing. The policy `none`
accepts all connections.
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from gateway.policies.sheet import Sheet

PlatformAdmission = Literal["eac", "none"]
"""The policies from which each application of a hosting platform can choose."""


class ConnectionAdmission(Protocol):
    """A policy that decides which new and resumed TLS connections to accept."""

    name: str
    asks_for_processors: bool
    """Whether the policy measures the load and requests processors from the CPU manager. If not,
    `requested` stays None, and the gateway requests all processors that the application can use.
    """

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        """Return whether to accept a connection, before the expensive part of its handshake;
        `resumed` is true if the connection resumes a verified TLS session.
        """

    def assigned(self, time_s: float, processors: float) -> None:
        """Set A_i, the number of processors assigned to the application (a multiple of 0.5)."""

    def timer_due(self, time_s: float) -> None:
        """Handle the timer at the time that `next_timer_s` last returned."""

    def next_timer_s(self) -> float | None:
        """Return the time of the next call of `timer_due`; None means never, and a past time means
        at once.
        """

    @property
    def requested(self) -> int | None:
        """The number of processors that the application needs; None while it is unknown."""

    def snapshot(self) -> Mapping[str, object]:
        """Return the policy's state as values that JSON can express."""


NONE = Sheet(
    name="none",
    idea="Every connection is accepted, whatever its handshake costs.",
    rule="accept every connection. The load is not measured, so the gateway requests all "
    "processors that the application can use",
    source="eDragon, section 5.1: the original server",
    deviations="none",
)


class AcceptAll:
    """A policy that accepts all connections and does not calculate a number of processors."""

    name = NONE.name
    asks_for_processors = False

    @property
    def requested(self) -> int | None:
        return None

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        return True

    def assigned(self, time_s: float, processors: float) -> None:
        """Do nothing: this policy accepts every connection, whatever the number of processors."""

    def timer_due(self, time_s: float) -> None:
        """Do nothing: this policy has no timers."""

    def next_timer_s(self) -> float | None:
        return None

    def snapshot(self) -> Mapping[str, object]:
        return {}
