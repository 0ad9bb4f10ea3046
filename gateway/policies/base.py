"""The common parts of most policies: default answers to events, and a bounded queue."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, LoadSample, Outcome, Request, Verdicts


class Line:
    """A queue of waiting requests in order of arrival, which can be taken from either end; all
    steps are O(1). `capacity` is a number of requests. `append` is allowed only while `is_full` is
    False, except for requests adopted from another policy.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.requests: OrderedDict[int, Request] = OrderedDict()
        """The requests, with their ids as keys, oldest first."""

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
        """Remove this request from any position; raises KeyError if it is not in the queue."""
        del self.requests[id]

    def __contains__(self, id: object) -> bool:
        return id in self.requests

    def take(self, discipline: Discipline) -> Request:
        """Remove and return the oldest (FIFO) or the newest (LIFO) request; raises KeyError if the
        queue is empty.
        """
        return self.requests.popitem(last=discipline is Discipline.LIFO)[1]


class IgnoringPolicy:
    """A policy that ignores all events that a queue discipline does not need. It also ignores
    abandonment, because in LIFO-Pri orphan requests keep their places and are executed in full. If
    SQ skipped them, it would complete twice as many requests.
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
    """Return the requests of all queues in order of arrival. If times are equal, the lower id is
    older.
    """
    return sorted(
        (request for line in lines for request in line),
        key=lambda request: (request.arrived_s, request.id),
    )
