"""The file `live-shop.json`, which describes one of several simultaneous live shops to the console.

The file is in the folder of a run only while customers send requests.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from gateway.policies.interface import FATES, PAGES
from lab.errors import ExperimentError
from lab.files import documents
from lab.files.run_folder import RunFolder
from runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class LiveShop:
    """A live shop: the ports of its gateway and controller, and its counts before the run."""

    host: str
    gateway_port: int
    gateway_admin_port: int
    shop_controller_port: int
    came_at: float
    """The Unix time at which the customers start, at all shops."""
    time_scale: float
    before: Mapping[str, int]
    """The counts before the run: the number of requests with each fate (`arrived`, …), summed over
    all pages, and the number of `confirms`.
    """

    @classmethod
    def of(
        cls, lab: Settings, counts: Mapping[str, Any], *, came_at: float, time_scale: float
    ) -> Self:
        """Return the description of the live shop with the settings `lab`; `counts` comes from
        `Appliance.counts`.
        """
        return cls(
            host=lab.gateway_admin_host,
            gateway_port=lab.gateway_port,
            gateway_admin_port=lab.gateway_admin_port,
            shop_controller_port=lab.shop_controller_port,
            came_at=came_at,
            time_scale=time_scale,
            before=counted(counts["gateway"]),
        )

    def settings(self, lab: Settings) -> Settings:
        """Return this machine's settings with the addresses of this shop."""
        return lab.changed(
            gateway_host=self.host,
            shop_host=self.host,
            gateway_port=self.gateway_port,
            gateway_admin_port=self.gateway_admin_port,
            shop_controller_port=self.shop_controller_port,
        )

    def write(self, folder: RunFolder) -> None:
        documents.write_json(folder.live_shop_file, asdict(self))


def counted(counts: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return a gateway's counts of requests by fate, summed over all pages, and its confirms."""
    found = {fate: sum(counts[page][fate] for page in PAGES) for fate in FATES}
    return found | {"confirms": counts["Tr-4"]["answered"]}


def read(folder: RunFolder) -> LiveShop | None:
    """Return the live shop of a run whose customers send requests now; None for any other run."""
    try:
        return documents.read(folder.live_shop_file, LiveShop)
    except ExperimentError:
        return None
