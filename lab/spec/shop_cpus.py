"""Assign CPUs to several live shops that run at the same time.

Unless the shops are crowded, each shop has as many CPUs as the appliance's shop, and shares them
with no other process. At least one CPU remains for gateways, database, load generators and console.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from common import cpus
from lab.errors import SpecError
from lab.spec.sections import FEWEST_AT_ONCE, MOST_AT_ONCE, AtOnce
from runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class ShopCpus:
    """The CPUs of each shop (`shops`) and the CPUs of all other processes (`rest`).

    If `crowded` is true, the shops share CPUs, and the measured values are meaningless.
    """

    shops: tuple[tuple[int, ...], ...]
    rest: tuple[int, ...]
    crowded: bool = False

    def facts(self) -> Mapping[str, Any]:
        """Return the assignment of CPUs in the form of machine.json."""
        return {
            "shops": [list(shop) for shop in self.shops],
            "rest": list(self.rest),
            "crowded": self.crowded,
        }


def plan(lab: Settings, shops: int, at_once: AtOnce = True) -> ShopCpus:
    """Return the assignment of CPUs to this number of shops.

    The first shop gets the CPUs of the appliance's shop, and the other shops get the CPUs with the
    highest numbers. With too few CPUs, all shops share the appliance's CPUs if `at_once` is
    `crowded`; otherwise, the function raises SpecError.
    """
    own = lab.shop_cpus
    left = sorted(set(lab.other_cpus) - set(own))
    needed = len(own) * (shops - 1)
    if len(left) > needed:
        cut = len(left) - needed
        more = [
            tuple(left[at : at + len(own)])
            for at in range(len(left) - len(own), cut - 1, -len(own))
        ]
        return ShopCpus((own, *more), tuple(left[:cut]))
    if at_once == "crowded":
        return ShopCpus((own,) * shops, lab.other_cpus, crowded=True)
    raise SpecError(
        "at_once",
        f"{shops} shops of {_counted(len(own))} each, and 1 CPU for everything else, need "
        f"{_counted(needed + len(own) + 1)}; this machine has {len(left) + len(own)} "
        f"({cpus.written({*left, *own})}). Without at_once (or with --in-turn), the "
        "experiment runs one policy after the other with the same customers. These runs "
        "can also be shown as a race. With at_once = 'crowded' (or --crowded), the shops "
        "share CPUs, so the measured values are meaningless",
    )


def most_shops(lab: Settings) -> int:
    """Return the number of simultaneous shops for which this machine has enough CPUs, up to
    MOST_AT_ONCE; 0 if it has too few for FEWEST_AT_ONCE.
    """
    left = set(lab.other_cpus) - set(lab.shop_cpus)
    fitting = min(MOST_AT_ONCE, 1 + (len(left) - 1) // len(lab.shop_cpus)) if left else 0
    return fitting if fitting >= FEWEST_AT_ONCE else 0


def _counted(number: int) -> str:
    return "1 CPU" if number == 1 else f"{number} CPUs"
