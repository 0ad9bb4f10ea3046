"""The result of a simulation."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class SessionFate(IntEnum):
    """The way in which a session ended."""

    COMPLETED = 0  # every request was answered in time
    REJECTED = 1  # admission turned it away
    TIMED_OUT = 2  # the customer ran out of patience and retries
    DROPPED = 3  # a queue was full
    FAILED = 4  # a request was cancelled by the policy
    UNFINISHED = 5  # it had not ended when the simulation was cut; every client


@dataclass(frozen=True, slots=True)
class Sessions:
    """One entry per session that arrived, in the order of arrival; index = the session's number.

    `numpy.asarray` takes each column without a copy.
    """

    arrived_s: "array[float]"
    ended_s: "array[float]"
    """nan for unfinished sessions."""
    length: "array[int]"
    """Requests the session planned; 0 for a client, because a client has no last request."""
    completed: "array[int]"
    """Requests that were answered in time."""
    kind: "array[int]"
    """Index of the session's class in the mixture of lengths; 0 for a client of the control set,
    1 for a client of the test set."""
    fate: "array[int]"
    """Codes of `SessionFate`."""

    def __len__(self) -> int:
        return len(self.arrived_s)

    def count(self, fate: SessionFate) -> int:
        """Return the number of sessions with this fate."""
        return self.fate.count(fate)


@dataclass(frozen=True, slots=True)
class Simulated:
    """The outcome of one simulation; times in paper seconds from its start."""

    sessions: Sessions
    attempts: Mapping[str, int]
    """Attempts by outcome, as the customer sees it (`loadgen.records.attempts.AttemptOutcome`)."""
    counts: Mapping[str, Mapping[str, int]]
    """Page type → fate (`gateway.policies.interface.FATES`) → requests, as the driver sees them;
    `other` are files, as in the gateway's snapshot."""
    served: Mapping[str, int]
    """Requests executed in full by page type, orphan requests included."""
    busy_s: float
    """Server time, rejections included: all CPUs together for `SharedCpus`."""
    useful_busy_s: float
    """Server time on requests, orphans too, of sessions that completed (SBAC's useful
    utilisation)."""
    rejection_busy_s: float
    """Server time on rejections."""
    wasted_busy_s: float
    """Server time on requests after their customers had left, including requests dispatched after
    that. This is the time that `cancel` can save.
    """
    unanswered_busy_s: float
    """Server time on requests before their customers left them in service."""
    disconnects: int
    """Customers who left a request in service, or one that was dispatched after they had left."""
    cancelled: int
    """Requests that were stopped in service."""
    end_s: float
    """The time of the last event, or of the cut."""
    requests: int
    """Attempts that were sent. Only if the simulation was cut is the sum of `attempts` smaller."""
    events: int
    """Events in virtual time; the end of a patience counts only if the session still waits."""
    samples: Mapping[str, list[Any]]
    """One value per utilisation interval by column, the last one up to `end_s`; the columns of
    samples.parquet, and `admission` (the admission policy's snapshot) if there is one."""
