"""The capacity of a server in requests per paper second; ρ and the bound are calculated from it.

`engines.live.capacity` measures the capacity of a live shop, and this module stores it. A stored
capacity becomes invalid if the machine or the code changes, or after KEPT_FOR. The capacity of a
simulated server is calculated from the server's description.
"""

import statistics
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, final

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from lab.errors import ExperimentError
from lab.files.documents import read, write_json
from lab.machine.description import fingerprint
from lab.spec.experiment import Spec
from lab.spec.runs import server_of
from lab.spec.sections import Lengths
from runtime.settings import Settings
from simulator.scenario import server_capacity_rps

CHAIN = "chain"
"""The value of `lengths` if the Markov chain of the LIFO-Pri paper determines the lengths."""
KEPT_FOR = timedelta(hours=24)
"""The time for which a stored capacity is valid. The time is limited, because a machine can become
slower without any visible change.
"""
FEW_CUSTOMERS = 8
"""The number of customers in the last measurement. This is also DOOR's default concurrency limit,
with which the shop can serve more pages per second than with all workers busy.
"""


@final
@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Capacity:
    """A measured or calculated capacity with its conditions."""

    median_rps: float
    measurements_rps: tuple[float, ...]
    page_profile: str
    time_scale: float
    machine: str
    measured_at: str
    lengths: str = CHAIN
    """The customers' session lengths, which determine the mix of pages."""
    origin: Literal["measured", "computed"] = "measured"
    catalogue_books: int | None = None
    """The number of books in the catalogue; None means the number in the shop's settings."""
    database_cpus: str = "other"
    shops_rps: tuple[float, ...] = ()
    """The median for each shop if several shops were measured at once."""
    few_rps: tuple[float, ...] = ()
    """The capacity of each shop with `FEW_CUSTOMERS`; empty if it was not measured."""

    @property
    def best_rps(self) -> float:
        """The capacity for the bound: with all workers busy or with `FEW_CUSTOMERS`, whichever is
        larger.
        """
        if not self.few_rps:
            return self.median_rps
        return max(self.median_rps, statistics.median(self.few_rps))

    def words(self) -> str:
        """Return the capacity and its origin as text."""
        known = (
            f"{self.origin.capitalize()} capacity {self.median_rps:.2f} requests per paper second"
        )
        return f"{known} ({self.measured_at})" if self.origin == "measured" else known


def computed(spec: Spec) -> Capacity:
    """Calculate the capacity of the simulated server of `spec`."""
    rps = server_capacity_rps(spec.customers.as_model(), server_of(spec))
    return Capacity(
        median_rps=rps,
        measurements_rps=(),
        page_profile="files" if spec.has_fifo_server else spec.page_profile,
        time_scale=1.0,
        machine="simulated",
        measured_at="",
        lengths=lengths_words(spec.customers.lengths),
        origin="computed",
    )


def lengths_words(lengths: Lengths | None) -> str:
    return lengths.words() if lengths else CHAIN


def keep(capacity: Capacity, lab: Settings) -> Path:
    """Write a capacity to the appliance's state folder; return the file."""
    path = file_of(lab, capacity, capacity.lengths)
    write_json(path, asdict(capacity))
    return path


def kept(lab: Settings, spec: Spec, *, now: datetime | None = None) -> Capacity | None:
    """Return the stored capacity for the customers and the shop of `spec`; None if no valid
    capacity is stored.

    A capacity is invalid if it was measured on another machine, with other code, or more than
    KEPT_FOR before `now` (by default, the present time).
    """
    try:
        capacity = read(file_of(lab, spec, lengths_words(spec.customers.lengths)), Capacity)
        age = (now or datetime.now(UTC)) - datetime.fromisoformat(capacity.measured_at)
    except (ExperimentError, TypeError, ValueError):  # a damaged file, or a time without its zone
        return None
    return capacity if capacity.machine == fingerprint(lab) and age <= KEPT_FOR else None


def facts_of(capacity: Capacity | None) -> dict[str, object]:
    """Return the content of capacity.json; `None` means a closed loop, which has no capacity."""
    if capacity is None:
        return {"origin": "none", "reason": "a closed loop has no offered load ρ"}
    return asdict(capacity)


def file_of(lab: Settings, shop: Capacity | Spec, lengths: str) -> Path:
    """Return the file that stores the capacity of a shop for customers with these lengths."""
    special = "" if lengths == CHAIN else f"{lengths}-"
    special += "" if shop.catalogue_books is None else f"{shop.catalogue_books}-books-"
    special += "database-beside-shop-" if shop.database_cpus == "shop" else ""
    return lab.state_dir / f"capacity-{shop.page_profile}-{special}{shop.time_scale:g}.json"
