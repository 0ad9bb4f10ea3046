"""The roulette: a banner's space on the wheel is what its contract still lacks.

Owns: the weights' cumulative array and the draw. Must not know: what the weights stand for.
Source: ad_server.txt, section IV.A, Tables I and II.
"""

import random

import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.int64]


def cumulative(weights: Weights) -> Weights:
    """The array of weights: each entry is the sum of all up to it. Weights are 0 or more."""
    return np.cumsum(weights)


def position(wheel: Weights, number: int) -> int:
    """Where on the wheel of cumulative weights `number`, from 0 to the last entry less 1, lies."""
    return int(np.searchsorted(wheel, number, side="right"))


def draw(wheel: Weights, rng: random.Random) -> int | None:
    """A position, as likely as its weight; None if all weights are 0."""
    total = int(wheel[-1]) if len(wheel) else 0
    return position(wheel, rng.randrange(total)) if total > 0 else None
