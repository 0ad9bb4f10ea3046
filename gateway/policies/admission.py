"""Session admission: before any queue, a policy decides whether a session may begin."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from gateway.policies.interface import (
    Cancel,
    Drop,
    LoadSample,
    Outcome,
    Policy,
    Reject,
    Request,
    Verdicts,
)
from gateway.policies.sheet import Sheet


class Admission(Protocol):
    """An admission policy for new sessions; it never rejects a request of a session in progress."""

    name: str

    def arrival(self, time_s: float, request: Request) -> Reject | None:
        """Return a rejection of the request, or None to pass it to the queueing policy."""

    def dropped(self, time_s: float, id: int) -> None:
        """Count an admitted request that the queueing policy then turned away (SBAC: a refused
        connection).
        """

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        """Count the end of an admitted and dispatched request."""

    def abandonment(self, time_s: float, id: int) -> None:
        """Count an admitted request whose customer has left (SBAC: an aborted request)."""

    def withdrawn(self, time_s: float, id: int) -> None:
        """Count an admitted request that was withdrawn or cancelled."""

    def load_sample(self, time_s: float, sample: LoadSample) -> None:
        """Handle a sample of the server's load, which arrives once per utilisation interval."""

    def snapshot(self) -> Mapping[str, object]:
        """Return the policy's state as values that JSON can express."""


class Combination:
    """A policy that passes an arrival to `queueing` only if `admission` admits it.

    Both policies receive the later events of admitted requests.
    """

    def __init__(self, admission: Admission, queueing: Policy) -> None:
        self.admission = admission
        self.queueing = queueing
        self.name = f"{queueing.name}+{admission.name}"

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        rejection = self.admission.arrival(time_s, request)
        if rejection is not None:
            return (rejection,)
        return self._told(time_s, self.queueing.arrival(time_s, request))

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        return self._told(time_s, self.queueing.workers_free(time_s, free))

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self.admission.completion(time_s, id, outcome)
        return self._told(time_s, self.queueing.completion(time_s, id, outcome))

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        self.admission.abandonment(time_s, id)
        return self._told(time_s, self.queueing.abandonment(time_s, id))

    def withdraw(self, time_s: float, id: int) -> None:
        self.queueing.withdraw(time_s, id)
        self.admission.withdrawn(time_s, id)

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        self.admission.load_sample(time_s, sample)
        return self._told(time_s, self.queueing.load_sample(time_s, sample))

    def timer_due(self, time_s: float) -> Verdicts:
        return self._told(time_s, self.queueing.timer_due(time_s))

    def next_timer_s(self) -> float | None:
        return self.queueing.next_timer_s()

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        self.queueing.adopt(time_s, requests)

    def waiting(self) -> Sequence[Request]:
        return self.queueing.waiting()

    def snapshot(self) -> Mapping[str, object]:
        return {**self.queueing.snapshot(), "admission": dict(self.admission.snapshot())}

    def _told(self, time_s: float, verdicts: Verdicts) -> Verdicts:
        for verdict in verdicts:
            if type(verdict) is Drop or type(verdict) is Reject:
                self.admission.dropped(time_s, verdict.id)
            elif type(verdict) is Cancel:  # for a request in service, a completion follows
                self.admission.withdrawn(time_s, verdict.id)
        return verdicts


NONE = Sheet(
    name="none",
    idea="Every session is admitted; only the queueing policy turns requests away.",
    rule="admit every session",
    source="the baseline of SBAC, section 6",
    deviations="none",
)


def no_admission() -> None:
    """Create no admission policy; the driver then runs the queueing policy alone."""
