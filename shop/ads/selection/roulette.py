"""The roulette: a banner's weight is its missing impressions (Diniz et al., section IV.A)."""

import random

import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.int64]


def cumulative(weights: Weights) -> Weights:
    """Return the cumulative sums of the weights, which must be 0 or more."""
    return np.cumsum(weights)


def position(wheel: Weights, number: int) -> int:
    """Return the first position at which the cumulative sum exceeds `number` (at least 0)."""
    return int(np.searchsorted(wheel, number, side="right"))


def draw(wheel: Weights, rng: random.Random) -> int | None:
    """Return a random position, in proportion to the weights; None if all are 0."""
    total = int(wheel[-1]) if len(wheel) else 0
    return position(wheel, rng.randrange(total)) if total > 0 else None
