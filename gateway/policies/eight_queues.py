"""Eight queues, one per page type, with dynamic priority: 8Q-AF and 8Q-LIFO-Pri."""

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.policies.base import IgnoringPolicy, Line, oldest_first
from gateway.policies.discipline import (
    CPU_LOWER_THRESHOLD,
    CPU_UPPER_THRESHOLD,
    Discipline,
    OverloadSwitch,
)
from gateway.policies.interface import (
    NOTHING,
    PAGES,
    TRANSACTION_PAGES,
    Dispatch,
    Drop,
    LoadSample,
    Page,
    Request,
    Verdicts,
)
from gateway.policies.sheet import Parameter, Sheet

_TRANSACTION = frozenset(TRANSACTION_PAGES)

UTILITY: Mapping[Page, float] = dict(
    zip(PAGES, (27.0, 22.0, 36.0, 73.0, 3650.0, 4050.0, 4500.0, 5000.0), strict=True)
)
"""The utilities U_i of LIFO-Pri, Table 3."""

CAPACITIES = (
    Parameter(
        "browsing_capacity",
        50,
        "requests",
        "maximum length of each queue from Br-1 to Br-4",
        "LIFO-Pri, section 3.2.1",
        1,
        1_000_000,
    ),
    Parameter(
        "transaction_capacity",
        25,
        "requests",
        "maximum length of each queue from Tr-1 to Tr-4",
        "LIFO-Pri, section 3.2.1",
        1,
        1_000_000,
    ),
)
_QUEUES = (
    *CAPACITIES,
    Parameter(
        "utility",
        UTILITY,
        "weight",
        "U_i, the value of a served page of this type",
        "LIFO-Pri, Table 3",
        0.0,
        1e9,
    ),
)


class EightQueues(IgnoringPolicy):
    """A policy with a queue for each page type, which serves the queues by dynamic priority
    (LIFO-Pri, Algorithm 1).

    The next request comes from the queue i with the largest DP_i = N_i × U_i (queue length ×
    utility of the page). If priorities are equal, the later page comes first. Transaction queues
    are always FIFO. The discipline of browsing queues follows `switch`; without a switch, it is
    FIFO.
    """

    def __init__(
        self,
        name: str,
        *,
        browsing_capacity: int,
        transaction_capacity: int,
        utility: Mapping[Page, float],
        switch: OverloadSwitch | None = None,
    ) -> None:
        self.name = name
        self._switch = switch
        self._lines = {
            page: Line(transaction_capacity if page.is_transaction else browsing_capacity)
            for page in PAGES
        }
        # Latest page first, because the first of equal priorities is taken.
        self._by_lateness = [(self._lines[p], utility[p], p) for p in reversed(PAGES)]
        self._total = 0

    @property
    def discipline(self) -> Discipline:
        """The present discipline of the browsing queues."""
        return self._switch.discipline if self._switch else Discipline.FIFO

    def arrival(self, time_s: float, request: Request) -> Verdicts:
        line = self._lines[request.page]
        queue = line.requests
        if len(queue) >= line.capacity:
            return (Drop(request.id, f"queue {request.page} full ({line.capacity})"),)
        queue[request.id] = request
        self._total += 1
        return NOTHING

    def workers_free(self, time_s: float, free: int) -> Verdicts:
        number = min(free, self._total)
        if number == 1:  # the usual case: one request waits, or a worker has just become free
            return (self._dispatch(),)
        return [self._dispatch() for _ in range(number)]

    def _dispatch(self) -> Dispatch:
        line, page = self._next()
        self._total -= 1
        discipline = Discipline.FIFO if page in _TRANSACTION else self.discipline
        return Dispatch(line.take(discipline).id)

    def _next(self) -> tuple[Line, Page]:
        chosen: tuple[Line, float, Page] | None = None
        highest = -1.0  # an empty queue must not be chosen, even if every utility is 0
        for entry in self._by_lateness:
            if queue := entry[0].requests:
                priority = len(queue) * entry[1]
                if priority > highest:
                    chosen, highest = entry, priority
        assert chosen is not None
        return chosen[0], chosen[2]

    def withdraw(self, time_s: float, id: int) -> None:
        next(line for line in self._lines.values() if id in line).remove(id)
        self._total -= 1

    def load_sample(self, time_s: float, sample: LoadSample) -> Verdicts:
        if self._switch:
            self._switch.sample(sample.cpu_utilisation_ratio)
        return NOTHING

    def adopt(self, time_s: float, requests: Sequence[Request]) -> None:
        for request in requests:
            self._lines[request.page].append(request)
        self._total += len(requests)

    def waiting(self) -> Sequence[Request]:
        return oldest_first(list(self._lines.values()))

    def snapshot(self) -> Mapping[str, object]:
        return {
            "discipline": self.discipline,
            "discipline_switches": self._switch.switches if self._switch else 0,
            "queues": {page: len(line) for page, line in self._lines.items()},
            "capacities": {page: line.capacity for page, line in self._lines.items()},
            "dynamic_priority": {page: len(line) * u for line, u, page in self._by_lateness[::-1]},
        }


EIGHT_QUEUES_AF = Sheet(
    name="8q-af",
    title="8Q-AF",
    idea="Each page type has a queue, and the oldest request of the most valuable queue is served "
    "first.",
    rule="serve the oldest request of the queue with the largest N_i × utility_i (N_i waiting "
    "requests); drop an arrival whose queue is full",
    source="LIFO-Pri, section 3.2.1, scheme 2 (8Q-AF)",
    deviations="The paper does not define how this scheme chooses a queue; this policy uses the "
    "dynamic priority of scheme 3, which fits the paper's figures.",
    parameters=_QUEUES,
)
EIGHT_QUEUES_LIFO_PRI = Sheet(
    name="8q-lifo-pri",
    title="8Q-LIFO-Pri",
    idea="Each page type has a queue, and the most valuable queue is served first. Under overload, "
    "the newest request of a browsing queue comes first, because its customer is probably still "
    "waiting.",
    rule="serve the queue with the largest N_i × utility_i (N_i waiting requests). Transaction "
    "queues are FIFO; browsing queues are LIFO once the utilisation is above cpu_upper_threshold, "
    "and FIFO again once it is below cpu_lower_threshold. Drop an arrival whose queue is full",
    source="LIFO-Pri, sections 2.2 and 3.2.1, Algorithm 1, scheme 3 (8Q-LIFO-Pri)",
    deviations="If priorities are equal, the later page comes first (not defined in the paper). "
    "Among transaction queues, the priority is Algorithm 1's N_i × U_i, although section 2.2 "
    "describes a fixed order.",
    parameters=(*_QUEUES, CPU_UPPER_THRESHOLD, CPU_LOWER_THRESHOLD),
)


def eight_queues_af(**queues: Any) -> EightQueues:
    return EightQueues(EIGHT_QUEUES_AF.name, **queues)


def eight_queues_lifo_pri(
    *, cpu_upper_threshold: float, cpu_lower_threshold: float, **queues: Any
) -> EightQueues:
    switch = OverloadSwitch(
        cpu_upper_threshold=cpu_upper_threshold, cpu_lower_threshold=cpu_lower_threshold
    )
    return EightQueues(EIGHT_QUEUES_LIFO_PRI.name, switch=switch, **queues)
