"""A customer's attempt to get a page: its values, and the possible outcomes.

All times are in paper seconds. Moments are counted from the run's start. The module uses only the
standard library.
"""

from enum import StrEnum
from typing import NamedTuple, Protocol


class AttemptOutcome(StrEnum):
    """The outcome of an attempt, as the customer sees it."""

    COMPLETED = "completed"
    TIMED_OUT = "timed_out"  # the customer's patience ended; the connection was closed
    DROPPED = "dropped"  # a queue was full
    REJECTED = "rejected"  # the gateway answered with a rejection page
    REFUSED = "refused"  # no connection
    FAILED = "failed"  # an error, a wrong page, or a response cut short
    NOT_GENERATED = "not_generated"  # planned in the session, but never sent

    # The hash of the text: faster than Enum's hash, which is written in Python.
    __hash__ = str.__hash__


class Attempt(NamedTuple):
    """A row of `attempts.parquet` (docs/loadgen.md, *Attempts*).

    The times of a `not_generated` row are None. `patience_s` is `inf` for a customer who never
    leaves.
    """

    session: int
    step: int
    page: str
    attempt: int
    intended_s: float | None
    started_s: float | None
    finished_s: float | None
    patience_s: float | None
    outcome: str
    status: int = 0
    request_id: str = ""


def not_generated(session: int, step: int, page: str) -> Attempt:
    """Return the row for a planned page that was never requested."""
    return Attempt(
        session, step, page, 0, None, None, None, None, AttemptOutcome.NOT_GENERATED.value
    )


class AttemptKeeper(Protocol):
    """An object that stores attempts: a list, or an `AttemptLog`."""

    def append(self, attempt: Attempt, /) -> None: ...
