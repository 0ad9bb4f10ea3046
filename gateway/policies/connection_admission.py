"""Connection admission: which TLS connections to accept, decided before the expensive handshake.

It is independent of session admission and of the queues. They still handle the requests of an
accepted connection. The policy `none` accepts all connections.
"""

from collections.abc import Mapping
from typing import Protocol

from gateway.policies.sheet import Sheet


class ConnectionAdmission(Protocol):
    """A policy that decides about connections that begin a TLS session; it sees all connections."""

    name: str
    asks_for_processors: bool
    """If False, the policy never requests processors from the CPU manager, and `requested` stays
    None.
    """

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        """Return whether to accept a connection, which resumes a session (checked) or begins a new
        one.

        The driver calls it once per connection. A False refuses the connection before the expensive
        part of the handshake.
        """
        ...

    def assigned(self, time_s: float, processors: float) -> None:
        """Set A_i, the application's processors from now on. A_i is a multiple of one half."""
        ...

    def timer_due(self, time_s: float) -> None:
        """Handle that the time last given by `next_timer_s` has come."""
        ...

    def next_timer_s(self) -> float | None:
        """Return when to call `timer_due` next; None for never, a past time for at once."""
        ...

    @property
    def requested(self) -> int | None:
        """The number of processors that the application needs; None while it is unknown."""
        ...

    def snapshot(self) -> Mapping[str, object]:
        """Return the policy's state as JSON-ready values."""
        ...


NONE = Sheet(
    name="none",
    idea="Every connection is accepted, whatever its handshake will cost.",
    rule="accept every connection",
    source="the original server of eDragon, section 5.1",
    deviations="none",
)


class AcceptAll:
    """The original server, which treats all connections alike and requests no processors."""

    name = NONE.name
    asks_for_processors = False

    @property
    def requested(self) -> int | None:
        return None

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        return True

    def assigned(self, time_s: float, processors: float) -> None:
        """Do nothing: every connection is accepted for any number of processors."""

    def timer_due(self, time_s: float) -> None:
        """Do nothing: this policy has no timers."""

    def next_timer_s(self) -> float | None:
        return None

    def snapshot(self) -> Mapping[str, object]:
        return {}
