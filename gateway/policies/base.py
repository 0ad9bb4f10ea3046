"""The parts that most policies share: default answers to events, and a bounded queue."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, LoadSample, Outcome, Request, Verdicts

UNBOUNDED: Final = 1 << 62
"""A capacity that is too large for any run to fill."""


class Line:
    """A queue of at most `capacity` waiting requests in order of arrival. Requests from a previous
    policy may exceed the capacity; for other requests, call `append` only while `is_full` is False.
    """

    def __init__(self, capacity: int = UNBOUNDED) -> None:
        self.capacity = capacity
        self.requests: OrderedDict[int, Request] = OrderedDict()
        """The waiting requests by id, from the oldest to the newest."""

    def __len__(self) -> int:
        return len(self.requests)

    def __iter__(self) -> Iterator[Request]:
        return iter(self.requests.values())

    @property
    def is_full(self) -> bool:
        return len(self.requests) >= self.capacity

    def append(self, request: Request) -> None:
        self.requests[request.id] = request

    def remove(self, id: int) -> None:
        """Remove the request with this id from any position; raise KeyError if it is missing."""
        del self.requests[id]

    def __contains__(self, id: object) -> bool:
        return id in self.requests

    def take(self, discipline: Discipline) -> Request:
        """Remove and return the oldest request (FIFO) or the newest request (LIFO); raise KeyError
        if the queue is empty.
        """
        return self.requests.popitem(last=discipline is Discipline.LIFO)[1]


class IgnoringPolicy:
    """A base class whose methods ignore the events that a simple queue does not need. For example,
    `abandonment` does nothing, because in LIFO-Pri an orphan request keeps its place and is served
    in full.
    """

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        return NOTHING

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        return NOTHING

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        return NOTHING

    def timer_due(self, time_s: float) -> Verdicts:
        return NOTHING

    def next_timer_s(self) -> float | None:
        return None


def oldest_first(lines: Sequence[Line]) -> list[Request]:
    """Return the requests of all queues in order of arrival; requests that arrived at the same time
    are in the order of their ids.
    """
    return sorted(
        (request for line in lines for request in line),
        key=lambda request: (request.arrived_s, request.id),
    )
