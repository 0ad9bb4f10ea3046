"""A policy that passes on the decisions of a student's policy, and decides like FIFO once that
policy has failed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gateway.policies import registry
from gateway.policies.driver import REMEMBERED, Ledger
from gateway.policies.interface import (
    BrokenPolicyError,
    LoadSample,
    Outcome,
    Policy,
    Request,
    Verdicts,
)
from gateway.students.calls import Calls, MisbehavedError
from gateway.students.limits import Limits


@dataclass(frozen=True, slots=True)
class FallBack:
    """The time, in paper seconds, at which FIFO replaced a student's policy, and the reason."""

    at_s: float
    reason: str


class StandIn:
    """The policy object that a driver uses in place of a student's policy.

    The child's verdicts are checked before they take effect. If the child fails, answers too late,
    breaks a rule or serves no request for too long, SQ takes over all waiting requests and the
    present event.
    """

    def __init__(
        self,
        name: str,
        child: Calls,
        limits: Limits,
        *,
        on_fall_back: Callable[[FallBack], None] = lambda _: None,
    ) -> None:
        """Start with a `child` that has already created its policy."""
        self.name = name
        self.fallen_back: FallBack | None = None
        self.child = child
        self.limits = limits
        self._on_fall_back = on_fall_back
        self._ledger: Ledger[Request] = Ledger(remembered=REMEMBERED)
        self._fifo: Policy | None = None
        self._unanswered_s: float | None = None
        """The time, in paper seconds, since which requests have waited although workers were free
        and no request was in service.
        """
        self._timers_from_s = 0.0
        self._timers = 0
        self._last_s = 0.0
        """The time of the latest event."""

    # ---- a policy's methods --------------------------------------------------------------------

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        if self._fifo is not None:
            return self._fifo.arrival(time_s, request)
        self._ledger.waiting[request.id] = request
        if len(self._ledger.waiting) > self.limits.waiting:
            self._fall_back(
                time_s,
                f"more than {self.limits.waiting:,} requests wait; Drop or Reject some of them",
            )
            return ()
        return self._ask(time_s, "arrival", (request,)) or ()

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        verdicts = self._ask(time_s, "workers_free", (free,), offered=free)
        if verdicts is None:
            assert self._fifo is not None
            return self._fifo.workers_free(time_s, free)
        if self._unanswered_s is None and self._ledger.waiting and not self._ledger.in_service:
            self._unanswered_s = time_s
        return verdicts

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        if id in self._ledger.in_service:  # false if another policy dispatched it
            self._ledger.completed(time_s, id)
        return self._ask(time_s, "completion", (id, outcome)) or ()

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        self._ledger.customer_left(id)
        return self._ask(time_s, "abandonment", (id,)) or ()

    def withdraw(self, time_s: float, id: int) -> None:
        if self._fifo is not None:
            self._fifo.withdraw(time_s, id)
            return
        self._ledger.take(time_s, id, "withdrawn")
        self._ask(time_s, "withdraw", (id,))

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        return self._ask(time_s, "load_sample", (sample,)) or ()

    def timer_due(self, time_s: float) -> Verdicts:
        if self._fifo is not None or self._is_silent(time_s):
            return ()
        timer_s = self.child.timer_s
        if timer_s is None or timer_s > time_s:
            return ()  # silence_s had passed, but a request has been served since
        if time_s >= self._timers_from_s + 1.0:
            self._timers_from_s, self._timers = time_s, 0
        self._timers += 1
        if self._timers > self.limits.timers:
            self._fall_back(
                time_s,
                f"timer_due was requested more than {self.limits.timers} times in a paper second; "
                f"after timer_due, next_timer_s must return a later time or None",
            )
            return ()
        return self._ask(time_s, "timer_due", ()) or ()

    def next_timer_s(self) -> float | None:
        timer_s = None if self._fifo is not None else self.child.timer_s
        if self._unanswered_s is None:
            return timer_s
        silent_s = self._unanswered_s + self.limits.silence_s
        return silent_s if timer_s is None else min(timer_s, silent_s)

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        if self._fifo is not None:
            self._fifo.adopt(time_s, requests)
            return
        self._ledger.waiting.update((request.id, request) for request in requests)
        self._ask(time_s, "adopt", (list(requests),))

    def waiting(self) -> Sequence[Request]:
        if self._fifo is not None:
            return self._fifo.waiting()
        return list(self._ledger.waiting.values())

    def snapshot(self) -> Mapping[str, object]:
        if self._fifo is None:
            try:
                return self.child.snapshot()
            except MisbehavedError as fault:
                self._fall_back(self._last_s, str(fault))
        assert self._fifo is not None
        assert self.fallen_back is not None
        return {**self._fifo.snapshot(), "fallen_back": asdict(self.fallen_back)}

    # ---- the child -----------------------------------------------------------------------------

    def _ask(
        self, time_s: float, event: str, told: tuple[Any, ...], *, offered: int = 0
    ) -> Verdicts | None:
        """Record and return the child's verdicts; None if FIFO must decide."""
        if self._fifo is not None or self._is_silent(time_s):
            return None
        self._last_s = time_s
        try:
            about = len(self._ledger.waiting) + len(self._ledger.in_service)
            verdicts = self.child.tell(event, time_s, told, about)
            self._ledger.obey(time_s, event, verdicts, offered)
            if self._ledger.in_service or not self._ledger.waiting:
                self._unanswered_s = None
        except (MisbehavedError, BrokenPolicyError) as fault:
            self._fall_back(time_s, str(fault))
            return None
        return verdicts

    def _is_silent(self, time_s: float) -> bool:
        since_s = self._unanswered_s
        if since_s is None or time_s < since_s + self.limits.silence_s:
            return False
        waiting = len(self._ledger.waiting)
        self._fall_back(
            time_s,
            f"it served no request for {time_s - since_s:g} paper seconds, although workers were "
            f"free and {waiting} requests waited; answer workers_free with Dispatch",
        )
        return True

    def _fall_back(self, time_s: float, reason: str) -> None:
        self.child.end()
        self._fifo = registry.create("sq", {})
        self._fifo.adopt(time_s, list(self._ledger.waiting.values()))
        self._ledger = Ledger(remembered=REMEMBERED)
        self._unanswered_s = None
        self.fallen_back = FallBack(time_s, reason)
        self._on_fall_back(self.fallen_back)
