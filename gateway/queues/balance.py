"""Several processes of one shop: which of them serves the next request.

A Python process cannot use more than one processor, so a shop that may have P of them is P
processes. As many take part as there are processors at the moment, but at least one; the others
keep running, and are there at once when there are more.
Owns: the choice among the processes. Must not know: who assigns processors, policies, customers.
"""

from collections.abc import Sequence
from math import ceil

from gateway.http.exchange import Exchange
from gateway.http.upstream import Pool


class Processors:
    """How many processors the shop has, as all who spread its requests see it."""

    def __init__(self) -> None:
        self.assigned: float | None = None
        """0, 0.5, 1, …; None without a CPU manager: as many as there are processes."""

    def taking_part(self, processes: int) -> int:
        """How many of `processes` get requests now."""
        if self.assigned is None:
            return processes
        return min(processes, max(1, ceil(self.assigned)))


class Balance:
    """Serves each request by the process with the fewest in service; the first among equals."""

    def __init__(self, pools: Sequence[Pool], processors: Processors) -> None:
        self.pools = tuple(pools)
        self._processors = processors

    def serve(self, exchange: Exchange) -> None:
        """Sends the request of `exchange` to one of the processes that take part."""
        if len(self.pools) == 1:
            self.pools[0].serve(exchange)
            return
        among = self.pools[: self._processors.taking_part(len(self.pools))]
        min(among, key=_in_service).serve(exchange)


def _in_service(pool: Pool) -> int:
    return pool.in_service
