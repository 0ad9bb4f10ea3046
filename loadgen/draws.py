"""Random numbers that are looked up, not drawn in turn.

Owns: the streams of the session model. Must not know: what is drawn.

SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), addressed by position: 0.3 µs a draw, where a
`random.Random` per session costs ten times that. `Random` keys the streams.
"""

import math
from random import Random

LONGEST_WALK = 4096
"""A walk is cut here, the number of steps that have addresses of their own."""

LARGEST_MAX_RETRIES = 200

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_STEP_BITS = 12
_ATTEMPT_BITS = 8


def stream_key(seed: int, concern: str) -> int:
    """The stream that `seed` gives one concern."""
    return Random(f"{seed}/{concern}").getrandbits(64)


def address(session: int, step: int, attempt: int) -> int:
    """A position of its own for each; `step` below `LONGEST_WALK`, `attempt` below 256."""
    return ((session << _STEP_BITS | step) << _ATTEMPT_BITS) | attempt


def uniform(key: int, position: int) -> float:
    """The number at `position` of the stream `key`, uniform in [0, 1)."""
    z = (key + position * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def exponential(place: float, mean: float) -> float:
    """The exponential of mean `mean` at `place` in [0, 1) of its distribution."""
    return -math.log1p(-place) * mean
