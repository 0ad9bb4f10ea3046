"""Models of the baseline proxies for the simulator: queues, limits and timeouts.

Only the search for good settings uses the models; published rows come from measurements with the
real programs. Requests that the proxy has sent to the shop wait in a FIFO queue while all workers
are busy. Both models support only the abandonment `ignore`.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, Dispatch, Drop, Outcome, Page, Request, Verdicts
from gateway.policies.interface import Policy as AnyPolicy
from lab.baselines import sheets

_UNBOUNDED = 1 << 62


class _Proxy(IgnoringPolicy):
    """The base of both models, which has the requests that wait or are in service at the shop."""

    name: str

    def __init__(self) -> None:
        self._shop = Line(_UNBOUNDED)
        self._at_shop: dict[int, Request] = {}

    def send(self, request: Request) -> None:
        self._shop.append(request)
        self._at_shop[request.id] = request

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        shop = self._shop
        return [Dispatch(shop.take(Discipline.FIFO).id) for _ in range(min(free, len(shop)))]

    def withdraw(self, time_s: float, id: int) -> None:
        raise NotImplementedError("these models serve customers who have left")

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        for request in requests:
            self.send(request)

    def lines(self) -> list[Line]:
        return [self._shop]

    def waiting(self) -> Sequence[Request]:
        return oldest_first(self.lines())

    def snapshot(self) -> Mapping[str, object]:
        return {
            "discipline": Discipline.FIFO,
            "queues": {"all": sum(map(len, self.lines()))},
            "at_shop": len(self._at_shop),
        }


class HaproxyModel(_Proxy):
    """The model of HAProxy. At most `maxconn` requests are at the shop, and other requests wait for
    at most `queue_s`, in the order of class and age.
    """

    name = "haproxy-model"

    def __init__(
        self, *, maxconn: int, queue_s: float, maxqueue: int, priorities: Mapping[Page, float]
    ) -> None:
        super().__init__()
        self._maxconn = maxconn
        self._queue_s = queue_s
        self._maxqueue = maxqueue
        self._class_of = priorities
        self._queues = {number: Line(_UNBOUNDED) for number in sorted(set(priorities.values()))}
        self._by_age: OrderedDict[int, Request] = OrderedDict()

    def lines(self) -> list[Line]:
        return [self._shop, *self._queues.values()]

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        if self._maxqueue and len(self._by_age) >= self._maxqueue:
            return (Drop(request.id, f"{self._maxqueue} requests wait"),)
        self._queues[self._class_of[request.page]].append(request)
        self._by_age[request.id] = request
        self._move()
        return NOTHING

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self._at_shop.pop(id, None)
        self._move()
        return NOTHING

    def timer_due(self, time_s: float) -> Verdicts:
        late = []
        for request in self._by_age.values():
            if time_s < request.arrived_s + self._queue_s:
                break
            late.append(request)
        for request in late:
            del self._by_age[request.id]
            self._queues[self._class_of[request.page]].remove(request.id)
        return [Drop(request.id, f"waited {self._queue_s:g} s") for request in late]

    def next_timer_s(self) -> float | None:
        oldest = next(iter(self._by_age.values()), None)
        return None if oldest is None else oldest.arrived_s + self._queue_s

    def _move(self) -> None:
        for queue in self._queues.values():  # the lowest class first
            while len(queue) and len(self._at_shop) < self._maxconn:
                request = queue.take(Discipline.FIFO)
                del self._by_age[request.id]
                self.send(request)


class NginxModel(_Proxy):
    """The model of nginx with nodelay = 1: a leaky bucket, and then a limit on the requests at the
    shop. The bucket and the limit apply only to the pages in `limited`.
    """

    name = "nginx-model"

    def __init__(
        self, *, rate_rps: float, burst: int, connections: int, limited: Mapping[Page, float]
    ) -> None:
        super().__init__()
        self._rate_rps = rate_rps
        self._burst = burst
        self._connections = connections
        self._limited = {page for page, limit in limited.items() if limit}
        self._excess = 0.0
        self._filled_s: float | None = None
        self._limited_at_shop = 0

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        if request.page in self._limited:
            leaked = 0.0 if self._filled_s is None else (time_s - self._filled_s) * self._rate_rps
            excess = max(0.0, self._excess - leaked + 1.0) if self._filled_s is not None else 0.0
            if excess > self._burst:
                return (Drop(request.id, "above rate and burst"),)
            self._excess, self._filled_s = excess, time_s
            if self._limited_at_shop >= self._connections:
                return (Drop(request.id, f"{self._connections} requests at the shop"),)
            self._limited_at_shop += 1
        self.send(request)
        return NOTHING

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        request = self._at_shop.pop(id, None)
        if request is not None and request.page in self._limited:
            self._limited_at_shop -= 1
        return NOTHING


def create(name: str, given: Mapping[str, object], capacity_rps: float) -> AnyPolicy:
    """Return the model of proxy `name` with these parameters; raises PolicyError if they are
    invalid. If `rate_rps` is 0, nginx's rate is `rate_ratio` times `capacity_rps`. The model of
    nginx ignores `nodelay`."""
    values: dict[str, Any] = sheets.read(name, given)
    if name == "haproxy":
        return HaproxyModel(**values)
    rate_rps = values["rate_rps"] or values["rate_ratio"] * capacity_rps
    shared = ("burst", "connections", "limited")
    return NginxModel(rate_rps=rate_rps, **{key: values[key] for key in shared})
