"""The driver of a policy, which passes events to the policy and carries out its verdicts.

The gateway, the simulator, shadows and the checks of policies all drive a policy through `Driver`.
They supply the time, the workers, and a host that carries out the verdicts. The rules are:

- A request without a verdict waits.
- After every event, the driver offers the free workers to the policy once, if a request waits.
- Only the answer to this offer may dispatch requests: at most one for each worker offered.
- Only a request that waits may be dispatched, dropped or rejected.
- A request in service may be cancelled at any time, a waiting request only after its customer has
  left.
- A `Drop` or `Reject` must give a reason.
- An answer may contain only one verdict per request. An answer that breaks a rule has no effect.
- When the policy is switched, the new policy adopts every waiting request, even above its capacity.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, Generic, Protocol, TypeVar

from gateway.policies import Abandonment
from gateway.policies.interface import (
    BrokenPolicyError,
    Cancel,
    Dispatch,
    Drop,
    LoadSample,
    Outcome,
    Policy,
    Reject,
    Request,
    Verdict,
    Verdicts,
)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)
"""The type of the data that the host keeps about each request."""

REMEMBERED: Final = 10_000
"""The number of ended requests whose outcomes a ledger stores for its error messages."""


class Workers(Protocol):
    """The workers that serve requests."""

    @property
    def free(self) -> int:
        """The number of workers that could start a request now."""


class Host(Protocol[T_contra]):
    """The system around the driver, which carries out verdicts. `item` is the host's data about the
    request. For each request, the driver calls at most one of `start`, `refuse` and `withdraw`, and
    calls it once.
    """

    def start(self, now_s: float, id: int, item: T_contra) -> None:
        """Give the request to a free worker."""

    def refuse(self, now_s: float, id: int, item: T_contra, verdict: Drop | Reject) -> None:
        """Turn the request away; the driver has already removed it."""

    def rejected(self, now_s: float, number: int) -> None:
        """Charge the server for `number` rejections that have just been carried out."""

    def cancel(self, now_s: float, id: int) -> None:
        """Stop the request in service; its completion follows."""

    def withdraw(self, now_s: float, id: int, item: T_contra) -> None:
        """End a waiting request whose customer has left; the driver has already removed it."""


class Ledger(Generic[T]):
    """The record of waiting requests and requests in service. The ledger checks whether verdicts
    are allowed.
    """

    def __init__(self, *, remembered: int = 0) -> None:
        """Create an empty ledger. Its error messages report the fate of a request only for the last
        `remembered` ended requests.
        """
        self.waiting: dict[int, T] = {}
        """The host's data about each waiting request, by request id, in order of arrival."""
        self.in_service: dict[int, T] = {}
        """The host's data about each request in service, by request id, in order of dispatch."""
        self.gone: set[int] = set()
        """The ids of waiting requests whose customers have left."""
        self._remembered = remembered
        self._fates: OrderedDict[int, str] = OrderedDict()

    def completed(self, now_s: float, id: int) -> T:
        """Record the end of a request in service, and return the host's data about it."""
        if self._remembered:
            self._remember(id, f"ended at {now_s:g} s")
        return self.in_service.pop(id)

    def customer_left(self, id: int) -> None:
        """Record that the customer of a waiting request has left; do nothing if the request does
        not wait.
        """
        if id in self.waiting:
            self.gone.add(id)

    def obey(self, now_s: float, event: str, verdicts: Verdicts, offered: int = 0) -> None:
        """Check the policy's answer to an event and record its verdicts. If the answer breaks a
        rule, record nothing and raise BrokenPolicyError.
        """
        self.check(event, verdicts, offered)
        for verdict in verdicts:
            id = verdict.id
            if type(verdict) is Dispatch:
                self.in_service[id] = self.take(now_s, id)
            elif id not in self.in_service:
                self.take(now_s, id, _FATES[type(verdict)])

    def check(self, event: str, verdicts: Verdicts, offered: int) -> None:
        """Raise BrokenPolicyError if the policy's answer to `event` breaks a rule; `offered` is the
        number of workers offered with the event.
        """
        waiting = self.waiting
        judged: set[int] = set()
        dispatched = 0
        for verdict in verdicts:
            id = verdict.id
            if id in judged:
                raise self._broken(f"{_short(verdict)}: {event} gave two verdicts on {id}")
            judged.add(id)
            if type(verdict) is Cancel:
                if id in self.in_service or id in self.gone:
                    continue
                if id in waiting:
                    raise self._broken(
                        f"{_short(verdict)} in {event}, although request {id} waits and its "
                        f"customer is still there; cancel a waiting request only after its "
                        f"customer has left, otherwise use Drop or Reject"
                    )
            if id not in waiting:
                raise self._broken(self._forbidden(verdict, event))
            if type(verdict) is Dispatch:
                dispatched += 1
            elif isinstance(verdict, Drop | Reject) and not verdict.reason:
                raise self._broken(f"{_short(verdict)} in {event} gives no reason")
        if dispatched > offered:
            if event != "workers_free":
                raise self._broken(
                    f"{event} answered with Dispatch, but only workers_free may dispatch; keep "
                    "the request until the driver calls workers_free"
                )
            raise self._broken(
                f"workers_free got free={offered} and returned {dispatched} Dispatch verdicts; "
                f"dispatch at most `free` requests"
            )

    def take(self, now_s: float, id: int, fate: str = "") -> T:
        """Remove a waiting request and return the host's data about it."""
        if self.gone:
            self.gone.discard(id)
        if fate and self._remembered:
            self._remember(id, f"was {fate} at {now_s:g} s")
        return self.waiting.pop(id)

    def _remember(self, id: int, fate: str) -> None:
        self._fates[id] = fate
        if len(self._fates) > self._remembered:
            self._fates.popitem(last=False)

    def _forbidden(self, verdict: Verdict, event: str) -> str:
        id = verdict.id
        given = f"{_short(verdict)} in {event}, although"
        if id in self.in_service:
            return (
                f"{given} request {id} is in service already; take a request out of your queue "
                "when you dispatch it"
            )
        if id in self._fates:
            return (
                f"{given} request {id} {self._fates[id]}; take a request out of your queue when "
                "you give a verdict on it, and in withdraw"
            )
        return (
            f"{given} no request {id} waits; a verdict must name a request that waits or, with "
            "Cancel, a request in service"
        )

    def _broken(self, words: str) -> BrokenPolicyError:
        return BrokenPolicyError(words)


