"""The ad server's runs: how many clients, how many concepts a request, how many threads.

Owns: the cells that figures and tables are made of, whole and quick, the order of the runs.
Must not know: how they are run or drawn.

Source: Diniz, Pereira, Meira, Almeida, *QoS in Parallelized E-Commerce Systems*, UFMG, 2000.
Section, figure and table numbers in these modules are that paper's.
"""

import os
import random
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from lab.experiments.published import published
from lab.experiments.reproduction.cases import Case

BANNERS = 300_000
"""Under contract unless somebody says otherwise: so many that a search is most of an answer."""

SERVER_THREADS = 16
"""Requests that the ad server answers at a time, its default; further ones wait for one of them."""

PUBLISHED_REQUESTS: int = published()["ad_server"]["requests_per_client"]
PUBLISHED_THREADS = 6
"""Of high-priority requests in Table IV."""
FEW, MANY = 10, 100
"""Clients of Fig. 6 and Table III, and of Figs. 7 and 8."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the experiment."""

    clients: int
    concepts: int
    """Of each request."""
    threads: int
    """That search for a request of high priority; one does for a request of low priority."""

    @property
    def title(self) -> str:
        """For people."""
        return f"{clients_words(self.clients)}, {self.concepts} concepts, {self.threads} threads"

    @property
    def name(self) -> str:
        """Of files."""
        return f"clients{self.clients:03}-concepts{self.concepts:02}-threads{self.threads}"


def clients_words(clients: int) -> str:
    """`1 client`, `10 clients`."""
    return f"{clients} client{'s' if clients > 1 else ''}"


@dataclass(frozen=True, slots=True)
class Scale:
    """Which cells, how often, and how long all runs together shall take."""

    clients: tuple[int, ...]
    concepts: tuple[int, ...]
    threads: tuple[int, ...]
    repetitions: int
    runs_s: float
    """Real seconds."""

    def cells(self) -> list[Cell]:
        """The paper's, then those of a client alone."""
        return [Cell(*each) for each in product((*self.clients, 1), self.concepts, self.threads)]


_PAPER = published()["ad_server"]
_CONCEPTS = (2, *_PAPER["concepts"])  # the heads of Tables III and IV say 2 for the text's 3

SCALES = {
    False: Scale(
        tuple(_PAPER["clients"]), _CONCEPTS, tuple(_PAPER["high_priority_threads"]), 3, 840.0
    ),
    True: Scale((FEW, MANY), (2, 10), (2, PUBLISHED_THREADS), 3, 110.0),
}
"""By whether it is quick."""


@dataclass(frozen=True, slots=True)
class Cases:
    """The cells of a scale as cases, on an inventory and a machine."""

    scale: Scale
    banners: int = BANNERS
    cpus: int = len(os.sched_getaffinity(0))

    def run(self, cell: Cell) -> Case:
        """A cell; it is never simulated."""
        return Case(
            policy="thread-fan-out",
            capacity_rps=1.0,
            server={
                "kind": "ad-server",
                "banners": self.banners,
                "concepts": cell.concepts,
                "threads": cell.threads,
            },
            customers={},
            sessions=cell.clients,
            watched="clients",
        )

    def of_clients(self, clients: int) -> list[Cell]:
        """All cells with so many clients."""
        return [cell for cell in self.scale.cells() if cell.clients == clients]


class PlannedRun(NamedTuple):
    """A cell and the seed that its clients draw from."""

    cell: Cell
    seed: int

    @property
    def name(self) -> str:
        """The stem of its file."""
        return f"{self.cell.name}-seed{self.seed}"


def planned_runs(scale: Scale, seed: int, repetitions: int) -> list[PlannedRun]:
    """Every cell once in each repetition, in random order: what else the machine does hits all."""
    found = []
    for each in range(seed, seed + repetitions):
        cells = scale.cells()
        random.Random(each).shuffle(cells)
        found += [PlannedRun(cell, each) for cell in cells]
    return found
