"""The sessions of a simulation, in progress and still to come."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Generic, Protocol, TypeVar

from loadgen.workload.clients import Clients, place
from loadgen.workload.draws import address, stream_key
from loadgen.workload.sessions import Customers
from simulator.draws_ahead import WorkDraws, stream_ahead
from simulator.scenario import Scenario

SESSIONS_AT_ONCE = 256
"""The number of sessions that are created together. Random draws for many sessions at once cost a
tenth of single draws.
"""


T_co = TypeVar("T_co", covariant=True)


class ByStep(Protocol[T_co]):
    """The pages of a session or the draws of their work, by step."""

    def __getitem__(self, step: int, /) -> T_co: ...


@dataclass(slots=True, eq=False)
class Session:
    """A customer's session, or a client of a closed loop.

    `awaits` is the id of the attempt for which the customer waits, or 0; all other requests of the
    session are orphans. `name` is the session's name for a policy, as in the gateway
    (docs/decisions/0006). `work` has a draw for the first attempt of each step. `length` is the
    number of steps, or 0 for a client. `arrival_s` is the time of the first request, and `sent_s`
    the time of the latest attempt.
    """

    index: int
    arrival_s: float
    walk: ByStep[str]
    work: ByStep[float]
    length: int
    name: str
    is_new: bool = True
    step: int = 0
    attempt: int = 1
    awaits: int = 0
    sent_s: float = 0.0


Asked = tuple[Session, int, float]
"""A request in the system: (session, index of the page in SERVED_PAGES, work)."""

NOBODY = Session(-1, math.inf, (), (), 0, "")
"""The placeholder after the last session, which never arrives."""


class _Endless(Generic[T_co]):
    """The pages of a client or the draws of their work, calculated when they are needed."""

    def __init__(self, at: Callable[[int], T_co]) -> None:
        self._at = at

    def __getitem__(self, step: int) -> T_co:
        return self._at(step)


Expecting = Callable[[Sequence[float], Sequence[int], Iterable[int]], None]
"""A callback for the arrival times, lengths and kinds of newly drawn sessions."""


class SessionsToCome:
    """The sessions of a scenario in the order of their arrival, and the work of their requests."""

    def __init__(self, scenario: Scenario, expect: Expecting) -> None:
        self._scenario = scenario
        self._expect = expect
        is_closed = isinstance(scenario.customers, Clients)
        self._draws = WorkDraws(stream_key(scenario.seed, "work"), place if is_closed else address)

    def __iter__(self) -> Iterator[Session]:
        customers = self._scenario.customers
        if isinstance(customers, Clients):
            return
        arrivals_s = self._arrivals(customers)
        first = 0
        while block_s := list(islice(arrivals_s, SESSIONS_AT_ONCE)):
            indexes = range(first, first + len(block_s))
            walks = list(map(customers.walk, indexes))
            lengths = list(map(len, walks))
            self._expect(block_s, lengths, map(customers.kind, indexes))
            draws = self._draws.first_attempts(first, lengths)
            names = map(str, indexes)
            for each in zip(indexes, block_s, walks, draws, lengths, names, strict=True):
                yield Session(*each)
            first += len(block_s)

    def clients(self) -> Iterator[Session]:
        """Yield the clients of a closed loop in the order of their numbers."""
        clients = self._scenario.customers
        if not isinstance(clients, Clients):
            return
        for client in range(clients.count):
            arrival_s = clients.first(client).pause_s
            self._expect([arrival_s], [0], [int(clients.set_of(client) == "test")])
            yield Session(
                client,
                arrival_s,
                _Endless(partial(clients.page, client)),
                _Endless(partial(self._draws.of, client, attempt=1)),
                0,
                str(client),
            )

    def work(self, session: Session) -> float:
        """Return the work of the session's present attempt, as a quantile in [0, 1)."""
        if session.attempt == 1:
            return session.work[session.step]
        return self._draws.of(session.index, session.step, session.attempt)

    def _arrivals(self, customers: Customers) -> Iterator[float]:
        scenario = self._scenario
        until_s = math.inf if scenario.arrivals_until_s is None else scenario.arrivals_until_s
        times_s = customers.arrivals(until_s, drawn=stream_ahead)
        return times_s if scenario.sessions is None else islice(times_s, scenario.sessions)
