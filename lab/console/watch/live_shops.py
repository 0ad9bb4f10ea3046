"""The part of a frame about several simultaneous live shops."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.policies.interface import PAGES
from lab.engines.live.appliance import Appliance
from lab.engines.live.shop_file import LiveShop, counted
from lab.errors import ExperimentError
from lab.report.drawing.palette import colour_of
from lab.wording import title_in_force
from runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Seen:
    """A live shop under observation. `key` is the folder of its run, and `title` is its policy's
    title."""

    key: str
    title: str
    shop: LiveShop


LiveShopsNow = Callable[[], Sequence[Seen]]
"""A function that returns the live shops in the order of the spec. The function returns no shops if
the runs are not simultaneous."""


class LiveShops:
    """The sampler of the live shops, with one connection to each shop."""

    def __init__(self, lab: Settings, live_shops_now: LiveShopsNow) -> None:
        self._lab = lab
        self._live_shops_now = live_shops_now
        self._shops: dict[str, Appliance] = {}

    def look(self, now: float) -> dict[str, Any]:
        """Return the part of a frame about the live shops at `now` (Unix time); empty if there are
        no live shops.

        `live_shops`: the values of each shop (`live_shop_of`). `live_shops_time_s`: paper seconds
        since the customers began to arrive. `live_shop_totals`: the confirms, completed pages and
        waiting requests of each shop, for charts.
        """
        shops = self._live_shops_now()
        for key in self._shops.keys() - {one.key for one in shops}:
            self._shops.pop(key).close()
        try:
            found = [live_shop_of(one, self._snapshot(one)) for one in shops]
        except ExperimentError:  # one has just ended or died; its run reports it
            return {}
        if not found:
            return {}
        first = shops[0].shop
        return {
            "live_shops": found,
            "live_shops_time_s": max(0.0, (now - first.came_at) * first.time_scale),
            "live_shop_totals": [
                [one["confirms"], one["counts"]["answered"], one["waiting"]] for one in found
            ],
        }

    def _snapshot(self, seen: Seen) -> Mapping[str, Any]:
        shop = self._shops.get(seen.key)
        if shop is None:
            shop = self._shops[seen.key] = Appliance(seen.shop.settings(self._lab))
        return shop.gateway.call("GET", "/snapshot")


def live_shop_of(seen: Seen, snapshot: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a live shop from its gateway's `GET /snapshot`, with the counts since
    the run began."""
    counts = {
        name: number - seen.shop.before[name]
        for name, number in counted(snapshot["counts"]).items()
    }
    load = snapshot.get("load") or {}
    return {
        "key": seen.key,
        "title": seen.title,
        "colour": colour_of(seen.title),
        "policy": title_in_force(snapshot["policy"]),
        "discipline": snapshot["policy"]["snapshot"].get("discipline", ""),
        "waiting": snapshot["waiting"],
        "waiting_by_page": [snapshot["waiting_by_page"][page] for page in PAGES],
        "in_service": snapshot["in_service"],
        "workers": snapshot["workers"],
        "cpu_utilisation_ratio": load.get("cpu_utilisation_ratio"),
        "confirms": counts.pop("confirms"),
        "counts": counts,
    }
