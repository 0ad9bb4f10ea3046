"""The ends of customers' patience, earliest first."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush

from loadgen.clients import Clients
from loadgen.sessions import Customers
from simulator.sessions import Session

PatienceEnd = tuple[float, int, Session]
"""(when, id, session): the patience with attempt `id` ends then, if the session still awaits it."""


def ends_of_patience(
    customers: Customers | Clients,
) -> tuple[Sequence[PatienceEnd], Callable[[PatienceEnd], None], Callable[[], PatienceEnd]]:
    """(the ends to come, the earliest first; what adds one; what takes the earliest away).

    Where all have the same patience it ends in the order of sending: a queue. Else it is a heap.
    """
    if isinstance(customers, Customers) and customers.model.think_timeout_mean_s == 0:
        in_order = deque[PatienceEnd]()
        return in_order, in_order.append, in_order.popleft
    heap: list[PatienceEnd] = []
    return heap, partial(heappush, heap), partial(heappop, heap)
