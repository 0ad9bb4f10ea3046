"""The interface between a policy and its driver: events and verdicts.

The gateway drives a policy with real connections; the simulator drives it in virtual time. All
times are in paper seconds since a zero that the driver chooses; a policy reads no clock. The driver
guarantees that time never goes backwards and that request ids are unique.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol


class Page(StrEnum):
    """The eight page types of LIFO-Pri (Table 2), from the home page to the end of a purchase."""

    HOME = "Br-1"
    BROWSE = "Br-2"
    SEARCH = "Br-3"
    DETAILS = "Br-4"
    LOGIN = "Tr-1"
    SHIPPING = "Tr-2"
    PAYMENT = "Tr-3"
    CONFIRM = "Tr-4"

    # The hash of the text: faster than Enum's hash, which is written in Python.
    __hash__ = str.__hash__

    @property
    def is_transaction(self) -> bool:
        """Whether the page is part of a purchase (Tr-1 to Tr-4)."""
        return self.value.startswith("Tr")


PAGES: tuple[Page, ...] = tuple(Page)
TRANSACTION_PAGES = tuple(page for page in Page if page.is_transaction)


class Request(NamedTuple):
    """One attempt by a customer to get one page, as a policy sees it.

    The driver chooses the `id`. `session` is None if no cookie identifies the session. Under
    admission control, and for a policy whose sheet sets `needs_sessions`, every request has a
    session. `session_is_new` is true until the session is in progress. `attempt` is 1 for the first
    attempt to get a page; each retry adds 1.
    """

    id: int
    page: Page
    arrived_s: float
    session: str | None = None
    session_is_new: bool = True
    attempt: int = 1


class Outcome(StrEnum):
    """The end of a dispatched request, as the server sees it."""

    ANSWERED = "answered"  # the whole response reached the customer
    ORPHANED = "orphaned"  # the server finished after the customer had left (an orphan request)
    FAILED = "failed"  # the server gave no usable answer
    CANCELLED = "cancelled"  # stopped, by `Cancel` or because the customer left

    __hash__ = str.__hash__  # as in Page


FATES = (
    "arrived",
    "dispatched",
    "dropped",
    "rejected",
    "abandoned_waiting",
    "withdrawn",
    *(outcome.value for outcome in Outcome),
)
"""The names of the counts that the gateway and the simulator keep for each page type.

`abandoned_waiting` counts customers who left while their requests waited. `withdrawn` counts
requests that were taken out of a queue because their customers had left. A request that has arrived
is dispatched, dropped, rejected or withdrawn, or still waits.
"""


@dataclass(frozen=True, slots=True)
class LoadSample:
    """The CPU utilisation over the last utilisation interval, and the busy workers at its end."""

    cpu_utilisation_ratio: float
    busy_workers: int
    interval_s: float


class Dispatch(NamedTuple):
    """Give this waiting request to a worker."""

    id: int


class Drop(NamedTuple):
    """Turn this request away, for example because a queue is full; the customer reads `reason`."""

    id: int
    reason: str


class Reject(NamedTuple):
    """Turn this request away with a page that asks the customer to return after `retry_after_s`."""

    id: int
    reason: str
    retry_after_s: float


class Cancel(NamedTuple):
    """Stop this request.

    A policy may stop a dispatched request even if its customer is still there. Such a customer gets
    status 503. A completion event follows.

    A policy may stop a waiting request only after its customer has left: the request is withdrawn,
    and no event follows.
    """

    id: int


Verdict = Dispatch | Drop | Reject | Cancel
Verdicts = Sequence[Verdict]
NOTHING: Verdicts = ()


class BrokenPolicyError(RuntimeError):
    """The error for a verdict that breaks the rules; the policy is always at fault."""


class Policy(Protocol):
    """A queueing policy, which decides for each request whether it waits, is served next or is
    turned away.

    A request without a verdict waits. After every event, the driver calls `workers_free` once if
    workers are free and a request waits. A request that this call does not dispatch waits for the
    next event.
    """

    name: str

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        """Handle a request that has arrived."""

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        """Return verdicts, with at most `free` verdicts `Dispatch`. `free` is the number of idle
        workers, at least 1.
        """

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        """Handle the end of a dispatched request."""

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        """Handle the departure of a customer whose request waits or is in service."""

    def withdraw(self, time_s: float, id: int) -> None:
        """Remove a waiting request whose customer has left. The driver calls this method after
        `abandonment`, if the request still waits and the abandonment setting is `drop-queued` or
        `cancel`.
        """

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        """Handle a sample of the server's load, which arrives once per utilisation interval."""

    def timer_due(self, time_s: float) -> Verdicts:
        """Handle the timer, which is due at the time that `next_timer_s` returned."""

    def next_timer_s(self) -> float | None:
        """Return the time at which the driver should call `timer_due` next; None means never."""

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        """Take over the requests that waited under the previous policy, given in order of arrival.
        Keep all these requests, even if they exceed the capacity. When the policy is switched
        during a run, the driver calls this method once, before any event.
        """

    def waiting(self) -> Sequence[Request]:
        """Return the waiting requests in order of arrival."""

    def snapshot(self) -> Mapping[str, object]:
        """Return metrics as values that JSON can express: `queues` (the number of requests in each
        queue), and optionally `discipline` and further numbers.
        """
