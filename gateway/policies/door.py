"""This project's policy DOOR in its two forms, DOOR-LIFO and DOOR-FIFO.

DOOR limits the number of requests in service. Sessions in progress are served first; new sessions
wait in an admission queue.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.hands import HANDS, HANDS_AUTOMATIC, AutomaticHands, Hands
from gateway.policies.interface import (
    NOTHING,
    PAGES,
    Cancel,
    Dispatch,
    Drop,
    LoadSample,
    Outcome,
    Reject,
    Request,
    Verdict,
    Verdicts,
)
from gateway.policies.patience_estimate import PatienceEstimate
from gateway.policies.sheet import Parameter, Sheet


class Entrance:
    """The admission queue for new sessions, which decides which request is turned away and which is
    served next.
    """

    discipline: Discipline

    def __init__(self, places: int) -> None:
        self.line = Line(places)

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        """Handle a request of a new session; return the verdict if this or another request is
        turned away.
        """
        raise NotImplementedError

    def turn_away(self, time_s: float) -> Verdicts:
        """Remove the requests that have waited too long; return verdicts that turn them away."""
        return NOTHING

    def next_timer_s(self) -> float | None:
        """Return the time at which the next request will have waited too long; None means never."""
        return None

    def sample(self, patience: PatienceEstimate) -> None:
        """Handle the end of a utilisation interval."""

    def figures(self) -> Mapping[str, object]:
        """Return the queue's part of the snapshot."""
        return {}


class NewestFirst(Entrance):
    """A LIFO admission queue; when it is full, an arrival replaces the oldest request."""

    discipline = Discipline.LIFO

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        turned_away = NOTHING
        if self.line.is_full:
            oldest = self.line.take(Discipline.FIFO)
            reason = (
                f"admission queue full ({self.line.capacity}), and the other requests are newer"
            )
            turned_away = (Drop(oldest.id, reason),)
        self.line.append(request)
        return turned_away


class InTurn(Entrance):
    """A FIFO admission queue that rejects a request with a page once the request has waited for
    `wait_s`. With `follows`, once the customers' patience is known, `wait_s` is FOLLOWS_SHARE ×
    the age at which the share FOLLOWS_QUANTILE of the customers has left, but at least LEAST_S.
    Most customers then get the rejection before they would leave.
    """

    discipline = Discipline.FIFO
    FOLLOWS_SHARE = 0.75
    FOLLOWS_QUANTILE = 0.05
    LEAST_S = 0.5

    def __init__(self, places: int, wait_s: float, *, follows: bool, retry_after_s: float) -> None:
        super().__init__(places)
        self.wait_s = wait_s
        self._follows = follows
        self._retry_after_s = retry_after_s

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        if self.line.is_full:
            return (Drop(request.id, f"admission queue full ({self.line.capacity})"),)
        self.line.append(request)
        return NOTHING

    def turn_away(self, time_s: float) -> Verdicts:
        late: list[Verdict] = []
        for request in self.line:
            if time_s < request.arrived_s + self.wait_s:
                break
            reason = f"waited {self.wait_s:g} s in the admission queue"
            late.append(Reject(request.id, reason, self._retry_after_s))
        for verdict in late:
            self.line.remove(verdict.id)
        return late

    def next_timer_s(self) -> float | None:
        oldest = next(iter(self.line), None)
        return None if oldest is None else oldest.arrived_s + self.wait_s

    def sample(self, patience: PatienceEstimate) -> None:
        if self._follows:
            left_s = patience.quantile_s(self.FOLLOWS_QUANTILE)
            if left_s is not None:
                self.wait_s = max(self.LEAST_S, self.FOLLOWS_SHARE * left_s)

    def figures(self) -> Mapping[str, object]:
        return {"wait_s": self.wait_s}


class Door(IgnoringPolicy):
    """A policy that serves sessions in progress before new sessions. Among sessions in progress,
    the latest page comes first.

    A session is in progress once one of its requests has been served (`session_is_new` is false).
    With `removes_gone`, a new session's request leaves the queue when its customer leaves.
    """

    def __init__(
        self, name: str, *, entrance: Entrance, hands: int, hands_automatic: int, removes_gone: int
    ) -> None:
        self.name = name
        self._entrance = entrance
        self._hands = AutomaticHands(hands) if hands_automatic else Hands(hands)
        self._removes_gone = removes_gone
        self._house = {page: Line() for page in PAGES}
        self._latest_first = [self._house[page] for page in reversed(PAGES)]
        self._in_house = 0
        self._patience = PatienceEstimate()
        self._arrived_s: dict[int, float] = {}  # of all present requests

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        self._arrived_s[request.id] = request.arrived_s
        if request.session_is_new:
            return self._told(time_s, self._entrance.arrival(time_s, request))
        self._house[request.page].append(request)
        self._in_house += 1
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        waiting = self._in_house + len(self._entrance.line)
        return [self._dispatch() for _ in range(min(free, self._hands.free, waiting))]

    def _dispatch(self) -> Dispatch:
        if self._in_house:
            self._in_house -= 1
            line = next(line for line in self._latest_first if len(line))
            id = line.take(Discipline.FIFO).id
        else:
            id = self._entrance.line.take(self._entrance.discipline).id
        self._hands.take(id)
        return Dispatch(id)

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self._hands.release(id)
        self._stayed(time_s, id)
        return NOTHING

    def abandonment(self, time_s: float, id: int) -> Verdicts:
        arrived_s = self._arrived_s.pop(id, None)
        if arrived_s is not None:
            self._patience.left(time_s - arrived_s)
        if self._removes_gone and id in self._entrance.line:
            self._entrance.line.remove(id)
            return (Cancel(id),)
        return NOTHING

    def withdraw(self, time_s: float, id: int) -> None:
        if id in self._entrance.line:
            self._entrance.line.remove(id)
        else:
            next(line for line in self._latest_first if id in line).remove(id)
            self._in_house -= 1

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        self._hands.sample(sample, somebody_waits=len(self._entrance.line) > 0)
        self._patience.fade(sample.interval_s)
        self._entrance.sample(self._patience)
        return NOTHING

    def timer_due(self, time_s: float) -> Verdicts:
        return self._told(time_s, self._entrance.turn_away(time_s))

    def next_timer_s(self) -> float | None:
        return self._entrance.next_timer_s()

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        for request in requests:
            self._arrived_s[request.id] = request.arrived_s
            is_new = request.session_is_new
            (self._entrance.line if is_new else self._house[request.page]).append(request)
            self._in_house += not is_new

    def waiting(self) -> Sequence[Request]:
        return oldest_first([self._entrance.line, *self._house.values()])

    def snapshot(self) -> Mapping[str, object]:
        return {
            "discipline": self._entrance.discipline,
            "discipline_switches": 0,
            "queues": {
                "door": len(self._entrance.line),
                **{page.value: len(line) for page, line in self._house.items()},
            },
            "capacities": {"door": self._entrance.line.capacity},
            "hands": self._hands.limit,
            "hands_busy": self._hands.busy,
            **self._entrance.figures(),
        }

    def _told(self, time_s: float, verdicts: Verdicts) -> Verdicts:
        for verdict in verdicts:
            self._stayed(time_s, verdict.id)
        return verdicts

    def _stayed(self, time_s: float, id: int) -> None:
        arrived_s = self._arrived_s.pop(id, None)
        if arrived_s is not None:
            self._patience.stayed(time_s - arrived_s)


