"""Draws the banners of one page: none twice, none beside one it must not stand beside.

Owns: the page's consistency. Must not know: how candidates were found, who counts deliveries.
Source: ad_server.txt, section IV ("not placing repeated or paradoxal banners in the same page").
"""

import random
from collections.abc import Callable

from shop.ads import roulette
from shop.ads.inventory import Inventory, Rows
from shop.ads.roulette import Weights


def place(
    inventory: Inventory,
    candidates: Rows,
    weights: Weights,
    slots: int,
    rng: random.Random,
    take: Callable[[int], bool],
) -> list[int]:
    """At most `slots` rows for one page, drawn by their weights from those still compatible.

    `weights` has the shape of `candidates` and is used up. `take` books an impression of a row
    and answers False if there is none left after all, for other pages are drawn at the same time.
    Fewer rows than slots: no further candidate goes with those that were drawn.
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
    """If all of its advertiser's banners are refused, take them all off the wheel at once."""
    advertiser = int(inventory.advertiser[row])
    if any(advertiser in inventory.not_beside_advertisers.get(other, ()) for other in placed):
        weights[inventory.advertiser[candidates] == advertiser] = 0
