"""The common parts of most policies: default answers to events, and a bounded queue."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, LoadSample, Outcome, Request, Verdicts


class Line:
    """Waiting requests in order of arrival, taken from either end; all steps are O(1).

    `capacity` is in requests. `append` is allowed only while `is_full` is False. Requests adopted
    from another policy are an exception.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.requests: OrderedDict[int, Request] = OrderedDict()
        """The requests by id, oldest first."""

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
        """Remove this request from any position; KeyError when it is not here."""
        del self.requests[id]

    def __contains__(self, id: object) -> bool:
        return id in self.requests

    def take(self, discipline: Discipline) -> Request:
        """Remove and return the oldest (FIFO) or the newest (LIFO) request; KeyError when empty."""
        return self.requests.popitem(last=discipline is Discipline.LIFO)[1]


class IgnoringPolicy:
    """A policy that ignores all events that a queue discipline does not need.

    It also ignores abandonment. In LIFO-Pri, orphan requests keep their places and are executed in
    full. If SQ skipped them, it would complete twice as many requests.
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
    """Return the requests of all queues in order of arrival. Ids break ties, because they count
    up.
    """
    return sorted(
        (request for line in lines for request in line),
        key=lambda request: (request.arrived_s, request.id),
    )
