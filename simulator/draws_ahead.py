"""The work of many requests drawn at once.

Owns: `loadgen.draws.uniform` for arrays, equal to it in every bit, and the server's draws of a
block of sessions. Must not know: what a draw becomes.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from loadgen.draws import address, uniform

_STEP = address(0, 1, 0)  # from one step of a session to the next


class WorkDraws:
    """How much work each attempt is, as a place in [0, 1) of the distribution of its page.

    A stream of its own, addressed by session, step and attempt: an attempt is the same work under
    every policy. The first attempts of sessions are drawn by numpy, many sessions at a time, at a
    tenth of the cost; whoever is dropped on the way leaves some unused. Retries, and all that
    clients ask for, are drawn one by one. `addressed` gives a session, step and attempt its place.
    """

    def __init__(self, key: int, addressed: Callable[[int, int, int], int] = address) -> None:
        self._key = key
        self._addressed = addressed

    def first_attempts(self, session: int, lengths: Sequence[int]) -> list[Sequence[float]]:
        """The draws of sessions `session`, `session` + 1, … with so many steps each."""
        firsts = [address(session + i, 0, 1) for i in range(len(lengths))]
        ends = np.cumsum(lengths)
        steps = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        positions = np.repeat(np.array(firsts, np.uint64), lengths)
        positions += steps.astype(np.uint64) * np.uint64(_STEP)
        draws = array("d", uniforms(self._key, positions).tobytes())
        begins = [0, *ends.tolist()]
        return [draws[begin:end] for begin, end in pairwise(begins)]

    def of(self, session: int, step: int, attempt: int) -> float:
        """The draw of one attempt."""
        return uniform(self._key, self._addressed(session, step, attempt))


def uniforms(key: int, positions: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """The numbers at `positions` of the stream `key`: SplitMix64 modulo 2^64, as in `uniform`."""
    z = np.uint64(key) + positions * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    return z.astype(np.float64) * 2.0**-53
