"""A shadow: a policy that decides in a separate world, without effect on real requests.

This world has separate waiting requests, requests in service and ended sessions, and a model of the
shop (`shadow.shop`). A second dispatcher drives the policy. The customers are the real customers,
so their next requests depend on the acting policy's decisions.

- A session that the shadow refuses ends in the shadow's world; the verdict on its later requests is
  `absent`.
- A session that only the real world refuses sends no further requests to the shadow.
- If a request waits longer in the shadow's world than in the real world, its customer leaves as
  real customers do (`shadow.shop.Customers`).

If both policies are the same from the start, both worlds stay identical to the last digit
(tests/gateway/shadow/test_shadow.py).
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Final

from gateway.policies import Abandonment
from gateway.policies.interface import Drop, LoadSample, Outcome, Policy, Reject
from gateway.queues.dispatcher import Dispatcher
from gateway.shadow.shop import EXACT_S, Account, Customers, Decision, ModelShop, Needs, RealRequest
from gateway.shadow.tally import Tally

SESSIONS_REMEMBERED: Final = 10_000
"""The number of newest ended sessions that a shadow's world remembers."""
MOST_WAITING: Final = 100_000
"""The maximum number of waiting requests in a shadow's world, to protect the gateway's memory."""


class ShadowError(Exception):
    """The error for a shadow that must end; the message is one line."""


@dataclass(frozen=True, slots=True)
class RealWorld:
    """The real world, shared by all shadows: the acting policy's dispatcher and the state of the
    real requests.
    """

    acting: Dispatcher
    shop: Account
    needs: Needs
    customers: Customers


@dataclass(slots=True, eq=False)
class _Case:
    """A request that waits in the shadow's world, or on which only one policy has decided."""

    real_request: RealRequest
    said: Decision | None = None
    is_compared: bool = False
    waits: bool = True


