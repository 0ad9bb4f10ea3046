"""A waiting room: only a limited number of sessions may be in the shop, and the next session enters
when another session has gone.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, Dispatch, Outcome, Request, Verdicts
from gateway.policies.sheet import Parameter, Sheet


class WaitingRoom(IgnoringPolicy):
    """A policy that serves only requests of sessions inside the shop, in the order in which the
    requests entered the shop. Other sessions wait. A session enters with all its waiting requests.

    A session counts as gone once it has sent no request for `idle_s` after its last answer. A
    request without a session counts as a separate session, which ends with its answer.
    """

    def __init__(self, *, inside: int, idle_s: float) -> None:
        self.name = WAITING_ROOM.name
        self._places = inside
        self._idle_s = idle_s
        self._silent_since_s: OrderedDict[str, float] = OrderedDict()  # the longest inactive first
        # The requests, waiting or in service, of each session inside that has any.
        self._asking: dict[str, int] = {}
        # The requests of each session that waits to enter; sessions are in order of arrival.
        self._door: OrderedDict[str, Line] = OrderedDict()
        self._line = Line()
        self._session_of: dict[int, str] = {}  # of each request that waits or is in service

    @property
    def inside(self) -> int:
        """The number of sessions that are inside the shop."""
        return len(self._silent_since_s) + len(self._asking)

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        self._forget(time_s)
        session = self._session_of[request.id] = _name(request)
        if session in self._silent_since_s or session in self._asking:
            self._enter(request, session)
        else:
            self._door.setdefault(session, Line()).append(request)
        self._let_in()
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        self._forget(time_s)
        self._let_in()
        line = self._line
        return [Dispatch(line.take(Discipline.FIFO).id) for _ in range(min(free, len(line)))]

    def completion(self, time_s: float, id: int, outcome: Outcome) -> Verdicts:
        self._ended(time_s, id)
        return NOTHING

    def withdraw(self, time_s: float, id: int) -> None:
        if id in self._line:
            self._line.remove(id)
            self._ended(time_s, id)
            return
        session = self._session_of.pop(id)
        requests = self._door[session]
        requests.remove(id)
        if not len(requests):
            del self._door[session]

    def timer_due(self, time_s: float) -> Verdicts:
        self._forget(time_s)
        self._let_in()
        return NOTHING

    def next_timer_s(self) -> float | None:
        if not self._door or not self._silent_since_s:
            return None
        return next(iter(self._silent_since_s.values())) + self._idle_s

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        for request in requests:
            session = self._session_of[request.id] = _name(request)
            self._door.setdefault(session, Line()).append(request)
        self._let_in()

    def waiting(self) -> Sequence[Request]:
        return oldest_first([*self._door.values(), self._line])

    def snapshot(self) -> Mapping[str, object]:
        return {
            "discipline": Discipline.FIFO,
            "discipline_switches": 0,
            "queues": {
                "door": len(self._session_of) - sum(self._asking.values()),
                "inside": len(self._line),
            },
            "capacities": {},
            "sessions_inside": self.inside,
        }

    def _let_in(self) -> None:
        while self._door and self.inside < self._places:
            session, requests = self._door.popitem(last=False)
            for request in requests:
                self._enter(request, session)

    def _enter(self, request: Request, session: str) -> None:
        self._silent_since_s.pop(session, None)
        self._asking[session] = self._asking.get(session, 0) + 1
        self._line.append(request)

    def _ended(self, time_s: float, id: int) -> None:
        session = self._session_of.pop(id, None)
        if session is None:  # another policy dispatched it
            return
        self._asking[session] -= 1
        if not self._asking[session]:
            del self._asking[session]
            if session[0] == "s":  # a session without a name cannot return
                self._silent_since_s[session] = time_s

    def _forget(self, time_s: float) -> None:
        while self._silent_since_s:
            session, since_s = next(iter(self._silent_since_s.items()))
            if time_s < since_s + self._idle_s:
                break
            del self._silent_since_s[session]


def _name(request: Request) -> str:
    return f"r{request.id}" if request.session is None else f"s{request.session}"


WAITING_ROOM = Sheet(
    name="waiting-room",
    title="Waiting room",
    idea="When the shop is full, a customer may enter only when another customer leaves.",
    rule="serve only requests of sessions in the shop, the earliest entered request first. While "
    "the number of sessions in the shop is below inside, let further sessions enter in order of "
    "arrival; a session enters with all its waiting requests. A session counts as gone "
    "if it has sent no request for idle_s after its last answer",
    source="Cloudflare Waiting Room, documentation: total active users, session duration",
    deviations="the session duration and the limit are smaller. Cloudflare has 5 minutes and at "
    "least 200 users, far too much for customers without think time. A waiting customer keeps a "
    "connection open instead of reloading a page.",
    parameters=(
        Parameter(
            "inside",
            30,
            "sessions",
            "maximum number of sessions in the shop",
            "chosen by this project: one session per worker",
            1,
            1_000_000,
        ),
        Parameter(
            "idle_s",
            2.0,
            "s",
            "time without a request after which a session counts as gone",
            "this project",
            0.01,
            86_400.0,
        ),
    ),
    needs_sessions=True,
)
