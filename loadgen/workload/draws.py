"""The random numbers of the session model. Each number has an address, and can be calculated
without the numbers before it.

The module uses SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), because a `random.Random` per session
would be ten times as slow.
"""

import math
from collections.abc import Iterator
from itertools import count
from random import Random

LONGEST_WALK = 4096
"""The length of the longest walk; every step has a separate address."""

LARGEST_MAX_RETRIES = 200

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_STEP_BITS = 12
_ATTEMPT_BITS = 8


def stream_key(seed: int, concern: str) -> int:
    """Return the key of the random stream for a kind of draw, such as arrivals, and a `seed`."""
    return Random(f"{seed}/{concern}").getrandbits(64)


def address(session: int, step: int, attempt: int) -> int:
    """Return a different position for each draw; `step` must be below `LONGEST_WALK`, and `attempt`
    below 256.
    """
    return ((session << _STEP_BITS | step) << _ATTEMPT_BITS) | attempt


def uniform(key: int, position: int) -> float:
    """Return the number at `position` of the stream `key`, uniform in [0, 1)."""
    z = (key + position * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def stream(key: int) -> Iterator[float]:
    """Return all numbers of the stream `key`, from position 0."""
    return (uniform(key, position) for position in count())


def exponential(place: float, mean: float) -> float:
    """Return the quantile at `place`, in [0, 1), of the exponential distribution with this mean."""
    return -math.log1p(-place) * mean
