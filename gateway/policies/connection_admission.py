"""Connection admission: which TLS connections to accept, decided before the expensive handshake.

It is independent of session admission and of the queues, which still handle the requests of an
accepted connection. The policy `none` accepts all connections.
"""

from collections.abc import Mapping
from typing import Protocol

from gateway.policies.sheet import Sheet


class ConnectionAdmission(Protocol):
    """A policy that decides about connections that begin a TLS session; it sees all other
    connections, too.
    """

    name: str
    asks_for_processors: bool
    """Whether the policy requests processors from the CPU manager; if False, `requested` stays
    None.
    """

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        """Return whether to accept a connection; `resumed` shows whether it resumes a session,
        which has been checked.

        The driver calls it once per connection. If the result is False, the connection is refused
        before the expensive part of the handshake.
        """
        ...

    def assigned(self, time_s: float, processors: float) -> None:
        """Set A_i, the number of the application's processors from now on, a multiple of one
        half.
        """
        ...

    def timer_due(self, time_s: float) -> None:
        """Handle the timer: the time that `next_timer_s` returned last has come."""
        ...

    def next_timer_s(self) -> float | None:
        """Return the time at which to call `timer_due` next; None means never, a past time means at
        once.
        """
        ...

    @property
    def requested(self) -> int | None:
        """The number of processors that the application needs; None while it is unknown."""
        ...

    def snapshot(self) -> Mapping[str, object]:
        """Return the policy's state as values that JSON can express."""
        ...


NONE = Sheet(
    name="none",
    idea="Every connection is accepted, whatever its handshake costs.",
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
        """Do nothing, because every connection is accepted with any number of processors."""

    def timer_due(self, time_s: float) -> None:
        """Do nothing, because this policy has no timers."""

    def next_timer_s(self) -> float | None:
        return None

    def snapshot(self) -> Mapping[str, object]:
        return {}