_REMOVES_GONE = Parameter(
    "removes_gone",
    1,
    "switch",
    "1: the request of a new session is taken out of the queue when its customer leaves; 0: the "
    "abandonment mode decides this",
    "DOOR, rule 3",
    0,
    1,
)
_IDEA = "Sessions in progress are served first. New sessions get the remaining capacity, "
_RULE = (
    "dispatch only while the number of requests in service is below the concurrency limit hands. "
    "With hands_automatic, this limit grows by one after a utilisation interval in which the CPU "
    "was partly idle, the limit was reached and newcomers waited. The limit shrinks by one, but "
    "not below 4, when the CPU has been full for 10 paper seconds. Requests of sessions in "
    "progress come first, the later page before the earlier, and are never turned away. Newcomers "
    "(requests of new sessions) come next, "
)

DOOR_LIFO = Sheet(
    name="door-lifo",
    title="DOOR-LIFO",
    idea=_IDEA + "the newest first, because its customer is probably still waiting.",
    rule=_RULE
    + "the newest first. With removes_gone, a newcomer leaves the queue when its customer leaves. "
    "If the number of waiting newcomers has reached places, a further newcomer replaces the "
    "oldest one",
    source="this project (docs/door.md)",
    deviations="DOOR's rules do not define which newcomer a full admission queue turns away; "
    "this policy turns the oldest away.",
    parameters=(
        HANDS,
        HANDS_AUTOMATIC,
        Parameter(
            "places",
            50,
            "requests",
            "maximum number of waiting newcomers",
            "DOOR, rule 3",
            1,
            1_000_000,
        ),
        _REMOVES_GONE,
    ),
    needs_sessions=True,
)
DOOR_FIFO = Sheet(
    name="door-fifo",
    title="DOOR-FIFO",
    idea=_IDEA + "in order of arrival; a customer who cannot be served learns this soon.",
    rule=_RULE
    + "in order of arrival. With removes_gone, a newcomer leaves the queue when its customer "
    "leaves. A newcomer that has waited for wait_s is turned away with a page that names "
    "retry_after_s. With wait_automatic, wait_s becomes three quarters of the wait after which 5 % "
    "of customers have left, but at least 0.5 s. If the number of waiting newcomers has reached "
    "places, a further newcomer is dropped",
    source="this project (docs/door.md)",
    deviations="The admission queue has a limit (places), which protects memory.",
    parameters=(
        HANDS,
        HANDS_AUTOMATIC,
        Parameter(
            "wait_s",
            6.0,
            "s",
            "D, the wait after which a newcomer is turned away; with wait_automatic, this is the "
            "initial value of D",
            "DOOR, rule 3",
            0.1,
            3_600.0,
        ),
        Parameter(
            "wait_automatic",
            0,
            "switch",
            "1: D adapts to the customers' patience; 0: D is fixed",
            "DOOR, rule 3",
            0,
            1,
        ),
        Parameter(
            "retry_after_s",
            60.0,
            "s",
            "time after which a rejected customer should come back",
            "this project",
            0.0,
            86_400.0,
        ),
        Parameter(
            "places",
            1_000,
            "requests",
            "maximum number of waiting newcomers",
            "this project",
            1,
            1_000_000,
        ),
        _REMOVES_GONE,
    ),
    needs_sessions=True,
)


def door_lifo(*, places: int, **door: Any) -> Door:
    return Door(DOOR_LIFO.name, entrance=NewestFirst(places), **door)


def door_fifo(
    *, wait_s: float, wait_automatic: int, retry_after_s: float, places: int, **door: Any
) -> Door:
    entrance = InTurn(places, wait_s, follows=bool(wait_automatic), retry_after_s=retry_after_s)
    return Door(DOOR_FIFO.name, entrance=entrance, **door)
