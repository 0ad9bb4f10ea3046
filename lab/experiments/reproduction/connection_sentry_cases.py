"""Connection Sentry's runs: which clients, which shop, with the sentry and without.

Owns: the cases that its tables are made of, whole and quick, simulated and live.
Must not know: how they are drawn.

Source: Kraemer, Paixão, Guedes, Meira, Almeida, *Minimizing the Impact of Orphan Requests in
e-Commerce Services*, 2000. Section and table numbers in these modules are that paper's.
"""

from dataclasses import dataclass
from typing import Any, Literal

from gateway.policies.interface import Abandonment
from lab.experiments.published import published
from lab.experiments.reproduction.cases import Case
from lab.experiments.simulated_run import FILE_CPU_S
from loadgen.clients import CONNECTION_SENTRY_MIX, KIND_PAGE
from loadgen.sessions import MEAN_EXECUTION_S

Engine = Literal["simulated", "live"]
Profile = Literal["real", "paper"]

MODES: dict[str, Abandonment] = {"X": "ignore", "S": "cancel"}
"""The paper's names for a server without the sentry and with it."""

CLASSES = ("home", "browse", "search", "file", "select")
"""Of requests, in the order of Tables 1 to 4."""

RUN_S = 60.0 * published()["connection_sentry"]["run_minutes"]
THINK_TIME_MEAN_S = 3.5
"""Follows from Tables 1 and 2: see docs/reproductions.md."""

CATALOGUE_BOOKS = 300_000
"""Books with which a search costs the database about 0.15 s of CPU (docs/shop.md): 1.5 paper s."""

PAPER_PROFILE_PER_SET = 36
"""The pages of profile `paper` take a quarter of the work; so four times the clients."""

REAL_CPU_S = {"Br-1": 0.2, "Br-2": 0.4, "Br-3": 1.5, "Br-4": 1.0, "file": 0.1}
"""CPU of the simulated server: Table 3's latencies with 3 processes for home, browse and file; with
1.5 s of search and 1 s of select their latencies come out there as printed, about."""

_BUSY_RATIO: float = published()["lifo_pri"]["derived"]["busy_share"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One setting of the experiment, tried with the sentry and without."""

    per_set: int
    patience_max_s: float
    profile: Profile = "real"

    @property
    def title(self) -> str:
        """For people."""
        text = f"{self.per_set} clients per set, patience {self.patience_max_s:g} s"
        return text if self.profile == "real" else f"{text}, page profile {self.profile}"

    @property
    def short(self) -> str:
        """Under a bar and at the head of a row."""
        text = f"{self.per_set}, {self.patience_max_s:g} s"
        return text if self.profile == "real" else f"{text}, {self.profile}"


HEAVIEST = Cell(9, 7.5)
PAPER_PROFILE = Cell(PAPER_PROFILE_PER_SET, 7.5, "paper")


@dataclass(frozen=True, slots=True)
class Scale:
    """How long the runs are, which cells are tried, how often."""

    duration_s: float
    warm_up_s: float
    patiences_s: tuple[float, ...]
    per_sets: tuple[int, ...]
    repetitions: int
    sessions: int
    """Of LIFO-Pri's customers, where cancelling does not help; always simulated."""


_PATIENCES_S = (7.5, 10.0, 15.0)
_PER_SETS = (9, 6, 3)

SCALES: dict[Engine, dict[bool, Scale]] = {
    "simulated": {
        False: Scale(RUN_S, 60.0, _PATIENCES_S, _PER_SETS, 20, 2400),
        True: Scale(RUN_S, 60.0, _PATIENCES_S, _PER_SETS, 8, 1200),
    },
    "live": {
        False: Scale(RUN_S, 60.0, _PATIENCES_S, _PER_SETS, 3, 2400),
        # Two dozen runs of 12 s real and what is around them, and minutes in which the catalogue
        # grows: under ten minutes together.
        True: Scale(120.0, 20.0, (7.5, 15.0), (9, 3), 3, 1200),
    },
}
"""By engine and whether it is quick."""


@dataclass(frozen=True, slots=True)
class Cases:
    """The paper's cases at a scale, on an engine."""

    scale: Scale
    engine: Engine

    def by_patience(self) -> list[Cell]:
        """Tables 1 and 2."""
        return [Cell(HEAVIEST.per_set, each) for each in self.scale.patiences_s]

    def by_clients(self) -> list[Cell]:
        """Tables 3 and 4, the most clients first."""
        return [Cell(each, HEAVIEST.patience_max_s) for each in self.scale.per_sets]

    def cells(self) -> list[Cell]:
        """All, each once; the one with the small catalogue last."""
        return list(dict.fromkeys([*self.by_patience(), *self.by_clients(), PAPER_PROFILE]))

    def run(self, cell: Cell, mode: str) -> Case:
        """A cell without the sentry (X) or with it (S)."""
        server = self._shop(cell.profile) if self.engine == "live" else self._server(cell.profile)
        return Case(
            policy="sq",
            capacity_rps=_capacity_rps(cell.profile),
            server=server,
            customers={},
            clients={
                "per_set": cell.per_set,
                "patience_max_s": cell.patience_max_s,
                "think_time_mean_s": THINK_TIME_MEAN_S,
            },
            abandonment=MODES[mode],
            duration_s=self.scale.duration_s,
            warm_up_s=self.scale.warm_up_s,
            watched="clients",
        )

    def shoppers(self, scheme: str, abandonment: Abandonment) -> Case:
        """LIFO-Pri's shop and customers at ρ = 2, simulated on either engine."""
        paper = published()["lifo_pri"]
        return Case(
            policy=scheme,
            rho=2.0,
            capacity_rps=paper["capacity_rps"],
            server={"kind": "shared-cpus", "busy_ratio": _BUSY_RATIO},
            customers={},
            abandonment=abandonment,
            sessions=self.scale.sessions,
            watched="pages",
        )

    def _shop(self, profile: Profile) -> dict[str, Any]:
        """The appliance's; it is never simulated."""
        real = {"catalogue_books": CATALOGUE_BOOKS, "database_cpus": "shop"}
        return {"kind": "shop", "page_profile": profile, **(real if profile == "real" else {})}

    def _server(self, profile: Profile) -> dict[str, Any]:
        return {
            "kind": "shared-cpus",
            "mean_execution_s": _execution_s(profile),
            "busy_ratio": 1.0 if profile == "real" else _BUSY_RATIO,
        }


def _execution_s(profile: Profile) -> dict[str, float]:
    if profile == "real":
        return {**MEAN_EXECUTION_S, **REAL_CPU_S}
    return {**MEAN_EXECUTION_S, "file": FILE_CPU_S / _BUSY_RATIO}


def _capacity_rps(profile: Profile) -> float:
    """About what the simulated server can serve of the clients' mix: one CPU."""
    execution_s = _execution_s(profile)
    busy = 1.0 if profile == "real" else _BUSY_RATIO
    weights = CONNECTION_SENTRY_MIX
    mean_s = sum(weights[kind] * execution_s[page] for kind, page in KIND_PAGE.items())
    return sum(weights.values()) / (busy * mean_s)
