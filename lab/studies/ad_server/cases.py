"""The ad server's runs: the number of clients, concepts per request, and threads.

Source: Diniz, Pereira, Meira, Almeida, *QoS in Parallelized E-Commerce Systems*, UFMG, 2000.
Section, figure and table numbers in this package refer to that paper.
"""

import random
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from common import cpus
from lab.analysis.published import published
from lab.spec.cases import Case
from lab.spec.runs import AdServerRun
from lab.studies.study import Engine, PaperCases

METRICS = "studies.ad_server:requests"

BANNERS = 300_000
"""The default number of banners under contract, so large that the search takes most of the
response time."""

SERVER_THREADS = 16
"""The ad server's default concurrency limit; further requests wait."""

PUBLISHED_REQUESTS: int = published()["ad_server"]["requests_per_client"]
PUBLISHED_THREADS = 6
"""The number of threads per high-priority request in Table IV."""
FEW, MANY = 10, 100
"""The number of clients: FEW in Fig. 6 and Table III, MANY in Figs. 7 and 8."""
STREAM = 100
"""The number of requests per priority in Fig. 5."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of the experiment's settings."""

    clients: int
    concepts: int
    """The number of concepts per request."""
    threads: int
    """The number of threads that carry out the search of a high-priority request; the search of a
    low-priority request has one thread."""

    @property
    def title(self) -> str:
        """Return the cell's settings as text."""
        return f"{clients_words(self.clients)}, {self.concepts} concepts, {self.threads} threads"

    @property
    def name(self) -> str:
        """Return the cell's name in file names."""
        return f"clients{self.clients:03}-concepts{self.concepts:02}-threads{self.threads}"


def clients_words(clients: int) -> str:
    """Return `1 client` or `10 clients`."""
    return f"{clients} client{'s' if clients > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Scale:
    """The cells of the experiment, their repetitions, and the total duration of all runs."""

    clients: tuple[int, ...]
    concepts: tuple[int, ...]
    threads: tuple[int, ...]
    repetitions: int
    runs_s: float
    """The intended duration of all runs together, in real seconds."""

    def cells(self) -> list[Cell]:
        """Return the paper's cells, then the cells of a single client."""
        return [Cell(*each) for each in product((*self.clients, 1), self.concepts, self.threads)]


_PAPER = published()["ad_server"]
_CONCEPTS = (2, *_PAPER["concepts"])  # the heads of Tables III and IV print 2 where the text has 3

SCALES: dict[Engine, dict[bool, Scale]] = {
    "live": {
        False: Scale(
            tuple(_PAPER["clients"]), _CONCEPTS, tuple(_PAPER["high_priority_threads"]), 3, 840.0
        ),
        True: Scale((FEW, MANY), (2, 10), (2, PUBLISHED_THREADS), 3, 110.0),
    },
}
"""The scales by engine; there is no simulator of the ad server."""


@dataclass(frozen=True, slots=True)
class Cases(PaperCases[Scale]):
    """The cells of a scale as cases, with the number of banners and the number of CPUs."""

    engine: Engine = "live"
    banners: int = BANNERS
    cpus: int = field(default_factory=lambda: len(cpus.here()))

    def run(self, cell: Cell) -> Case[AdServerRun]:
        """Return the case of a cell with this number of banners."""
        run = AdServerRun(cell.clients, cell.concepts, cell.threads, self.banners)
        return Case(run, METRICS)

    def at(self, clients: int, concepts: int, threads: int) -> Case[AdServerRun]:
        """Return the case of the cell with these settings."""
        return self.run(Cell(clients, concepts, threads))

    def of_clients(self, clients: int) -> list[Cell]:
        """Return all cells with this many clients."""
        return [cell for cell in self.scale.cells() if cell.clients == clients]


class PlannedRun(NamedTuple):
    """A cell and the seed of its clients."""

    cell: Cell
    seed: int

    @property
    def name(self) -> str:
        """The name of the run's file without its suffix."""
        return f"{self.cell.name}-seed{self.seed}"


def planned_runs(scale: Scale, seed: int, repetitions: int) -> list[PlannedRun]:
    """Return every cell once per repetition, in random order, so that other work on the machine
    affects all cells equally."""
    found = []
    for each in range(seed, seed + repetitions):
        cells = scale.cells()
        random.Random(each).shuffle(cells)
        found += [PlannedRun(cell, each) for cell in cells]
    return found
