"""The result of a simulation: its sessions, counts and times."""

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
    UNFINISHED = 5  # it had not ended when the simulation was cut off; every client


@dataclass(frozen=True, slots=True)
class Sessions:
    """The columns of sessions, one entry per arrived session in order. `numpy.asarray` can use each
    column without a copy.
    """

    arrived_s: "array[float]"
    ended_s: "array[float]"
    """The time at which each session ended, or nan for an unfinished session."""
    length: "array[int]"
    """The number of planned requests of each session; 0 for a client."""
    completed: "array[int]"
    """The number of requests of each session that were answered in time."""
    kind: "array[int]"
    """The index of each session's class in the mixture of lengths; for clients, 0 is the control
    set and 1 the test set.
    """
    fate: "array[int]"
    """The fate of each session, as a code of `SessionFate`."""

    def __len__(self) -> int:
        return len(self.arrived_s)


@dataclass(frozen=True, slots=True)
class Simulated:
    """The result of one simulation, with times in paper seconds."""

    sessions: Sessions
    attempts: Mapping[str, int]
    """The number of attempts by outcome (`loadgen.records.attempts.AttemptOutcome`)."""
    counts: Mapping[str, Mapping[str, int]]
    """The number of requests by page type and fate (`gateway.policies.interface.FATES`); `other`
    means files.
    """
    served: Mapping[str, int]
    """The number of completely executed requests by page type, including orphan requests."""
    busy_s: float
    """The server time used, including rejections; with `SharedCpus`, the sum over all CPUs."""
    useful_busy_s: float
    """The server time spent on requests of completed sessions, including orphan requests (SBAC's
    useful utilisation).
    """
    rejection_busy_s: float
    """The server time spent on rejections."""
    wasted_busy_s: float
    """The server time spent on requests after their customers had left (wasted work)."""
    unanswered_busy_s: float
    """The server time spent, before the customer left, on requests that were never answered."""
    disconnects: int
    """The number of dispatched requests whose customers left before or during the service."""
    cancelled: int
    """The number of requests that were stopped in service."""
    end_s: float
    """The time at which the last event happened or the simulation was cut off."""
    requests: int
    """The number of sent attempts. If the simulation was cut off, it can be larger than the sum of
    `attempts`, which counts only ended attempts.
    """
    events: int
    """The number of events. The end of a patience is an event only if the session still waits at
    this time.
    """
    samples: Mapping[str, list[Any]]
    """The samples by column, with one value for each utilisation interval. The last interval ends
    at `end_s` and may be shorter. The columns are those of samples.parquet up to `confirms_total`.
    An admission policy adds the column `admission` with its snapshots.
    """
