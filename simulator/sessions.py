"""Sessions on their way through a simulation.

Owns: what is known of a session under way, and the making of those to come.
Must not know: the policy, the server, the order of events.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

from loadgen.draws import stream_key
from simulator.draws_ahead import WorkDraws
from simulator.scenario import Scenario

SESSIONS_AT_ONCE = 256
"""Made together: numpy draws their work at a tenth of the cost."""


class Session:
    """One customer's session.

    `awaits` is the id of the attempt the customer waits for, 0 for none; a request in the system
    that its session does not await is an orphan. `name` is what a policy is told of it: in the
    gateway the id in its cookie or, while the customer has none, one made up for the attempt
    (docs/decisions/0006). `work` has the first attempt's draw of each step.
    """

    __slots__ = (
        "arrival_s",
        "attempt",
        "awaits",
        "index",
        "is_new",
        "kind",
        "name",
        "sent_s",
        "step",
        "walk",
        "work",
    )

    def __init__(
        self,
        index: int,
        arrival_s: float,
        walk: tuple[str, ...],
        kind: int,
        work: Sequence[float],
    ) -> None:
        self.index = index
        self.arrival_s = arrival_s
        self.walk = walk
        self.kind = kind
        self.work = work
        self.name = str(index)
        self.is_new = True
        self.step = 0
        self.attempt = 1
        self.awaits = 0
        self.sent_s = arrival_s


NOBODY = Session(-1, math.inf, (), 0, ())
"""Who comes when all have come."""


class SessionsToCome:
    """The sessions of a scenario in the order of their arrival, and the work of their requests."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._draws = WorkDraws(stream_key(scenario.seed, "work"))

    def __iter__(self) -> Iterator[Session]:
        customers = self._scenario.customers
        arrivals_s = self._arrivals()
        first = 0
        while block_s := list(islice(arrivals_s, SESSIONS_AT_ONCE)):
            indexes = range(first, first + len(block_s))
            walks = [customers.walk(index) for index in indexes]
            draws = self._draws.first_attempts(first, [len(walk) for walk in walks])
            for index, arrival_s, walk, work in zip(indexes, block_s, walks, draws, strict=True):
                yield Session(index, arrival_s, walk, customers.kind(index), work)
            first += len(block_s)

    def work(self, session: Session) -> float:
        """How much work the session's attempt is, as a place in [0, 1)."""
        if session.attempt == 1:
            return session.work[session.step]
        return self._draws.retry(session.index, session.step, session.attempt)

    def _arrivals(self) -> Iterator[float]:
        scenario = self._scenario
        until_s = math.inf if scenario.arrivals_until_s is None else scenario.arrivals_until_s
        times_s = scenario.customers.arrivals(until_s)
        return times_s if scenario.sessions is None else islice(times_s, scenario.sessions)
