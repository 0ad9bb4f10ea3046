"""The times at which customers' patience ends, with the earliest first."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush

from loadgen.workload.clients import Clients
from loadgen.workload.sessions import Customers
from simulator.sessions import Session

PatienceEnd = tuple[float, int, Session]
"""(time, id, session): the end of the patience with attempt `id`, if the session still
awaits it."""


def ends_of_patience(
    customers: Customers | Clients,
) -> tuple[Sequence[PatienceEnd], Callable[[PatienceEnd], None], Callable[[], PatienceEnd]]:
    """Return the pending ends, and the functions that add an end and remove the earliest.

    If all patiences are equal, they end in the order of sending, so a queue holds the ends.
    Otherwise, a heap holds them.
    """
    if isinstance(customers, Customers) and customers.model.think_timeout_mean_s == 0:
        in_order = deque[PatienceEnd]()
        return in_order, in_order.append, in_order.popleft
    heap: list[PatienceEnd] = []
    return heap, partial(heappush, heap), partial(heappop, heap)
