"""Session admission: before any queue, a policy decides whether a session may begin.

`combination` combines an admission policy with a queueing policy. The policy `none` admits every
session.
"""

from collections.abc import Mapping
from typing import Protocol

from gateway.policies.interface import LoadSample, Outcome, Reject, Request
from gateway.policies.sheet import Sheet


class Admission(Protocol):
    """An admission policy for new sessions; it never rejects a request of a session in progress."""

    name: str

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        """Return a rejection of the new request, or None to pass the request to the queueing
        policy.
        """
        ...

    def dropped(self, time_s: float, id: int) -> None:
        """Count an admitted request that the queueing policy then turned away (SBAC: a refused
        connection).
        """
        ...

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        """Count the end of an admitted and dispatched request."""
        ...

    def abandonment(self, time_s: float, id: int) -> None:
        """Count an admitted request whose customer has left (an aborted request)."""
        ...

    def withdrawn(self, time_s: float, id: int) -> None:
        """Count an admitted request that was withdrawn or cancelled."""
        ...

    def load_sample(self, time_s: float, sample: LoadSample) -> None:
        """Handle a sample of the server's load, which arrives once per utilisation interval."""
        ...

    def snapshot(self) -> Mapping[str, object]:
        """Return the policy's state as values that JSON can express."""
        ...


NONE = Sheet(
    name="none",
    idea="Every session is admitted; only the queueing policy turns requests away.",
    rule="admit every session",
    source="the baseline of SBAC, section 6",
    deviations="none",
)


def no_admission() -> None:
    """Create no admission policy; the driver then runs the queueing policy alone."""
