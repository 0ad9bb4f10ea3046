"""How many requests each client makes, so that a reproduction takes the time it shall.

Owns: the cost of a request as measured, the sharing out of the time. Must not know: clocks, who
measures.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lab.experiments.reproduction.ad_server_cases import PUBLISHED_REQUESTS, Cell

LEAST_REQUESTS = 3
"""Of a client; the first is not measured."""

OVERHEAD_S = 0.1
"""Of a run: its clients come and go, its file is written."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Real seconds from one answer of the server to the next, while its clients never pause."""

    base_s: float
    concept_s: float
    """For each concept of the request."""

    @classmethod
    def of_two(cls, few: tuple[int, float], many: tuple[int, float]) -> "Cost":
        """The line through two measurements (concepts, seconds); noise may not make it fall."""
        (a, a_s), (b, b_s) = few, many
        slope = max(0.0, (b_s - a_s) / (b - a)) if b > a else 0.0
        return cls(max(0.0, a_s - slope * a), slope)

    def request_s(self, concepts: int) -> float:
        """For a request with so many concepts."""
        return self.base_s + self.concept_s * concepts


CostOf = Callable[[int], Cost]
"""By number of clients."""


def requests_by_clients(runs: Iterable[Cell], cost_of: CostOf, runs_s: float) -> dict[int, int]:
    """Requests of each client, by number of clients; `runs` has a cell as often as it is run.

    About as many a run whatever the number of clients, at least LEAST_REQUESTS and at most as
    published for each; as many as all runs can have within `runs_s`.
    """
    cells = list(runs)
    numbers = sorted({cell.clients for cell in cells})

    def shared(a_run: int) -> dict[int, int]:
        return {
            clients: min(PUBLISHED_REQUESTS, max(LEAST_REQUESTS, round(a_run / clients)))
            for clients in numbers
        }

    low, high = 1, PUBLISHED_REQUESTS * numbers[-1]
    while low < high:
        middle = (low + high + 1) // 2
        if expected_s(cells, shared(middle), cost_of) <= runs_s:
            low = middle
        else:
            high = middle - 1
    return shared(low)


def expected_s(runs: Iterable[Cell], requests: Mapping[int, int], cost_of: CostOf) -> float:
    """How long these runs take together."""
    return sum(
        OVERHEAD_S
        + cell.clients * requests[cell.clients] * cost_of(cell.clients).request_s(cell.concepts)
        for cell in runs
    )
