"""Connection Sentry's runs: the clients, and the shop with and without the sentry.

Source: Kraemer, Paixão, Guedes, Meira, Almeida, *Minimizing the Impact of Orphan Requests in
e-Commerce Services*, 2000. Section and table numbers in this package refer to that paper.
"""

from dataclasses import dataclass
from typing import Literal

from gateway.policies import Abandonment
from lab.analysis.published import published
from lab.spec.cases import Case
from lab.spec.runs import FILE_CPU_S, ApplianceServer, ShopRun
from lab.spec.sections import PolicyChoice
from lab.studies import PAGE_METRICS
from lab.studies.study import Engine, PaperCases
from loadgen.defaults import CONNECTION_SENTRY_MIX
from loadgen.workload.clients import KIND_PAGE, ClientModel
from loadgen.workload.sessions import MEAN_EXECUTION_S
from simulator.scenario import SharedCpus

Profile = Literal["real", "paper"]

CLIENT_METRICS = "studies.connection_sentry:clients"

TIME_SCALE = 10.0
"""The time scale of live runs. A search of 0.15 real seconds then takes 1.5 paper seconds, as in
the simulator. A page of profile `real` takes the same real time at every time scale."""

MODES: dict[str, Abandonment] = {"X": "ignore", "S": "cancel"}
"""The paper's names for a server without the sentry and with it."""

CLASSES = ("home", "browse", "search", "file", "select")
"""The classes of requests, in the order of Tables 1 to 4."""

RUN_S: float = 60.0 * published()["connection_sentry"]["run_minutes"]
THINK_TIME_MEAN_S = 3.5
"""The mean think time, in paper seconds, calculated from Tables 1 to 4 (see
docs/reproductions.md)."""

CATALOGUE_BOOKS = 300_000
"""The number of books with which a search takes about 0.15 real seconds (1.5 paper seconds) of
database CPU time; see docs/shop.md."""

PAPER_PROFILE_PER_SET = 36
"""The number of clients per set: four times the paper's number, because a page of profile `paper`
takes a quarter of the work."""

REAL_CPU_S = {"Br-1": 0.2, "Br-2": 0.4, "Br-3": 1.5, "Br-4": 1.0, "file": 0.1}
"""The CPU seconds that a page takes on the simulated server.

For home, browse and file, the times are the latencies in Table 3 with 3 clients. Search takes 1.5 s
and select 1 s. With these two values, the simulated latencies are near the published latencies.
"""

