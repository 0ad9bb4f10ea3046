"""The driver of a policy: turns what happens to requests into events, and verdicts into deeds.

Owns: which request waits, is in service or is done; the count of free workers; counts by outcome;
switching policies without losing a request.
Must not know: sockets, asyncio, HTTP. Time comes from the clock it is given (paper seconds), deeds
go to the host it is given.
"""

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import Protocol

from gateway.policies.interface import (
    FATES,
    Abandonment,
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
        self._clock_s = clock_s
        self._host = host
        self._ids = 0
        self._waiting: dict[int, Request] = {}
        self._in_service: dict[int, Request] = {}
        self._gone: set[int] = set()  # who waits although the customer has left
        self._counts: dict[Page, Counter[str]] = {page: Counter() for page in Page}
        self._events: deque[Callable[[float], Verdicts]] = deque()
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

        def arrival(now_s: float) -> Verdicts:
            request = Request(id, page, now_s, session, session_is_new, attempt)
            self._counts[page]["arrived"] += 1
            self._waiting[id] = request
            return self.policy.arrival(now_s, request)

        self._handle(arrival)

    def finished(self, id: int, outcome: Outcome) -> None:
        """A dispatched request has ended and its worker is free."""

        def completion(now_s: float) -> Verdicts:
            request = self._in_service.pop(id)
            self._counts[request.page][outcome.value] += 1
            return self.policy.completion(now_s, id, outcome)

        self._handle(completion)

    def client_left(self, id: int) -> None:
        """The customer of a request closed the connection; harmless for one that is done.

        The policy is told first. What then still waits is withdrawn, and what is in service
        cancelled, as far as `abandonment` says.
        """

        def abandonment(now_s: float) -> Verdicts:
            waiting = self._waiting.get(id)
            if waiting is None and id not in self._in_service:
                return ()
            if waiting is not None:
                self._counts[waiting.page]["abandoned_waiting"] += 1
                self._gone.add(id)
            self._obey(self.policy.abandonment(now_s, id))
            if self.abandonment == "cancel" and id in self._in_service:
                self._host.cancel(id)
            elif self.abandonment != "ignore" and id in self._waiting:
                self.policy.withdraw(now_s, id)
                self._withdraw(id)
            return ()

        self._handle(abandonment)

    def load_sample(self, sample: LoadSample) -> None:
        """The shop has reported its load."""
        self._handle(lambda now_s: self.policy.load_sample(now_s, sample))

    def tick(self) -> None:
        """The time given by `next_timer_s` has come."""
        self._handle(lambda now_s: self.policy.timer_due(now_s))

    def next_timer_s(self) -> float | None:
        """When `tick` should be called, in paper seconds; None for never."""
        return self.policy.next_timer_s()

    def switch(self, policy: Policy) -> None:
        """Replace the policy; whoever waits goes on waiting under the new one."""

        def switching(now_s: float) -> Verdicts:
            policy.adopt(now_s, list(self._waiting.values()))
            self.policy = policy
            return ()

        self._handle(switching)

    # ---- what others may look at ---------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Requests that wait for a verdict."""
        return len(self._waiting)

    @property
    def in_service(self) -> int:
        """Requests at a worker."""
        return len(self._in_service)

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

    def _handle(self, event: Callable[[float], Verdicts]) -> None:
        self._events.append(event)
        if self._busy:
            return
        self._busy = True
        try:
            while self._events:
                now_s = self._clock_s()
                self._obey(self._events.popleft()(now_s))
                self._offer_workers(now_s)
        finally:
            self._busy = False

    def _offer_workers(self, now_s: float) -> None:
        free = self.workers - len(self._in_service)
        if free > 0 and self._waiting:
            self._obey(self.policy.workers_free(now_s, free))

    def _obey(self, verdicts: Verdicts) -> None:
        for verdict in verdicts:
            match verdict:
                case Dispatch(id):
                    self._dispatch(id)
                case Drop(id):
                    self._counts[self._take_waiting(id).page]["dropped"] += 1
                    self._host.refuse(id, verdict)
                case Reject(id):
                    self._counts[self._take_waiting(id).page]["rejected"] += 1
                    self._host.refuse(id, verdict)
                case Cancel(id):
                    if id in self._in_service:
                        self._host.cancel(id)
                    elif id in self._gone:
                        self._withdraw(id)
                    else:
                        raise BrokenPolicyError(
                            f"{self.policy.name}: {id} is neither in service nor left waiting"
                        )

    def _dispatch(self, id: int) -> None:
        if len(self._in_service) >= self.workers:
            raise BrokenPolicyError(f"{self.policy.name}: dispatched {id} without a free worker")
        request = self._take_waiting(id)
        self._in_service[id] = request
        self._counts[request.page]["dispatched"] += 1
        self._host.start(id)

    def _withdraw(self, id: int) -> None:
        self._counts[self._take_waiting(id).page]["withdrawn"] += 1
        self._host.withdraw(id)

    def _take_waiting(self, id: int) -> Request:
        if id not in self._waiting:
            raise BrokenPolicyError(f"{self.policy.name}: verdict on {id}, which does not wait")
        self._gone.discard(id)
        return self._waiting.pop(id)
