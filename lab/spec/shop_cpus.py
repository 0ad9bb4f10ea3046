"""The CPUs of several live shops that run at the same time.

Each shop has as many separate CPUs as the appliance's shop. At least one CPU is left for everything
else: gateways, database, load generators, console.
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
    """The CPUs of each shop (`shops`) and the CPUs of everything else (`rest`).

    `crowded`: the shops share CPUs. Their numbers are then worthless.
    """

    shops: tuple[tuple[int, ...], ...]
    rest: tuple[int, ...]
    crowded: bool = False

    def facts(self) -> Mapping[str, Any]:
        """Return the facts for machine.json."""
        return {
            "shops": [list(shop) for shop in self.shops],
            "rest": list(self.rest),
            "crowded": self.crowded,
        }


def plan(lab: Settings, shops: int, at_once: AtOnce = True) -> ShopCpus:
    """Return the CPUs of N shops; raises SpecError, with a way out, if there are too few.

    The first shop has the CPUs of the appliance's shop. The other shops have the CPUs with the
    highest numbers among the rest.
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
        f"at_once: {shops} shops of {_counted(len(own))} each and one for everything else need "
        f"{_counted(needed + len(own) + 1)}; here are {len(left) + len(own)} "
        f"({cpus.written({*left, *own})}). Leave at_once out (or --in-turn): the same comparison, "
        "one run after the other, has the same customers and can be raced from its logs. To see "
        "how it works all the same: at_once = 'crowded' (or --crowded); its figures are worth "
        "nothing"
    )


def most_shops(lab: Settings) -> int:
    """Return the number of shops for which there are CPUs, up to MOST_AT_ONCE, or 0."""
    left = set(lab.other_cpus) - set(lab.shop_cpus)
    fitting = min(MOST_AT_ONCE, 1 + (len(left) - 1) // len(lab.shop_cpus)) if left else 0
    return fitting if fitting >= FEWEST_AT_ONCE else 0


def _counted(number: int) -> str:
    return "1 CPU" if number == 1 else f"{number} CPUs"
