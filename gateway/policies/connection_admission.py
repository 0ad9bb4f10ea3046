"""Connection admission: which TLS connections are let in, asked before the handshake costs much.

Owns: what a connection admission policy is told and may answer, and `none`, which accepts all.
Must not know: TLS, how a resumption is recognised, who manages processors.

It is a choice of its own: who comes through this door meets session admission and queues as ever.
"""

from collections.abc import Mapping
from typing import Protocol

from gateway.policies.sheet import Sheet


class ConnectionAdmission(Protocol):
    """Decides about connections that begin a TLS session; told of all connections."""

    name: str
    asks_for_processors: bool
    """False: it never asks the CPU manager for any, and `requested` stays None."""

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        """A connection came in that really resumes a session, or begins a new one: True lets it in.

        Asked once per connection. False: it is refused, before the expensive part of the handshake.
        """
        ...

    def assigned(self, time_s: float, processors: float) -> None:
        """The application has so many processors from now on: whole ones and at most one half."""
        ...

    def timer_due(self, time_s: float) -> None:
        """The time last given by `next_timer_s` has come."""
        ...

    def next_timer_s(self) -> float | None:
        """When `timer_due` should be called next; None for never, the past for at once."""
        ...

    @property
    def requested(self) -> int | None:
        """How many processors the application needs; None while that is not known."""
        ...

    def snapshot(self) -> Mapping[str, object]:
        """What the policy knows, as JSON-ready values."""
        ...


NONE = Sheet(
    name="none",
    idea="Every connection is accepted, whatever its handshake will cost.",
    rule="accept every connection",
    source="the original server of eDragon, section 5.1",
    deviations="none",
)


class AcceptAll:
    """The original server: no differentiation, no request for processors."""

    name = NONE.name
    asks_for_processors = False

    @property
    def requested(self) -> int | None:
        return None

    def connection(self, time_s: float, *, resumed: bool) -> bool:
        return True

    def assigned(self, time_s: float, processors: float) -> None:
        """However many there are, everybody is let in."""

    def timer_due(self, time_s: float) -> None:
        """There is none."""

    def next_timer_s(self) -> float | None:
        return None

    def snapshot(self) -> Mapping[str, object]:
        return {}
