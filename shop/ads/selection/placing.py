"""The draw of a page's banners, without repetitions and without pairs that exclude each other.

The paper requires "not placing repeated or paradoxal banners in the same page" (Diniz et al.,
section IV).
"""

import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from shop.ads.inventory import Inventory, Rows

Weights = npt.NDArray[np.int64]


def cumulative(weights: Weights) -> Weights:
    """Return the cumulative sums of the weights, which must be 0 or more."""
    return np.cumsum(weights)


def position(wheel: Weights, number: int) -> int:
    """Return the first position on the wheel at which the cumulative sum exceeds `number`, which
    must be at least 0 and below the last sum.
    """
    return int(np.searchsorted(wheel, number, side="right"))


def draw(wheel: Weights, rng: random.Random) -> int | None:
    """Return a random position, with probabilities in proportion to the weights; None if all
    weights are 0.
    """
    total = int(wheel[-1]) if len(wheel) else 0
    return position(wheel, rng.randrange(total)) if total > 0 else None


def place(
    inventory: Inventory,
    candidates: Rows,
    weights: Weights,
    slots: int,
    rng: random.Random,
    take: Callable[[int], bool],
) -> list[int]:
    """Draw at most `slots` rows for one page by weight, each compatible with the rows drawn before.

    `weights` has the shape of `candidates`, and the function changes it. `take` counts an
    impression of a row, or returns False if no impression is left. If no further candidate is
    possible, the function returns fewer rows than `slots`.
    """
    placed: list[int] = []
    while len(placed) < slots:
        drawn = draw(cumulative(weights), rng)
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
    """Set the weights of all banners of the row's advertiser to 0, if one of the placed rows
    excludes this advertiser.
    """
    advertiser = int(inventory.advertiser[row])
    if any(advertiser in inventory.not_beside_advertisers.get(other, ()) for other in placed):
        weights[inventory.advertiser[candidates] == advertiser] = 0
