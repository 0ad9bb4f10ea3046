"""The number of requests of each client, chosen so that a reproduction takes the intended time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lab.studies.ad_server.cases import PUBLISHED_REQUESTS, Cell, PlannedRun, clients_words

LEAST_REQUESTS = 3
"""The minimum number of requests per client, including the first, which is not measured."""
LEAST_A_RUN = 60
"""The minimum number of requests that all clients of a run make together."""

MORE_REQUESTS = 1
"""The extra requests that a client makes, on average, until the others have finished."""

_HALVINGS = 40
"""The number of steps of the binary search in `requests_by_clients`."""

OVERHEAD_S = 0.1
"""The real seconds that a run needs to start and end its clients, and to write a file."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a request: the real seconds between two answers of the server when no client
    pauses."""

    base_s: float
    concept_s: float
    """The real seconds that each concept adds to a request."""

    @classmethod
    def of_two(cls, few: tuple[int, float], many: tuple[int, float]) -> "Cost":
        """Return the cost as a line through two measurements (concepts, seconds), with a slope of
        at least 0."""
        (a, a_s), (b, b_s) = few, many
        slope = max(0.0, (b_s - a_s) / (b - a)) if b > a else 0.0
        return cls(max(0.0, a_s - slope * a), slope)

    def request_s(self, concepts: int) -> float:
        """Return the real seconds that a request with this many concepts takes."""
        return self.base_s + self.concept_s * concepts


@dataclass(frozen=True, slots=True)
class Costs:
    """The costs of a request on this machine with a single client and with several clients."""

    alone: Cost
    many: Cost

    def of(self, clients: int) -> Cost:
        """Return the cost of a request with this number of clients."""
        return self.alone if clients == 1 else self.many


def requests_by_clients(runs: Iterable[Cell], costs: Costs, runs_s: float) -> dict[int, int]:
    """Return how many requests each client makes, by number of clients.

    Each number of clients gets about the same share of the time: all runs with one client together
    take about as long as all runs with ten clients. A client makes at most as many requests as in
    the paper. It makes at least the minimum number of requests, even if all
    runs together then take longer than `runs_s`.
    """
    cells = list(runs)
    by_clients: dict[int, list[Cell]] = {}
    for cell in cells:
        by_clients.setdefault(cell.clients, []).append(cell)
    round_s = {  # of one request of each client in all runs
        clients: sum(clients * costs.of(clients).request_s(cell.concepts) for cell in same)
        for clients, same in sorted(by_clients.items())
    }

    def shared(share_s: float) -> dict[int, int]:
        return {
            clients: min(_most(clients), max(_least(clients), int(share_s / each_s)))
            for clients, each_s in round_s.items()
        }

    low_s, high_s = 0.0, runs_s
    for _ in range(_HALVINGS):
        middle_s = (low_s + high_s) / 2
        if expected_s(cells, shared(middle_s), costs) <= runs_s:
            low_s = middle_s
        else:
            high_s = middle_s
    return shared(low_s)


def _least(clients: int) -> int:
    return max(LEAST_REQUESTS, -(-LEAST_A_RUN // clients))


def _most(clients: int) -> int:
    return PUBLISHED_REQUESTS if clients > 1 else LEAST_A_RUN


def expected_s(runs: Iterable[Cell], requests: Mapping[int, int], costs: Costs) -> float:
    """Return the expected total duration of these runs in real seconds."""
    return sum(
        OVERHEAD_S
        + cell.clients
        * (requests[cell.clients] + (MORE_REQUESTS if cell.clients > 1 else 0))
        * costs.of(cell.clients).request_s(cell.concepts)
        for cell in runs
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """The costs measured on this machine, and the resulting numbers of requests per client. The
    result's folder keeps the plan."""

    requests: Mapping[int, int]
    """The number of requests that each client makes, by number of clients."""
    costs: Costs

    @property
    def words(self) -> str:
        """The numbers of requests per client as text: `20 (10 clients), …`."""
        numbers = sorted(self.requests.items())
        each = ", ".join(f"{number} ({clients_words(clients)})" for clients, number in numbers)
        return f"{each}; published {PUBLISHED_REQUESTS}"

    def expected_s(self, runs: Iterable[PlannedRun]) -> float:
        """Return the approximate total duration of these runs in real seconds."""
        return expected_s([run.cell for run in runs], self.requests, self.costs)
