"""A driver that sends events to a policy, without a shop, and checks every verdict."""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gateway.policies.driver import REMEMBERED, Driver
from gateway.policies.interface import (
    PAGES,
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
)

WORKERS = 4

MOST_TIMERS = 10_000
"""The maximum number of timers for which `finish` waits."""

Step = tuple[str, Any]
"""An event: its kind and its value, as in `Drive.event`."""


class Drive:
    """A driver that sends events to a policy, 0.1 paper seconds apart.

    Every third request begins a session; all other requests belong to seven sessions in progress.
    Raises BrokenPolicyError if a verdict breaks the rules.
    """

    def __init__(self, policy: Policy) -> None:
        self.time_s, self.ids = 0.0, 0
        self.verdicts: list[Verdict] = []
        self._driver: Driver[Request] = Driver(policy, self, self, remembered=REMEMBERED)

    @property
    def policy(self) -> Policy:
        """The policy that decides now."""
        return self._driver.policy

    @property
    def waiting(self) -> dict[int, Request]:
        """The waiting requests by id, in the order of arrival."""
        return self._driver.waiting

    @property
    def in_service(self) -> list[int]:
        """The ids of the requests in service, in the order of their dispatch."""
        return list(self._driver.in_service)

    @property
    def free(self) -> int:
        return WORKERS - len(self._driver.in_service)

    def event(self, kind: str, value: Any) -> None:
        """Send one event to the policy, after all timers that are due; an impossible event is
        skipped.

        The meaning of `value` depends on the kind: `arrival` (page), `completion` (position in
        `in_service`), `abandonment` and `withdraw` (id), `load_sample` (CPU utilisation), `switch`
        (the new policy), `timer` (none).
        """
        self.time_s += 0.1
        now, driver = self.time_s, self._driver
        self._obey_timers()
        match kind:
            case "arrival":
                self._arrival(now, value)
            case "completion" if value < len(self.in_service):
                driver.completion(now, self.in_service[value], Outcome.ANSWERED)
            case "abandonment":
                driver.abandonment(now, value, "ignore")
            case "withdraw" if value in self.waiting:
                driver.abandonment(now, value, "drop-queued")
            case "load_sample":
                driver.load_sample(now, LoadSample(value, len(self.in_service), 1.0))
            case "switch":
                driver.switch(now, value, list(self.waiting.values()))
                self._obey_timers()

    def _arrival(self, now: float, page: Any) -> None:
        self.ids += 1
        opens = self.ids % 3 == 0
        session = None if opens else f"session {self.ids % 7}"
        request = Request(self.ids, page, now, session, opens)
        self._driver.arrival(now, request, request)

    def _obey_timers(self) -> None:
        while (due_s := self.policy.next_timer_s()) is not None and due_s <= self.time_s:
            self._driver.timer_due(self.time_s)

    # ---- as the driver's host ------------------------------------------------------------------

    def start(self, now_s: float, id: int, item: Request) -> None:
        self.verdicts.append(Dispatch(id))

    def refuse(self, now_s: float, id: int, item: Request, verdict: Drop | Reject) -> None:
        self.verdicts.append(verdict)

    def rejected(self, now_s: float, number: int) -> None:
        """Do nothing, because a rejection needs no worker."""

    def cancel(self, now_s: float, id: int) -> None:
        self.verdicts.append(Cancel(id))

    def withdraw(self, now_s: float, id: int, item: Request) -> None:
        """Do nothing, because the customer of a withdrawn request no longer waits."""

    # ---- rules between events ------------------------------------------------------------------

    def check(self, waiting: Sequence[int] | None = None) -> None:
        """Check the rules that must hold between any two events; `waiting` has the ids that the
        policy reports.
        """
        known = [one.id for one in self.policy.waiting()] if waiting is None else list(waiting)
        if known != list(self.waiting):
            raise BrokenPolicyError(_difference(known, list(self.waiting), self.time_s))
        timer_s = self.policy.next_timer_s()
        if timer_s is not None and timer_s < self.time_s:
            raise BrokenPolicyError(
                f"next_timer_s returns {timer_s:g} s at {self.time_s:g} s, but that time has "
                "passed; return a later time or None"
            )

    def finish(self) -> None:
        """Complete all requests in service. While requests wait, also let up to MOST_TIMERS timers
        become due.
        """
        timers = 0
        while self.in_service or (self.waiting and timers < MOST_TIMERS):
            due_s = self.policy.next_timer_s()
            if self.in_service:
                self.event("completion", 0)
            elif due_s is not None:
                timers += 1
                self.time_s = max(self.time_s, due_s)
                self.event("timer", None)
            else:
                break


def rush(seed: int = 7, steps: int = 2000) -> Iterator[Step]:
    """Yield random events, half of them arrivals, so that queues are full most of the time."""
    rng = random.Random(seed)
    for _ in range(steps):
        kind = rng.choice(["arrival", "arrival", "completion", "load_sample"])
        value = {"arrival": rng.choice(PAGES), "completion": 0, "load_sample": rng.random()}[kind]
        yield kind, value


def mixed(seed: int, steps: int, fresh: Callable[[], Policy] | None = None) -> Iterator[Step]:
    """Yield random events of all kinds, also for requests that have ended or do not exist.

    If `fresh` is given, every 40th event changes the policy to the object that `fresh` returns.
    """
    rng = random.Random(seed)
    kinds = ["arrival"] * 6 + ["completion"] * 4 + ["abandonment", "withdraw", "load_sample"]
    for place in range(steps):
        if fresh is not None and place % 40 == 39:
            yield "switch", fresh()
            continue
        kind = rng.choice(kinds)
        yield (
            kind,
            {
                "arrival": rng.choice(PAGES),
                "completion": rng.randrange(WORKERS),
                "abandonment": rng.randrange(1, place + 2),
                "withdraw": rng.randrange(1, place + 2),
                "load_sample": rng.random(),
            }[kind],
        )


def _difference(known: list[int], waiting: list[int], time_s: float) -> str:
    at = f"at {time_s:.1f} s"
    if too_many := [id for id in known if id not in set(waiting)]:
        return (
            f"waiting() still has request {too_many[0]} {at}, but the request no longer waits. "
            "Take a request out of your queue when you give a verdict on it, and in withdraw"
        )
    if missing := [id for id in waiting if id not in set(known)]:
        return (
            f"waiting() lacks request {missing[0]}, which has no verdict yet {at}. Keep a request "
            "in your queue until you give a verdict on it, also in adopt"
        )
    return (
        f"waiting() does not return the requests in the order of arrival {at}; "
        "oldest_first([line, …]) sorts them"
    )
