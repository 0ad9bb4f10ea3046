"""The shadows of a gateway. Together, they are the dispatcher's observer.

The shadows receive every event after the acting policy has handled it. A shadow that raises an
error stops, and its entry shows the reason. A shadow that never returns blocks the gateway, as
an acting policy that never returns would.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.policies import Abandonment
from gateway.policies.interface import Drop, LoadSample, Outcome, Policy, Reject, Request
from gateway.queues.dispatcher import Dispatcher, earliest
from gateway.queues.policy_choice import PolicyChoice
from gateway.shadow.shadow import RealWorld, Shadow, ShadowError
from gateway.shadow.shop import Account, Customers, Decision, Needs, RealRequest
from gateway.students.limits import IN_THE_GATEWAY, Limits
from gateway.students.stand_in import FallBack

MOST: Final = 8
"""The maximum number of shadows; each costs about as much CPU time as the acting policy."""

log = logging.getLogger("gateway.shadows")

_WORK: Final = frozenset({Outcome.ANSWERED, Outcome.ORPHANED, Outcome.FAILED})


class ShadowsError(Exception):
    """The error for a shadow that cannot be added or removed: a message of one line, and the
    allowed values.
    """

    def __init__(self, message: str, allowed: str) -> None:
        super().__init__(message)
        self.allowed = allowed


def policy_of_shadow(choice: PolicyChoice, own_policy_s: float) -> Policy:
    """Return a new policy for a shadow; raise PolicyError if the choice is invalid. A student's
    policy may use `own_policy_s` real seconds for each decision, and its failure ends the shadow.
    All shadows together get no more CPU time than the acting policy.
    """

    def fell_back(why: FallBack) -> None:
        raise ShadowError(why.reason)

    share_ratio = IN_THE_GATEWAY.share_ratio / (MOST + 1)
    return choice.make(Limits(decision_s=own_policy_s, share_ratio=share_ratio), fell_back)


@dataclass(slots=True, eq=False)
class Entry:
    """A requested shadow: `name` is unique, and `shadow` is None once the shadow has failed."""

    name: str
    described: Mapping[str, object]
    shadow: Shadow | None
    fault: str = ""


class Shadows:
    """All shadows of one dispatcher, and the observer that passes events to them."""

    def __init__(self, acting: Dispatcher, clock_s: Callable[[], float]) -> None:
        self._acting = acting
        self._clock_s = clock_s
        self._real = Account(clock_s())
        self._needs = Needs()
        self._customers = Customers()
        self.real_requests: dict[int, RealRequest] = {}
        self._decided: list[RealRequest] = []
        self._over: list[int] = []
        self.entries: tuple[Entry, ...] = ()

    @property
    def is_running(self) -> bool:
        """Whether at least one shadow receives events."""
        return any(entry.shadow is not None for entry in self.entries)

    def replace(self, wanted: Sequence[tuple[str, Mapping[str, object], Policy]]) -> None:
        """Run exactly these shadows from now on, each given as (name, description, new policy).

        A listed shadow that already runs with the same description continues. Afterwards, the
        caller must set the gateway's timer again.
        """
        now_s = self._caught_up_s()
        going = {entry.name: entry for entry in self.entries if entry.shadow is not None}
        self._become(
            going[name]
            if name in going and going[name].described == described
            else Entry(name, described, self._fresh(now_s, policy))
            for name, described, policy in wanted
        )

    def add(self, name: str, described: Mapping[str, object], policy: Policy) -> None:
        """Add a shadow; it replaces a failed shadow of the same name. Raises ShadowsError if the
        shadow already runs or there are too many shadows, including failed ones.
        """
        if name in dict(self._going()):
            raise ShadowsError(f"{name} is a shadow already", "another policy")
        others = [entry for entry in self.entries if entry.name != name]
        if len(others) >= MOST:
            failed = ", ".join(entry.name for entry in others if entry.shadow is None)
            which = f"a failed shadow ({failed})" if failed else "a shadow"
            allowed = f"at most {MOST} shadows; remove {which} first"
            raise ShadowsError(f"there are already {MOST} shadows", allowed)
        now_s = self._caught_up_s()
        self._become([*others, Entry(name, described, self._fresh(now_s, policy))])

    def take_away(self, name: str) -> None:
        """Remove the shadow of this name; raises ShadowsError if there is none."""
        left = [entry for entry in self.entries if entry.name != name]
        if len(left) == len(self.entries):
            names = ", ".join(entry.name for entry in self.entries) or "none"
            raise ShadowsError(f"{name} is not a shadow", names)
        self._caught_up_s()
        self._become(left)

    def figures(self) -> list[dict[str, object]]:
        """Return each shadow's state, ready for JSON: `name`, `policy` (as requested), `fault`,
        `waiting` and `in_service` in the shadow's world, and the numbers of its tally.
        """
        self._catch_up(self._clock_s())
        return [
            {
                "name": entry.name,
                "policy": dict(entry.described),
                "fault": entry.fault,
                "waiting": entry.shadow.dispatcher.waiting if entry.shadow else None,
                "in_service": entry.shadow.dispatcher.in_service if entry.shadow else None,
                **(entry.shadow.tally.figures() if entry.shadow else {}),
            }
            for entry in self.entries
        ]

    def disagreements(self) -> dict[str, list[dict[str, object]]]:
        """Return each running shadow's latest disagreements, the newest first, by its name."""
        return {name: shadow.tally.disagreements() for name, shadow in self._going()}

    def counts(self) -> dict[str, dict[str, int]]:
        """Return each running shadow's number of requests by result of the comparison; the keys are
        the shadows' names.
        """
        return {name: shadow.tally.counts() for name, shadow in self._going()}

    # ---- calls of the dispatcher ---------------------------------------------------------------

    def arrival(self, time_s: float, request: Request) -> None:
        real_request = self._real_request(request)
        self._tell(lambda shadow: shadow.arrival(time_s, real_request))
        self._settle()

    def completion(self, time_s: float, id: int, outcome: Outcome) -> None:
        real_request = self.real_requests.pop(id, None)
        if real_request is None:
            return
        real = self._real
        real.advance(time_s)
        real.in_service -= 1
        real_request.outcome, real_request.ended_s = outcome, time_s
        if not real_request.has_left:
            self._customers.stayed(time_s - real_request.request.arrived_s)
        if outcome in _WORK:
            real_request.work_s = real.work_s - real_request.from_work_s
            if real_request.is_measured and outcome is not Outcome.FAILED:
                self._needs.add(real_request.request.page, real_request.work_s)
        self._tell(lambda shadow: shadow.completion(time_s, real_request))
        self._settle()

    def abandonment(self, time_s: float, id: int, mode: Abandonment) -> None:
        real_request = self.real_requests.get(id)
        if real_request is not None:
            self._left(time_s, real_request)
        self._tell(lambda shadow: shadow.abandonment(time_s, id, mode))
        self._settle()

    def load_sample(self, time_s: float, sample: LoadSample) -> None:
        self._real.advance(time_s)
        self._customers.fade(sample.interval_s)
        self._tell(lambda shadow: shadow.load_sample(time_s, sample))
        self._settle()

    def tick(self, time_s: float, due_s: float) -> None:
        self._tell(lambda shadow: shadow.tick(time_s, due_s))
        self._settle()

    def switched(self, time_s: float) -> None:
        self._settle()
        self._tell(lambda shadow: shadow.switched(time_s))

    def dispatched(self, time_s: float, request: Request) -> None:
        real_request = self._real_request(request)
        self._decide(time_s, real_request, "served")
        self._real.advance(time_s)
        self._real.in_service += 1
        real_request.started_s, real_request.from_work_s = time_s, self._real.work_s

    def refused(self, time_s: float, request: Request, verdict: Drop | Reject) -> None:
        real_request = self._real_request(request)
        self._over.append(request.id)
        if not real_request.has_left:
            self._customers.stayed(time_s - request.arrived_s)
        self._decide(time_s, real_request, "refused", verdict.reason)

    def withdrawn(self, time_s: float, request: Request) -> None:
        self._over.append(request.id)
        self._left(time_s, self._real_request(request))

    def next_timer_s(self) -> float | None:
        wanted_s: list[float | None] = []
        self._tell(lambda shadow: wanted_s.append(shadow.next_timer_s()))
        return earliest(wanted_s)

    # ---- the machinery -------------------------------------------------------------------------

    def _going(self) -> list[tuple[str, Shadow]]:
        return [(entry.name, entry.shadow) for entry in self.entries if entry.shadow is not None]

    def _caught_up_s(self) -> float:
        """Advance the shadows' worlds to the present time, and return this time."""
        now_s = self._clock_s()
        if not self.is_running:
            self._begin(now_s)
        self._catch_up(now_s)
        return now_s

    def _become(self, entries: Iterable[Entry]) -> None:
        before, self.entries = self.entries, tuple(entries)
        for entry in self.entries:
            if entry.shadow is not None and entry not in before:
                self._tell_one(entry, lambda new: new.begin(self.real_requests))
        for entry in before:
            if entry.shadow is not None and entry not in self.entries:
                entry.shadow.end()
        self._acting.observer = self if self.is_running else None

    def _begin(self, now_s: float) -> None:
        """Begin with the present requests; the progress of requests in service is unknown."""
        self._real = Account(now_s)
        waiting, in_service, gone = self._acting.requests_now()
        self._real.in_service = len(in_service)
        self.real_requests = {
            **{one.id: RealRequest(one) for one in waiting},
            **{
                one.id: RealRequest(one, Decision("served", now_s, 0), now_s, is_measured=False)
                for one in in_service
            },
        }
        for id in gone:
            self.real_requests[id].has_left = True
            self.real_requests[id].decision = Decision("left", now_s, len(waiting))

    def _fresh(self, now_s: float, policy: Policy) -> Shadow:
        real = RealWorld(self._acting, self._real, self._needs, self._customers)
        return Shadow(policy, now_s=now_s, real=real)

    def _real_request(self, request: Request) -> RealRequest:
        real_request = self.real_requests.get(request.id)
        if real_request is None:
            real_request = self.real_requests[request.id] = RealRequest(request)
        return real_request

    def _left(self, time_s: float, real_request: RealRequest) -> None:
        if not real_request.has_left:
            real_request.has_left = True
            self._customers.left(time_s - real_request.request.arrived_s)
            self._decide(time_s, real_request, "left")

    def _decide(
        self, time_s: float, real_request: RealRequest, kind: str, reason: str = ""
    ) -> None:
        """Record the acting policy's first decision about a request; the shadows receive it after
        the event.
        """
        if real_request.decision is None:
            real_request.decision = Decision(kind, time_s, self._acting.waiting, reason)
            self._decided.append(real_request)

    def _settle(self) -> None:
        for real_request in self._decided:
            self._tell(lambda shadow, real_request=real_request: shadow.acted(real_request))  # type: ignore[misc]
        for id in self._over:
            self.real_requests.pop(id, None)
        self._decided.clear()
        self._over.clear()

    def _catch_up(self, now_s: float) -> None:
        self._tell(lambda shadow: shadow.run(now_s))

    def _tell(self, tell: Callable[[Shadow], None]) -> None:
        for entry in self.entries:
            if entry.shadow is not None:
                self._tell_one(entry, tell)

    def _tell_one(self, entry: Entry, tell: Callable[[Shadow], None]) -> None:
        shadow = entry.shadow
        assert shadow is not None
        try:
            tell(shadow)
        except Exception as fault:
            is_known = isinstance(fault, ShadowError)
            log.warning(
                "the shadow %s has stopped because it failed", entry.name, exc_info=not is_known
            )
            entry.fault = str(fault) if is_known else f"{type(fault).__name__}: {fault}"
            entry.shadow = None
            shadow.end()
            if not self.is_running:
                self._acting.observer = None
