"""The dispatcher, which drives the gateway's policy, counts the fates of requests, and informs an
observer. It adds to `gateway.policies.driver` a clock in paper seconds, counts by page type, and a
queue for events that arrive while a verdict is carried out. Its host carries out the verdicts.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from gateway.policies import Abandonment
from gateway.policies.driver import Driver
from gateway.policies.interface import (
    FATES,
    Drop,
    LoadSample,
    Outcome,
    Page,
    Policy,
    Reject,
    Request,
)


class Host(Protocol):
    """The connection layer, which carries out the dispatcher's decisions; its methods must not
    raise errors.
    """

    def start(self, id: int) -> None:
        """Give the request to a free worker now."""

    def refuse(self, id: int, verdict: Drop | Reject) -> None:
        """Answer the request with an error page; the dispatcher has already removed the request."""

    def cancel(self, id: int) -> None:
        """Stop the work on the request; the host calls `finished` once the work has stopped."""

    def withdraw(self, id: int) -> None:
        """End the request without an answer, because its customer has left."""


class EventObserver(Protocol):
    """An observer that receives all events and must not influence them; its methods must not raise
    errors.

    The observer receives an event after the policy has handled it, and a verdict just before the
    host carries it out.
    """

    def arrival(self, time_s: float, request: Request) -> None: ...

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None: ...

    def abandonment(self, time_s: float, id: int, mode: Abandonment) -> None: ...

    def load_sample(self, time_s: float, sample: LoadSample) -> None: ...

    def tick(self, time_s: float, due_s: float) -> None: ...

    def switched(self, time_s: float) -> None: ...

    def dispatched(self, time_s: float, request: Request) -> None: ...

    def refused(self, time_s: float, request: Request, verdict: Drop | Reject) -> None: ...

    def withdrawn(self, time_s: float, request: Request) -> None: ...

    def next_timer_s(self) -> float | None:
        """Return the time at which the observer needs a call of `tick`; None means never."""


class RequestsNow(NamedTuple):
    """A record of all requests of a dispatcher at one moment; `gone` contains the ids of waiting
    requests whose customers have left.
    """

    waiting: Sequence[Request]
    in_service: Sequence[Request]
    gone: Collection[int]


class Dispatcher:
    """A driver of one policy for a shop with `workers` workers.

    The host calls `submit`, `finished`, `client_left`, `load_sample` and `tick`. During such a
    call, the dispatcher may call the host's methods. If these methods call the dispatcher again, it
    queues the calls, so that the policy handles one event at a time.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        workers: int,
        clock_s: Callable[[], float],
        host: Host,
        abandonment: Abandonment = "ignore",
    ) -> None:
        self.workers = workers
        self.abandonment = abandonment
        self._clock_s = clock_s
        self._counts: dict[Page, Counter[str]] = {page: Counter() for page in Page}
        self._effects = _Effects(host, workers, self._counts)
        self._driver: Driver[Request] = Driver(policy, self._effects, self._effects)
        self._effects.in_service = self._driver.in_service
        self._ids = 0
        self._events: deque[Callable[[float], None]] = deque()
        self._busy = False

    # ---- events from the host -----------------------------------------------------------------

    def new_id(self) -> int:
        """Return a request id that is unique in this dispatcher."""
        self._ids += 1
        return self._ids

    def submit(
        self, id: int, page: Page, *, session: str | None, session_is_new: bool, attempt: int
    ) -> None:
        """Handle a new request; a verdict may reach the host before this method returns."""

        def arrival(now_s: float) -> None:
            request = Request(id, page, now_s, session, session_is_new, attempt)
            self._counts[page]["arrived"] += 1
            self._driver.arrival(now_s, request, request)
            if (observer := self._effects.observer) is not None:
                observer.arrival(now_s, request)

        self._handle(arrival)

    def finished(self, id: int, outcome: Outcome) -> None:
        """Handle the end of a dispatched request, whose worker is then free again."""

        def completion(now_s: float) -> None:
            self._counts[self._driver.in_service[id].page][outcome] += 1
            self._driver.completion(now_s, id, outcome)
            if (observer := self._effects.observer) is not None:
                observer.completion(now_s, id, outcome)

        self._handle(completion)

    def client_left(self, id: int, mode: Abandonment | None = None) -> None:
        """Handle the departure of a request's customer as `Driver.abandonment` does. If `mode` is
        None, the attribute `abandonment` of the dispatcher applies.
        """

        def abandonment(now_s: float) -> None:
            does = mode or self.abandonment
            driver = self._driver
            waiting = driver.waiting.get(id)
            if waiting is None and id not in driver.in_service:
                return
            if waiting is not None and id not in driver.gone:
                self._counts[waiting.page]["abandoned_waiting"] += 1
            driver.abandonment(now_s, id, does)
            if self.observer is not None:
                self.observer.abandonment(now_s, id, does)

        self._handle(abandonment)

    def load_sample(self, sample: LoadSample) -> None:
        """Handle a sample of the shop's load."""

        def load_sample(now_s: float) -> None:
            self._driver.load_sample(now_s, sample)
            if self.observer is not None:
                self.observer.load_sample(now_s, sample)

        self._handle(load_sample)

    def tick(self, due_s: float = inf) -> None:
        """Handle the timer that was set for `due_s`. The policy is called only if its timer is due
        by `due_s`; otherwise, the timer is the observer's.
        """

        def timer_due(now_s: float) -> None:
            wanted_s = self.policy.next_timer_s()
            if wanted_s is not None and wanted_s <= due_s:  # otherwise the observer set this time
                self._driver.timer_due(now_s)
            if self.observer is not None:
                self.observer.tick(now_s, due_s)

        self._handle(timer_due)

    def next_timer_s(self) -> float | None:
        """Return the time of the next call of `tick` in paper seconds; None means never."""
        wanted_s = self._driver.policy.next_timer_s()
        observer = self._effects.observer
        return wanted_s if observer is None else earliest((wanted_s, observer.next_timer_s()))

    def switch(self, policy: Policy) -> None:
        """Replace the policy; waiting requests continue to wait. The new policy gets an abandonment
        event for each waiting request whose customer has left.
        """

        def switching(now_s: float) -> None:
            self._driver.switch(now_s, policy, list(self._driver.waiting.values()))
            if self.observer is not None:
                self.observer.switched(now_s)

        self._handle(switching)

    def take_over(self, others: RequestsNow) -> None:
        """Take over the requests of another dispatcher, as in `switch`; this dispatcher must not
        have any requests yet. Requests in service are not started a second time.
        """

        def taking_over(now_s: float) -> None:
            driver = self._driver
            driver.waiting.update((request.id, request) for request in others.waiting)
            driver.in_service.update((request.id, request) for request in others.in_service)
            driver.gone.update(others.gone)
            driver.switch(now_s, self.policy, others.waiting)

        self._handle(taking_over)

    # ---- state ---------------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        return self._driver.policy

    @property
    def observer(self) -> EventObserver | None:
        return self._effects.observer

    @observer.setter
    def observer(self, observer: EventObserver | None) -> None:
        self._effects.observer = observer

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a verdict."""
        return len(self._driver.waiting)

    @property
    def in_service(self) -> int:
        """The number of requests that workers serve at the moment."""
        return len(self._driver.in_service)

    def requests_now(self) -> RequestsNow:
        """Return all requests: the waiting ones in order of arrival, those in service in order of
        dispatch, and the ids of waiting requests whose customers have left.
        """
        driver = self._driver
        return RequestsNow(
            [*driver.waiting.values()], [*driver.in_service.values()], {*driver.gone}
        )

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of requests since the start for each page type and fate (FATES)."""
        return {page: {fate: n[fate] for fate in FATES} for page, n in self._counts.items()}

    def waiting_by_page(self) -> dict[str, int]:
        """Return the number of waiting requests of each page type."""
        by_page = Counter(request.page for request in self._driver.waiting.values())
        return {page: by_page[page] for page in Page}

    def snapshot(self) -> Mapping[str, object]:
        """Return the numbers of workers, of requests in service and of waiting requests, and the
        number of waiting requests of each page type.
        """
        return {
            "workers": self.workers,
            "in_service": self.in_service,
            "waiting": self.waiting,
            "waiting_by_page": self.waiting_by_page(),
        }

    # ---- the machinery -------------------------------------------------------------------------

    def _handle(self, event: Callable[[float], None]) -> None:
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._events:
                self._events.popleft()(self._clock_s())
        finally:
            self._busy = False