class Shadow:
    """A shadow; `policy` makes its decisions. Events must come in the order of their times. Every
    method that handles an event may raise the policy's error.
    """

    def __init__(self, policy: Policy, *, now_s: float, real: RealWorld) -> None:
        self._now_s = now_s
        self._real = real
        self._shop = ModelShop(real.shop, real.needs, Account(now_s))
        self._cases: dict[int, _Case] = {}
        self._leaving: list[tuple[float, int]] = []  # a heap: (time of leaving, request id)
        # The ids of requests whose customers have left only in the shadow's world.
        self._left: set[int] = set()
        self.gone: OrderedDict[str, int] = OrderedDict()  # session → its refused request
        self.dispatcher = Dispatcher(
            policy, workers=real.acting.workers, clock_s=lambda: self._now_s, host=self
        )
        self._busy_s = 0.0
        self._real_busy_s = real.shop.busy_s
        self.tally = Tally(now_s)

    def begin(self, real_requests: Mapping[int, RealRequest]) -> None:
        """Begin with the present state of the real world, as after a switch of the policy."""
        others = self._real.acting.requests_now()
        for request in others.waiting:
            case = self._cases[request.id] = _Case(real_requests[request.id])
            if request.id in others.gone:  # already decided: nothing left to compare
                case.said, case.is_compared = case.real_request.decision, True
        real_work_s = self._real.shop.work_at(self._now_s)
        for request in others.in_service:
            real_request = real_requests[request.id]
            self._shop.start(self._now_s, real_request, real_work_s - real_request.from_work_s)
        self.dispatcher.take_over(others)

    def end(self) -> None:
        """Release the policy and its process, if any; no events may follow."""
        del self.dispatcher  # it and the shadow refer to each other, and would stay in memory

    # ---- events of the real world --------------------------------------------------------------

    def arrival(self, time_s: float, real_request: RealRequest) -> None:
        self.run(time_s)
        request = real_request.request
        if request.session in self.gone:
            self.tally.absent(request)
            return
        if self.dispatcher.waiting >= MOST_WAITING:
            raise ShadowError(f"{MOST_WAITING:,} requests wait in the shadow's world")
        self._cases[request.id] = _Case(real_request)
        self.dispatcher.submit(
            request.id,
            request.page,
            session=request.session,
            session_is_new=request.session_is_new,
            attempt=request.attempt,
        )

    def completion(self, time_s: float, real_request: RealRequest) -> None:
        """Handle the end of a request in the real shop."""
        id = real_request.request.id
        if id in self._shop:
            self._shop.real_one_done(real_request)
        self.run(time_s)
        if id in self._shop and real_request.outcome is Outcome.CANCELLED:  # stopped in both worlds
            self._end(time_s, id, Outcome.CANCELLED)
        self._real_one_over(real_request)

    def abandonment(self, time_s: float, id: int, mode: Abandonment) -> None:
        self.run(time_s)
        self.dispatcher.client_left(id, mode)
        self._undecided_left(id)

    def load_sample(self, time_s: float, sample: LoadSample) -> None:
        """Correct the real shop's load for the difference between the real shop and the model, and
        pass the load to the policy.
        """
        self.run(time_s)
        account = self._shop.account
        account.advance(time_s)
        real = self._real.shop
        busier_s = (account.busy_s - self._busy_s) - (real.busy_s - self._real_busy_s)
        self._busy_s, self._real_busy_s = account.busy_s, real.busy_s
        busier = account.in_service - real.in_service
        ratio = sample.cpu_utilisation_ratio
        if abs(busier_s) > EXACT_S:
            ratio = min(1.0, max(0.0, ratio + busier_s / sample.interval_s))
        busy_workers = max(0, sample.busy_workers + busier)
        self.dispatcher.load_sample(LoadSample(ratio, busy_workers, sample.interval_s))

    def tick(self, time_s: float, due_s: float) -> None:
        self.run(time_s)
        self.dispatcher.tick(due_s)

    def next_timer_s(self) -> float | None:
        return self.dispatcher.next_timer_s()

    def switched(self, time_s: float) -> None:
        """Begin a new tally, because another policy is in force from now on."""
        self.run(time_s)
        self.tally = Tally(time_s)

    def acted(self, real_request: RealRequest) -> None:
        """Handle the acting policy's decision about a request."""
        request, decision = real_request.request, real_request.decision
        assert decision is not None
        if decision.kind == "refused" and self.gone.get(request.session or "") == request.id:
            # Both policies refused the request, so the session's next requests count.
            del self.gone[request.session or ""]
        case = self._cases.get(request.id)
        if case is not None:
            self._compare(case)
        if decision.kind == "refused":
            self._real_one_over(real_request)

    def run(self, until_s: float) -> None:
        """Advance the shadow's world to `until_s`: requests end, and customers leave."""
        while self._leaving and self._leaving[0][0] <= until_s:
            time_s, id = heappop(self._leaving)
            time_s = max(self._now_s, time_s)
            self._work(time_s)
            if self._is_here(id):
                self._left.add(id)
                self.dispatcher.client_left(id, self._real.acting.abandonment)
                self._undecided_left(id)
        self._work(until_s)

    # ---- calls of the dispatcher ---------------------------------------------------------------

    def start(self, id: int) -> None:
        self._shop.start(self._now_s, self._say(id, "served"))

    def refuse(self, id: int, verdict: Drop | Reject) -> None:
        is_awaited = self._cases[id].said is None
        real_request = self._say(id, "refused", verdict.reason)
        session, acted = real_request.request.session, real_request.decision
        if is_awaited and session is not None and (acted is None or acted.kind != "refused"):
            self.gone[session] = id
            if len(self.gone) > SESSIONS_REMEMBERED:
                self.gone.popitem(last=False)

    def cancel(self, id: int) -> None:
        if not self._shop.real_request(id).is_in_service(self._now_s):
            self._end(self._now_s, id, Outcome.CANCELLED)
        # otherwise the request ends in the shadow's world when it ends in the real world

    def withdraw(self, id: int) -> None:
        self._say(id, "left")

    # ---- the machinery -------------------------------------------------------------------------

    def _work(self, until_s: float) -> None:
        while (done := self._shop.next_done(until_s)) is not None:
            time_s, id = done
            self._end(max(self._now_s, time_s), id)
        self._now_s = until_s

    def _real_one_over(self, real_request: RealRequest) -> None:
        """After a request has ended in the real world, set the time at which its customer leaves
        the shadow's world.
        """
        id = real_request.request.id
        if self._is_here(id) and not real_request.has_left:
            leaves_s = self._real.customers.leaves_s(real_request.request, self._now_s)
            heappush(self._leaving, (leaves_s, id))

    def _is_here(self, id: int) -> bool:
        return id in self._shop or ((case := self._cases.get(id)) is not None and case.waits)

    def _undecided_left(self, id: int) -> None:
        """Record the decision `left` for a request on which the shadow has not decided; the request
        may stay in the queue.
        """
        case = self._cases.get(id)
        if case is not None and case.said is None:
            case.said = self._decision("left")
            self._compare(case)

    def _end(self, time_s: float, id: int, outcome: Outcome | None = None) -> None:
        self._now_s = time_s
        real_request = self._shop.end(time_s, id)
        has_left = real_request.has_left or id in self._left
        self._left.discard(id)
        self.dispatcher.finished(id, outcome or _outcome(real_request, time_s, has_left=has_left))

    def _say(self, id: int, kind: str, reason: str = "") -> RealRequest:
        case = self._cases[id]
        case.waits = False
        if case.said is None:
            case.said = self._decision(kind, reason)
        if kind != "served":
            self._left.discard(id)
        self._compare(case)
        return case.real_request

    def _decision(self, kind: str, reason: str = "") -> Decision:
        return Decision(kind, self._now_s, self.dispatcher.waiting, reason)

    def _compare(self, case: _Case) -> None:
        acted, said, request = case.real_request.decision, case.said, case.real_request.request
        if acted is None or said is None:
            return
        if not case.is_compared:
            case.is_compared = True
            self.tally.add(request, acted, said)
        if not case.waits:
            del self._cases[request.id]


def _outcome(real_request: RealRequest, time_s: float, *, has_left: bool) -> Outcome:
    if real_request.outcome is not None and (
        real_request.ended_s == time_s or real_request.outcome is Outcome.FAILED
    ):
        return real_request.outcome
    return Outcome.ORPHANED if has_left else Outcome.ANSWERED
