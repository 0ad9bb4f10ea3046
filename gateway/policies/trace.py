"""The record of a policy's events and verdicts (its decision trace), and the replay of events."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gateway.policies.interface import LoadSample, Outcome, Policy, Request, Verdicts

Said = tuple[object, ...]
"""A verdict as plain values: its kind, then its fields, e.g. ("drop", 3, "queue full (100)")."""


class Event(NamedTuple):
    """One call of a policy: the method's name, the arguments, and the policy's verdicts."""

    name: str
    time_s: float
    told: tuple[Any, ...]
    verdicts: tuple[Said, ...] = ()


def said(verdicts: Verdicts) -> tuple[Said, ...]:
    """Return verdicts as plain values. A value begins with the verdict's kind, because verdicts of
    two kinds can be equal tuples.
    """
    return tuple((type(verdict).__name__.lower(), *verdict) for verdict in verdicts)


class Recorded:
    """A policy that behaves like the policy it wraps and records every event with its verdicts."""

    def __init__(self, policy: Policy) -> None:
        self.name = policy.name
        self.policy = policy
        self.events: list[Event] = []

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        return self._keep("arrival", time_s, (request,), self.policy.arrival(time_s, request))

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        return self._keep("workers_free", time_s, (free,), self.policy.workers_free(time_s, free))

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        verdicts = self.policy.completion(time_s, id, outcome)
        return self._keep("completion", time_s, (id, outcome), verdicts)

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        return self._keep("abandonment", time_s, (id,), self.policy.abandonment(time_s, id))

    def withdraw(self, time_s: float, id: int) -> None:
        self.policy.withdraw(time_s, id)
        self._keep("withdraw", time_s, (id,), ())

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        return self._keep("load_sample", time_s, (sample,), self.policy.load_sample(time_s, sample))

    def timer_due(self, time_s: float) -> Verdicts:
        return self._keep("timer_due", time_s, (), self.policy.timer_due(time_s))

    def next_timer_s(self) -> float | None:
        return self.policy.next_timer_s()

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        self.policy.adopt(time_s, requests)
        self._keep("adopt", time_s, (tuple(requests),), ())

    def waiting(self) -> Sequence[Request]:
        return self.policy.waiting()

    def snapshot(self) -> Mapping[str, object]:
        return self.policy.snapshot()

    def _keep(
        self, name: str, time_s: float, told: tuple[Any, ...], verdicts: Verdicts
    ) -> Verdicts:
        self.events.append(Event(name, time_s, told, said(verdicts)))
        return verdicts


def replay(events: Iterable[Event], policy: Policy) -> list[tuple[Said, ...]]:
    """Pass the events to `policy`, and return its verdicts for each event."""
    return [said(getattr(policy, event.name)(event.time_s, *event.told) or ()) for event in events]
