"""Session admission: who may begin, asked before any queue.

Owns: what an admission policy is told and may answer, and `none`, which admits everybody.
Must not know: queueing policies, drivers, how a session is recognised.

Admission and queueing are two independent choices; `combination` puts one of each together.
"""

from collections.abc import Mapping
from typing import Protocol

from gateway.policies.interface import LoadSample, Outcome, Reject, Request
from gateway.policies.sheet import Sheet


class Admission(Protocol):
    """Decides about new sessions; requests of sessions under way are never turned away by it."""

    name: str

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        """A request came in: a rejection, or None to let it go on to the queues."""
        ...

    def dropped(self, time_s: float, id: int) -> None:
        """A queue turned away a request that was let in (a refused connection, in SBAC)."""
        ...

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        """A request that was let in and dispatched has ended."""
        ...

    def abandonment(self, time_s: float, id: int) -> None:
        """The customer of a request that was let in closed the connection (an aborted request)."""
        ...

    def withdrawn(self, time_s: float, id: int) -> None:
        """A request that was let in was taken out of its queue, after its customer had left."""
        ...

    def load_sample(self, time_s: float, sample: LoadSample) -> None:
        """The server reported its load, once per utilisation interval."""
        ...

    def snapshot(self) -> Mapping[str, object]:
        """What the policy knows, as JSON-ready values."""
        ...


NONE = Sheet(
    name="none",
    idea="Every session is admitted; a request that finds a full queue is dropped there.",
    rule="admit every session",
    source="the base line of SBAC, section 6",
    deviations="none",
)


def no_admission() -> None:
    """Return what stands before the queueing policy: nothing."""
