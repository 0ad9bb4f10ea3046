"""The times at which customers' patience ends, sorted with the earliest first."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush

from loadgen.workload.clients import Clients
from loadgen.workload.sessions import Customers
from simulator.sessions import Session

PatienceEnd = tuple[float, int, Session]
"""The end of a patience, as (time, id, session); it takes effect if the session still waits for
attempt `id`.
"""


def ends_of_patience(
    customers: Customers | Clients,
) -> tuple[Sequence[PatienceEnd], Callable[[PatienceEnd], None], Callable[[], PatienceEnd]]:
    """Return the pending ends, and the functions that add an end and remove the earliest.

    If all patiences are equal, they end in the order in which the attempts were sent, so a queue
    holds the ends. Otherwise, a heap holds the ends.
    """
    if isinstance(customers, Customers) and customers.model.think_timeout_mean_s == 0:
        in_order = deque[PatienceEnd]()
        return in_order, in_order.append, in_order.popleft
    heap: list[PatienceEnd] = []
    return heap, partial(heappush, heap), partial(heappop, heap)