_BUSY_RATIO: float = published()["lifo_pri"]["derived"]["busy_share"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A combination of settings, which is run with and without the sentry."""

    per_set: int
    patience_max_s: float
    profile: Profile = "real"

    @property
    def title(self) -> str:
        """Return the cell's settings as text."""
        text = f"{self.per_set} clients per set, patience {self.patience_max_s:g} s"
        return text if self.profile == "real" else f"{text}, page profile {self.profile}"

    @property
    def short(self) -> str:
        """Return the cell's label for a bar of a chart and for the first column of a table."""
        text = f"{self.per_set}, {self.patience_max_s:g} s"
        return text if self.profile == "real" else f"{text}, {self.profile}"


HEAVIEST = Cell(9, 7.5)
PAPER_PROFILE = Cell(PAPER_PROFILE_PER_SET, 7.5, "paper")


@dataclass(frozen=True, slots=True)
class Scale:
    """The length of the runs, the cells, and the repetitions of each cell."""

    duration_s: float
    warm_up_s: float
    patiences_s: tuple[float, ...]
    per_sets: tuple[int, ...]
    repetitions: int
    sessions: int
    """The number of sessions in the case with LIFO-Pri's customers, which is always simulated."""


_PATIENCES_S = (7.5, 10.0, 15.0)
_PER_SETS = (9, 6, 3)

SCALES: dict[Engine, dict[bool, Scale]] = {
    "simulated": {
        False: Scale(RUN_S, 60.0, _PATIENCES_S, _PER_SETS, 20, 2400),
        True: Scale(RUN_S, 60.0, _PATIENCES_S, _PER_SETS, 8, 1200),
    },
    "live": {
        False: Scale(RUN_S, 60.0, _PATIENCES_S, _PER_SETS, 3, 2400),
        # 24 runs take 12 real seconds each, and the catalogue grows for some minutes. Together,
        # this is less than ten minutes.
        True: Scale(120.0, 20.0, (7.5, 15.0), (9, 3), 3, 1200),
    },
}


@dataclass(frozen=True, slots=True)
class Cases(PaperCases[Scale]):
    """The paper's cases at a scale, on an engine."""

    def by_patience(self) -> list[Cell]:
        """Return the cells of Tables 1 and 2."""
        return [Cell(HEAVIEST.per_set, each) for each in self.scale.patiences_s]

    def by_clients(self) -> list[Cell]:
        """Return the cells of Tables 3 and 4, in descending order of the number of clients."""
        return [Cell(each, HEAVIEST.patience_max_s) for each in self.scale.per_sets]

    def cells(self) -> list[Cell]:
        """Return each cell once. The cell with page profile `paper` is last."""
        return list(dict.fromkeys([*self.by_patience(), *self.by_clients(), PAPER_PROFILE]))

    def run(self, cell: Cell, mode: str) -> Case[ShopRun]:
        """Return the case of a cell without the sentry (X) or with it (S)."""
        is_live = self.engine == "live"
        run = ShopRun(
            PolicyChoice(name="sq"),
            _appliance(cell.profile) if is_live else _server(cell.profile),
            ClientModel(
                per_set=cell.per_set,
                patience_max_s=cell.patience_max_s,
                think_time_mean_s=THINK_TIME_MEAN_S,
            ),
            capacity_rps=None if is_live else _capacity_rps(cell.profile),
            rho=None,
            abandonment=MODES[mode],
            duration_s=self.scale.duration_s,
            warm_up_s=self.scale.warm_up_s,
        )
        return Case(run, CLIENT_METRICS)

    def shoppers(self, scheme: str, abandonment: Abandonment) -> Case[ShopRun]:
        """Return the case of LIFO-Pri's shop and customers at ρ = 2. It is simulated even if the
        other cases run live."""
        run = ShopRun(
            PolicyChoice(name=scheme),
            SharedCpus(busy_ratio=_BUSY_RATIO),
            capacity_rps=published()["lifo_pri"]["capacity_rps"],
            rho=2.0,
            abandonment=abandonment,
            sessions=self.scale.sessions,
        )
        return Case(run, PAGE_METRICS)


def _appliance(profile: Profile) -> ApplianceServer:
    if profile == "real":
        return ApplianceServer("real", CATALOGUE_BOOKS, "shop", TIME_SCALE)
    return ApplianceServer(profile, time_scale=TIME_SCALE)


def _server(profile: Profile) -> SharedCpus:
    return SharedCpus(
        mean_execution_s=_execution_s(profile),
        busy_ratio=1.0 if profile == "real" else _BUSY_RATIO,
    )


def _execution_s(profile: Profile) -> dict[str, float]:
    if profile == "real":
        return {**MEAN_EXECUTION_S, **REAL_CPU_S}
    return {**MEAN_EXECUTION_S, "file": FILE_CPU_S / _BUSY_RATIO}


def _capacity_rps(profile: Profile) -> float:
    """Return the approximate capacity of the simulated server, which has one CPU, for the clients'
    mix of requests."""
    execution_s = _execution_s(profile)
    busy = 1.0 if profile == "real" else _BUSY_RATIO
    weights = CONNECTION_SENTRY_MIX
    mean_s = sum(weights[kind] * execution_s[page] for kind, page in KIND_PAGE.items())
    return sum(weights.values()) / (busy * mean_s)