class _Effects:
    """The object that knows the free workers, counts verdicts, informs the observer, and calls the
    host. It does not refer to the dispatcher, because a reference cycle would stay in memory.
    """

    def __init__(self, host: Host, workers: int, counts: Mapping[Page, Counter[str]]) -> None:
        self.observer: EventObserver | None = None
        self.in_service: Mapping[int, Request] = {}
        self._host = host
        self._workers = workers
        self._counts = counts

    @property
    def free(self) -> int:
        return self._workers - len(self.in_service)

    def start(self, now_s: float, id: int, request: Request) -> None:
        self._counts[request.page]["dispatched"] += 1
        if self.observer is not None:
            self.observer.dispatched(now_s, request)
        self._host.start(id)

    def refuse(self, now_s: float, id: int, request: Request, verdict: Drop | Reject) -> None:
        self._counts[request.page]["dropped" if isinstance(verdict, Drop) else "rejected"] += 1
        if self.observer is not None:
            self.observer.refused(now_s, request, verdict)
        self._host.refuse(id, verdict)

    def rejected(self, now_s: float, number: int) -> None:
        """Do nothing: the gateway answers rejected requests itself, without a worker of the
        shop.
        """

    def cancel(self, now_s: float, id: int) -> None:
        self._host.cancel(id)

    def withdraw(self, now_s: float, id: int, request: Request) -> None:
        self._counts[request.page]["withdrawn"] += 1
        if self.observer is not None:
            self.observer.withdrawn(now_s, request)
        self._host.withdraw(id)


def earliest(times_s: Iterable[float | None]) -> float | None:
    """Return the earliest of the times that are not None; None if all are None."""
    return min((time_s for time_s in times_s if time_s is not None), default=None)
