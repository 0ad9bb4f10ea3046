"""The policy “controlled delay with adaptive LIFO”, as in Facebook's services."""

from collections.abc import Mapping, Sequence

from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import Discipline
from gateway.policies.interface import NOTHING, Dispatch, Drop, Request, Verdict, Verdicts
from gateway.policies.sheet import Parameter, Sheet


class ControlledDelay(IgnoringPolicy):
    """A queue in which requests expire, with adaptive LIFO. The queue persists once it has been
    non-empty for more than `interval_s`. A request may wait for `target_s` if the queue persists
    when the request arrives, otherwise for `interval_s`. While the queue persists, the newest
    request is served first. At each arrival, and when workers are free, the policy drops expired
    requests, beginning with the oldest, until it finds a request that has not expired. It also
    drops expired requests that it takes for service.
    """

    def __init__(self, *, interval_s: float, target_s: float) -> None:
        self.name = CODEL.name
        self._interval_s = interval_s
        self._target_s = target_s
        self._line = Line()
        self._expires_s: dict[int, float] = {}
        self._empty_s = 0.0  # when the queue was last empty
        self.is_standing = False
        """Whether the queue persists: it has been non-empty for more than `interval_s`."""
        self._switches = 0

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        self._look(time_s)
        self._enqueue(time_s, request)
        return self._expired(time_s)

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        self._look(time_s)
        verdicts: list[Verdict] = list(self._expired(time_s))
        discipline = Discipline.LIFO if self.is_standing else Discipline.FIFO
        while free > 0 and len(self._line):
            id = self._line.take(discipline).id
            if self._expires_s.pop(id) < time_s:
                verdicts.append(_late(id))
            else:
                verdicts.append(Dispatch(id))
                free -= 1
        self._look(time_s)
        return verdicts

    def withdraw(self, time_s: float, id: int) -> None:
        self._line.remove(id)
        del self._expires_s[id]

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        self._look(time_s)
        for request in requests:
            self._enqueue(time_s, request)

    def waiting(self) -> Sequence[Request]:
        return oldest_first([self._line])

    def snapshot(self) -> Mapping[str, object]:
        return {
            "discipline": Discipline.LIFO if self.is_standing else Discipline.FIFO,
            "discipline_switches": self._switches,
            "queues": {"all": len(self._line)},
            "capacities": {},
        }

    def _enqueue(self, time_s: float, request: Request) -> None:
        wait_s = self._target_s if self.is_standing else self._interval_s
        self._line.append(request)
        self._expires_s[request.id] = time_s + wait_s

    def _look(self, time_s: float) -> None:
        if not len(self._line):
            self._empty_s = time_s
        was_standing = self.is_standing
        self.is_standing = time_s - self._empty_s > self._interval_s
        self._switches += self.is_standing is not was_standing

    def _expired(self, time_s: float) -> Verdicts:
        late: list[Verdict] = []
        for request in self._line:
            if self._expires_s[request.id] >= time_s:
                break
            late.append(_late(request.id))
        for verdict in late:
            self._line.remove(verdict.id)
            del self._expires_s[verdict.id]
        return late or NOTHING


def _late(id: int) -> Drop:
    return Drop(id, "waited too long in the queue")


CODEL = Sheet(
    name="codel",
    title="CoDel + adaptive LIFO",
    idea="A queue may build up for a moment, but a queue that persists is kept short, and its "
    "newest request is served first. The timeouts are Facebook's, derived from CoDel; CoDel's "
    "own drop law is not used.",
    rule="the queue persists once it has been non-empty for more than interval_s. A request may "
    "wait at most target_s if the queue persists when the request arrives, otherwise at most "
    "interval_s. Drop a request that has waited longer. Serve the newest request while the queue "
    "persists, otherwise the oldest request",
    source="Maurer, *Fail at Scale*, ACM Queue 13 (8), 2015: controlled delay and adaptive LIFO",
    deviations="In the article, LIFO begins “when a queue is forming”; here, LIFO begins when "
    "the queue persists. The article's times suit services that answer in milliseconds; they "
    "are short for pages that take a quarter of a paper second.",
    parameters=(
        Parameter(
            "interval_s",
            0.1,
            "s",
            "N, the time after which a non-empty queue persists, and the longest wait of a "
            "request that arrives while the queue does not persist",
            "Maurer 2015",
            0.001,
            600.0,
        ),
        Parameter(
            "target_s",
            0.005,
            "s",
            "M, the longest wait of a request that arrives while the queue persists",
            "Maurer 2015",
            0.0,
            600.0,
        ),
    ),
)
