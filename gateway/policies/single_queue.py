"""One queue for all page types: SQ, and the three policies of LIFO-Pri's section 3.1."""

from collections.abc import Mapping, Sequence

from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import (
    CPU_LOWER_THRESHOLD,
    CPU_UPPER_THRESHOLD,
    Discipline,
    OverloadSwitch,
)
from gateway.policies.interface import NOTHING, Dispatch, Drop, LoadSample, Request, Verdicts
from gateway.policies.sheet import Parameter, Sheet


def _capacity(default: int, source: str) -> Parameter:
    return Parameter(
        "capacity", default, "requests", "maximum length of the queue", source, 1, 1_000_000
    )


class SingleQueue(IgnoringPolicy):
    """A single queue for at most `capacity` requests, which drops arrivals when it is full. The
    discipline is fixed, or `switch` chooses it: LIFO under overload, otherwise FIFO.
    """

    def __init__(
        self,
        name: str,
        *,
        capacity: int,
        discipline: Discipline = Discipline.FIFO,
        switch: OverloadSwitch | None = None,
    ) -> None:
        self.name = name
        self._line = Line(capacity)
        self._fixed = discipline
        self._switch = switch

    @property
    def discipline(self) -> Discipline:
        """The queue's present discipline."""
        return self._switch.discipline if self._switch else self._fixed

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        line = self._line
        queue = line.requests
        if len(queue) >= line.capacity:
            return (Drop(request.id, f"queue full ({line.capacity})"),)
        queue[request.id] = request
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        line = self._line
        discipline = self._switch.discipline if self._switch else self._fixed
        number = min(free, len(line.requests))
        if number == 1:  # the usual case: one request waits, or a worker has just become free
            return (Dispatch(line.take(discipline).id),)
        return [Dispatch(line.take(discipline).id) for _ in range(number)]

    def withdraw(self, time_s: float, id: int) -> None:
        self._line.remove(id)

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        if self._switch:
            self._switch.sample(sample.cpu_utilisation_ratio)
        return NOTHING

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        for request in requests:
            self._line.append(request)

    def waiting(self) -> Sequence[Request]:
        return oldest_first([self._line])

    def snapshot(self) -> Mapping[str, object]:
        return {
            "discipline": self.discipline,
            "discipline_switches": self._switch.switches if self._switch else 0,
            "queues": {"all": len(self._line)},
            "capacities": {"all": self._line.capacity},
        }


SQ = Sheet(
    name="sq",
    title="SQ",
    idea="All requests wait in one queue, as at a server without overload control.",
    rule="serve the oldest request; drop an arrival while the queue is full",
    source="LIFO-Pri, section 3.2.1, scheme 1 (SQ)",
    deviations="none",
    parameters=(_capacity(100, "LIFO-Pri, section 3.2.1"),),
)
ALWAYS_FIFO = Sheet(
    name="always-fifo",
    title="Always-FIFO",
    idea="This is SQ with a shorter queue, as in LIFO-Pri's comparison of FIFO and LIFO.",
    rule="serve the oldest request; drop an arrival while the queue is full",
    source="LIFO-Pri, section 3.1.1 (Always-FIFO)",
    deviations="none",
    parameters=(_capacity(50, "LIFO-Pri, section 3.1.1"),),
)
ALWAYS_LIFO = Sheet(
    name="always-lifo",
    title="Always-LIFO",
    idea="The newest request comes first, because its customer is probably still waiting; "
    "customers of older requests may have left.",
    rule="serve the newest request; drop an arrival while the queue is full",
    source="LIFO-Pri, section 3.1.1 (Always-LIFO)",
    deviations="none",
    parameters=(_capacity(50, "LIFO-Pri, section 3.1.1"),),
)
LIFO_AT_OVERLOAD = Sheet(
    name="lifo-at-overload",
    title="LIFO-at-overload",
    idea="The oldest request comes first under normal load, and the newest request when the CPU "
    "is full.",
    rule="serve LIFO once the utilisation is above cpu_upper_threshold, and FIFO again once it is "
    "below cpu_lower_threshold; drop an arrival while the queue is full",
    source="LIFO-Pri, section 3.1.1 (LIFO-at-overload) and Algorithm 1, SET_DISCIPLINE",
    deviations="none",
    parameters=(
        _capacity(50, "LIFO-Pri, section 3.1.1"),
        CPU_UPPER_THRESHOLD,
        CPU_LOWER_THRESHOLD,
    ),
)


def sq(*, capacity: int) -> SingleQueue:
    return SingleQueue(SQ.name, capacity=capacity)


def always_fifo(*, capacity: int) -> SingleQueue:
    return SingleQueue(ALWAYS_FIFO.name, capacity=capacity)


def always_lifo(*, capacity: int) -> SingleQueue:
    return SingleQueue(ALWAYS_LIFO.name, capacity=capacity, discipline=Discipline.LIFO)


def lifo_at_overload(*, capacity: int, **thresholds: float) -> SingleQueue:
    switch = OverloadSwitch(**thresholds)
    return SingleQueue(LIFO_AT_OVERLOAD.name, capacity=capacity, switch=switch)
