"""The draw of a page's banners, none "repeated or paradoxal" (Diniz et al., section IV)."""

import random
from collections.abc import Callable

from shop.ads.inventory import Inventory, Rows
from shop.ads.selection import roulette
from shop.ads.selection.roulette import Weights


def place(
    inventory: Inventory,
    candidates: Rows,
    weights: Weights,
    slots: int,
    rng: random.Random,
    take: Callable[[int], bool],
) -> list[int]:
    """Draw at most `slots` rows for one page by weight, each compatible with the rows before.

    The function changes `weights`. `take` counts an impression of a row, or returns False.
    """
    placed: list[int] = []
    while len(placed) < slots:
        drawn = roulette.draw(roulette.cumulative(weights), rng)
        if drawn is None:
            break
        row = int(candidates[drawn])
        weights[drawn] = 0
        refusing = [other for other in placed if not inventory.compatible(row, other)]
        if refusing:
            _remove_kin(inventory, candidates, weights, row, refusing)
        elif take(row):
            placed.append(row)
    return placed


def _remove_kin(
    inventory: Inventory, candidates: Rows, weights: Weights, row: int, placed: list[int]
) -> None:
    """Set the weights of the advertiser's banners to 0, if a placed row excludes it."""
    advertiser = int(inventory.advertiser[row])
    if any(advertiser in inventory.not_beside_advertisers.get(other, ()) for other in placed):
        weights[inventory.advertiser[candidates] == advertiser] = 0
