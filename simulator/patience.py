"""The times at which customers' patience ends, the earliest first."""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from heapq import heappop, heappush

from loadgen.workload.clients import Clients
from loadgen.workload.sessions import Customers
from simulator.sessions import Session

PatienceEnd = tuple[float, int, Session]
"""The end of a patience, (time, id, session), which counts only if the session still waits for
attempt `id`.
"""


def ends_of_patience(
    customers: Customers | Clients,
) -> tuple[Sequence[PatienceEnd], Callable[[PatienceEnd], None], Callable[[], PatienceEnd]]:
    """Return the pending ends, and the functions that add an end and remove the earliest.

    Equal patiences end in the order of the attempts, so a queue is sufficient; otherwise, a heap
    holds the ends.
    """
    if isinstance(customers, Customers) and customers.model.think_timeout_mean_s == 0:
        in_order = deque[PatienceEnd]()
        return in_order, in_order.append, in_order.popleft
    heap: list[PatienceEnd] = []
    return heap, partial(heappush, heap), partial(heappop, heap)
