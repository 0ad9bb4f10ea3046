"""The balancer, which chooses one of the shop's processes for each request.

A Python process uses at most one processor, so a shop that may be assigned P processors runs P
processes. The number of processes that get requests follows the shop's present number of
processors; the other processes stay ready.
"""

from collections.abc import Sequence
from math import ceil

from gateway.http.exchange import Exchange
from gateway.http.upstream import Pool


class Processors:
    """The shop's present number of processors, in an object that all its balancers share."""

    def __init__(self) -> None:
        self.assigned: float | None = None
        """The number of processors (0, 0.5, 1, …). It is None before the CPU manager's first
        assignment, and without a manager; every process then gets requests.
        """

    def taking_part(self, processes: int) -> int:
        """Return the number of processes, at most `processes`, that get requests now."""
        if self.assigned is None:
            return processes
        return min(processes, max(1, ceil(self.assigned)))


class Balance:
    """A balancer that sends each request to the process with the fewest requests in service, or to
    the first of several such processes.
    """

    def __init__(self, pools: Sequence[Pool], processors: Processors) -> None:
        self.pools = tuple(pools)
        self._processors = processors

    def serve(self, exchange: Exchange) -> None:
        """Send the request of `exchange` to one of the processes that get requests now."""
        if len(self.pools) == 1:
            self.pools[0].serve(exchange)
            return
        among = self.pools[: self._processors.taking_part(len(self.pools))]
        min(among, key=_in_service).serve(exchange)


def _in_service(pool: Pool) -> int:
    return pool.in_service