class Driver(Ledger[T]):
    """The driver of one policy. A method of the host must not call the driver. Every method that
    passes an event to the policy raises BrokenPolicyError if the answer breaks a rule.
    """

    def __init__(
        self, policy: Policy, workers: Workers, host: Host[T], *, remembered: int = 0
    ) -> None:
        super().__init__(remembered=remembered)
        self.policy = policy
        self._workers = workers
        self._host = host

    def arrival(self, now_s: float, request: Request, item: T) -> None:
        """Handle a new request; `item` is the host's data about it."""
        self.waiting[request.id] = item
        verdicts = self.policy.arrival(now_s, request)
        if verdicts:
            self._carry_out(now_s, "arrival", verdicts)
        if self.waiting:
            self.offer(now_s)

    def completion(self, now_s: float, id: int, outcome: Outcome) -> T:
        """Handle the end of a request in service, and return the host's data about it."""
        if self._remembered:
            self._remember(id, f"ended at {now_s:g} s")
        item = self.in_service.pop(id)
        verdicts = self.policy.completion(now_s, id, outcome)
        if verdicts:
            self._carry_out(now_s, "completion", verdicts)
        if self.waiting:
            self.offer(now_s)
        return item

    def abandonment(self, now_s: float, id: int, mode: Abandonment) -> None:
        """Handle the departure of a request's customer; do nothing if the request has ended. The
        policy gets the event first. Then `mode` decides whether a waiting request is withdrawn or
        a request in service is cancelled.
        """
        if id not in self.waiting and id not in self.in_service:
            return
        if id not in self.gone:
            self.customer_left(id)
            self._carry_out(now_s, "abandonment", self.policy.abandonment(now_s, id))
        if mode == "cancel" and id in self.in_service:
            self._host.cancel(now_s, id)
        elif mode != "ignore" and id in self.waiting:
            self.policy.withdraw(now_s, id)
            self._host.withdraw(now_s, id, self.take(now_s, id, "withdrawn"))
        self.offer(now_s)

    def load_sample(self, now_s: float, sample: LoadSample) -> None:
        """Handle a sample of the server's load."""
        self._carry_out(now_s, "load_sample", self.policy.load_sample(now_s, sample))
        self.offer(now_s)

    def timer_due(self, now_s: float) -> None:
        """Handle the timer at the time that `policy.next_timer_s` returned."""
        self._carry_out(now_s, "timer_due", self.policy.timer_due(now_s))
        self.offer(now_s)

    def switch(self, now_s: float, policy: Policy, requests: Sequence[Request]) -> None:
        """Replace the policy. The new policy adopts `requests`, all waiting requests in order of
        arrival. Then the new policy gets an abandonment event, with the present time, for each
        waiting request whose customer has left.
        """
        policy.adopt(now_s, requests)
        self.policy = policy
        for id in [id for id in self.waiting if id in self.gone]:
            self._carry_out(now_s, "abandonment", policy.abandonment(now_s, id))
        self.offer(now_s)

    def offer(self, now_s: float) -> None:
        """Offer the free workers to the policy if a request waits."""
        free = self._workers.free
        if free > 0 and self.waiting:
            verdicts = self.policy.workers_free(now_s, free)
            if len(verdicts) == 1:
                # Nearly every answer is one permitted dispatch, and simulations spend most of their
                # time here.
                verdict = verdicts[0]
                id = verdict.id
                if type(verdict) is Dispatch and id in self.waiting:
                    if self.gone:
                        self.gone.discard(id)
                    item = self.in_service[id] = self.waiting.pop(id)
                    self._host.start(now_s, id, item)
                    return
            if verdicts:
                self._carry_out(now_s, "workers_free", verdicts, free)

    def _carry_out(self, now_s: float, event: str, verdicts: Verdicts, offered: int = 0) -> None:
        if not verdicts:
            return
        host = self._host
        self.check(event, verdicts, offered)
        rejections = 0
        for verdict in verdicts:
            id = verdict.id
            if type(verdict) is Dispatch:
                item = self.in_service[id] = self.take(now_s, id)
                host.start(now_s, id, item)
            elif isinstance(verdict, Drop | Reject):
                kind = type(verdict)
                rejections += kind is Reject
                host.refuse(now_s, id, self.take(now_s, id, _FATES[kind]), verdict)
            elif id in self.in_service:
                host.cancel(now_s, id)
            else:
                host.withdraw(now_s, id, self.take(now_s, id, "cancelled"))
        if rejections:
            host.rejected(now_s, rejections)

    def _broken(self, words: str) -> BrokenPolicyError:
        return BrokenPolicyError(f"{self.policy.name}: {words}")


_FATES: Final[dict[type[Verdict], str]] = {
    Drop: "dropped",
    Reject: "rejected",
    Cancel: "cancelled",
}


def _short(verdict: Verdict) -> str:
    return f"{type(verdict).__name__}({verdict.id})"
