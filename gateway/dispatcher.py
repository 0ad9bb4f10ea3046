"""The driver of a policy: turns what happens to requests into events, and verdicts into deeds.

Owns: which request waits, is in service or is done; the count of free workers; counts by outcome;
switching policies without losing a request.
Must not know: sockets, asyncio, HTTP. Time comes from the clock it is given (paper seconds), deeds
go to the host it is given.
"""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from gateway.policies import Abandonment
from gateway.policies.interface import (
    FATES,
    BrokenPolicyError,
    Cancel,
    Dispatch,
    Drop,
    LoadSample,
    Outcome,
    Page,
    Policy,
    Reject,
    Request,
    Verdicts,
)


class Host(Protocol):
    """What the connection layer does on the dispatcher's word; none of it may raise."""

    def start(self, id: int) -> None:
        """Give the request to a free worker now."""

    def refuse(self, id: int, verdict: Drop | Reject) -> None:
        """Answer the request with a refusal; the dispatcher has forgotten it."""

    def cancel(self, id: int) -> None:
        """Stop the request's work; `finished` follows, once it has stopped."""

    def withdraw(self, id: int) -> None:
        """Nobody is left to answer the request; the dispatcher has forgotten it."""


class Witness(Protocol):
    """Is told what happens, and acts on nothing of it; none of it may raise.

    Every verdict when it is carried out; then, once the policy has dealt with it, the event.
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
        """When it wants to be told `tick`."""


class AtHand(NamedTuple):
    """Everybody a dispatcher has at a moment; `gone` waits although its customer has left."""

    waiting: Sequence[Request]
    in_service: Sequence[Request]
    gone: Collection[int]


class Dispatcher:
    """Drives one policy over `workers` workers.

    The host calls `submit`, `finished`, `client_left`, `load_sample` and `tick`; the dispatcher
    calls the host back, possibly before such a call returns. Calls that the host makes from within
    a callback are queued and handled in order, so that a policy never sees an event inside another.
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
        self.policy = policy
        self.workers = workers
        self.abandonment = abandonment
        self.witness: Witness | None = None
        self._clock_s = clock_s
        self._host = host
        self._ids = 0
        self._waiting: dict[int, Request] = {}
        self._in_service: dict[int, Request] = {}
        self._gone: set[int] = set()  # who waits although the customer has left
        self._counts: dict[Page, Counter[str]] = {page: Counter() for page in Page}
        self._events: deque[Callable[[float], None]] = deque()
        self._busy = False

    # ---- what the host tells ------------------------------------------------------------------

    def new_id(self) -> int:
        """An id that no other request of this dispatcher has had."""
        self._ids += 1
        return self._ids

    def submit(
        self, id: int, page: Page, *, session: str | None, session_is_new: bool, attempt: int
    ) -> None:
        """A request has come in; a verdict may reach the host before this returns."""

        def arrival(now_s: float) -> None:
            request = Request(id, page, now_s, session, session_is_new, attempt)
            self._counts[page]["arrived"] += 1
            self._waiting[id] = request
            self._decided(now_s, self.policy.arrival(now_s, request))
            if self.witness is not None:
                self.witness.arrival(now_s, request)

        self._handle(arrival)

    def finished(self, id: int, outcome: Outcome) -> None:
        """A dispatched request has ended and its worker is free."""

        def completion(now_s: float) -> None:
            request = self._in_service.pop(id)
            self._counts[request.page][outcome.value] += 1
            self._decided(now_s, self.policy.completion(now_s, id, outcome))
            if self.witness is not None:
                self.witness.completion(now_s, id, outcome)

        self._handle(completion)

    def client_left(self, id: int, mode: Abandonment | None = None) -> None:
        """The customer of a request closed the connection; harmless for one that is done.

        The policy is told first. What then still waits is withdrawn, and what is in service
        cancelled, as far as `mode` says, or `abandonment` where it is not given.
        """

        def abandonment(now_s: float) -> None:
            does = mode or self.abandonment
            waiting = self._waiting.get(id)
            if waiting is None and id not in self._in_service:
                return
            if id not in self._gone:
                if waiting is not None:
                    self._counts[waiting.page]["abandoned_waiting"] += 1
                    self._gone.add(id)
                self._obey(now_s, self.policy.abandonment(now_s, id))
            if does == "cancel" and id in self._in_service:
                self._host.cancel(id)
            elif does != "ignore" and id in self._waiting:
                self.policy.withdraw(now_s, id)
                self._withdraw(now_s, id)
            self._offer_workers(now_s)
            if self.witness is not None:
                self.witness.abandonment(now_s, id, does)

        self._handle(abandonment)

    def load_sample(self, sample: LoadSample) -> None:
        """The shop has reported its load."""

        def load_sample(now_s: float) -> None:
            self._decided(now_s, self.policy.load_sample(now_s, sample))
            if self.witness is not None:
                self.witness.load_sample(now_s, sample)

        self._handle(load_sample)

    def tick(self, due_s: float = inf) -> None:
        """The time `due_s` has come, which `next_timer_s` had given."""

        def timer_due(now_s: float) -> None:
            wanted_s = self.policy.next_timer_s()
            if wanted_s is not None and wanted_s <= due_s:  # else it is the witness's time
                self._decided(now_s, self.policy.timer_due(now_s))
            if self.witness is not None:
                self.witness.tick(now_s, due_s)

        self._handle(timer_due)

    def next_timer_s(self) -> float | None:
        """When `tick` should be called, in paper seconds; None for never."""
        wanted_s = self.policy.next_timer_s()
        if self.witness is None:
            return wanted_s
        return earliest((wanted_s, self.witness.next_timer_s()))

    def switch(self, policy: Policy) -> None:
        """Replace the policy; whoever waits goes on waiting under the new one.

        It is told of those of them whose customers have left meanwhile, as if they left now.
        """

        def switching(now_s: float) -> None:
            policy.adopt(now_s, list(self._waiting.values()))
            self.policy = policy
            self._tell_of_the_gone(now_s)
            if self.witness is not None:
                self.witness.switched(now_s)

        self._handle(switching)

    def take_over(self, others: AtHand) -> None:
        """Begin with whoever another dispatcher has; for one that has nobody.

        The policy learns of them as by a `switch`. The host is not asked to start what is in
        service already.
        """

        def taking_over(now_s: float) -> None:
            self._waiting = {request.id: request for request in others.waiting}
            self._in_service = {request.id: request for request in others.in_service}
            self._gone = set(others.gone)
            self.policy.adopt(now_s, others.waiting)
            self._tell_of_the_gone(now_s)

        self._handle(taking_over)

    def _tell_of_the_gone(self, now_s: float) -> None:
        for id in [id for id in self._waiting if id in self._gone]:
            self._obey(now_s, self.policy.abandonment(now_s, id))
        self._offer_workers(now_s)

    # ---- what others may look at ---------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Requests that wait for a verdict."""
        return len(self._waiting)

    @property
    def in_service(self) -> int:
        """Requests at a worker."""
        return len(self._in_service)

    def at_hand(self) -> AtHand:
        """Everybody who waits or is in service, the oldest first."""
        return AtHand([*self._waiting.values()], [*self._in_service.values()], {*self._gone})

    def counts(self) -> dict[str, dict[str, int]]:
        """Page type → fate → requests, cumulative (see FATES)."""
        return {page: {fate: n[fate] for fate in FATES} for page, n in self._counts.items()}

    def snapshot(self) -> Mapping[str, object]:
        """Queue lengths by page type, workers, counts and the policy's own view."""
        by_page = Counter(request.page for request in self._waiting.values())
        return {
            "policy": {"name": self.policy.name, "snapshot": dict(self.policy.snapshot())},
            "workers": self.workers,
            "in_service": self.in_service,
            "waiting": self.waiting,
            "waiting_by_page": {page: by_page[page] for page in Page},
            "counts": self.counts(),
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

    def _decided(self, now_s: float, verdicts: Verdicts) -> None:
        self._obey(now_s, verdicts)
        self._offer_workers(now_s)

    def _offer_workers(self, now_s: float) -> None:
        free = self.workers - len(self._in_service)
        if free > 0 and self._waiting:
            self._obey(now_s, self.policy.workers_free(now_s, free))

    def _obey(self, now_s: float, verdicts: Verdicts) -> None:
        for verdict in verdicts:
            match verdict:
                case Dispatch(id):
                    self._dispatch(now_s, id)
                case Drop(id):
                    self._refuse(now_s, id, "dropped", verdict)
                case Reject(id):
                    self._refuse(now_s, id, "rejected", verdict)
                case Cancel(id):
                    if id in self._in_service:
                        self._host.cancel(id)
                    elif id in self._gone:
                        self._withdraw(now_s, id)
                    else:
                        raise BrokenPolicyError(
                            f"{self.policy.name}: {id} is neither in service nor left waiting"
                        )

    def _dispatch(self, now_s: float, id: int) -> None:
        if len(self._in_service) >= self.workers:
            raise BrokenPolicyError(f"{self.policy.name}: dispatched {id} without a free worker")
        request = self._take_waiting(id)
        self._in_service[id] = request
        self._counts[request.page]["dispatched"] += 1
        if self.witness is not None:
            self.witness.dispatched(now_s, request)
        self._host.start(id)

    def _refuse(self, now_s: float, id: int, fate: str, verdict: Drop | Reject) -> None:
        request = self._take_waiting(id)
        self._counts[request.page][fate] += 1
        if self.witness is not None:
            self.witness.refused(now_s, request, verdict)
        self._host.refuse(id, verdict)

    def _withdraw(self, now_s: float, id: int) -> None:
        request = self._take_waiting(id)
        self._counts[request.page]["withdrawn"] += 1
        if self.witness is not None:
            self.witness.withdrawn(now_s, request)
        self._host.withdraw(id)

    def _take_waiting(self, id: int) -> Request:
        if id not in self._waiting:
            raise BrokenPolicyError(f"{self.policy.name}: verdict on {id}, which does not wait")
        self._gone.discard(id)
        return self._waiting.pop(id)


def earliest(times_s: Iterable[float | None]) -> float | None:
    """The least of those that are some; None if there is none."""
    return min((time_s for time_s in times_s if time_s is not None), default=None)
