"""Random numbers, drawn many at a time.

They are exactly the numbers of `loadgen.workload.draws.uniform`. Without numpy, as in a browser,
they are drawn one at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, pairwise

from loadgen.workload.draws import address, stream, uniform

try:
    import numpy as np
    import numpy.typing as npt
except ModuleNotFoundError:
    HAS_NUMPY = False
else:
    HAS_NUMPY = True

_SESSION = address(1, 0, 0)  # from one session to the next
_STEP = address(0, 1, 0)  # from one step of a session to the next

DRAWN_AT_ONCE = 256


class WorkDraws:
    """Random draws for the work of each attempt. A draw is a number in [0, 1), the quantile of the
    work in the page's distribution.

    The draws come from a separate random stream, addressed by session, step and attempt. An attempt
    therefore needs the same work under every policy. `addressed` maps a session, step and attempt
    to a position in the stream.
    """

    def __init__(self, key: int, addressed: Callable[[int, int, int], int] = address) -> None:
        self._key = key
        self._addressed = addressed

    def first_attempts(self, session: int, lengths: Sequence[int]) -> list[Sequence[float]]:
        """Return the draws for the first attempts of sessions `session`, `session` + 1, …"""
        if not HAS_NUMPY:
            return [
                [uniform(self._key, address(session + i, step, 1)) for step in range(length)]
                for i, length in enumerate(lengths)
            ]
        numbers = np.arange(session, session + len(lengths), dtype=np.uint64)
        firsts = numbers * np.uint64(_SESSION) + np.uint64(address(0, 0, 1))
        ends = np.cumsum(lengths)
        steps = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        positions = np.repeat(firsts, lengths)
        positions += steps.astype(np.uint64) * np.uint64(_STEP)
        draws = uniforms(self._key, positions).tolist()
        begins = [0, *ends.tolist()]
        return [draws[begin:end] for begin, end in pairwise(begins)]

    def of(self, session: int, step: int, attempt: int) -> float:
        return uniform(self._key, self._addressed(session, step, attempt))


def stream_ahead(key: int) -> Iterator[float]:
    """Return all numbers of the stream `key` from position 0."""
    if not HAS_NUMPY:
        return stream(key)
    blocks = count(0, DRAWN_AT_ONCE)
    return chain.from_iterable(
        uniforms(key, np.arange(first, first + DRAWN_AT_ONCE, dtype=np.uint64)).tolist()
        for first in blocks
    )


def uniforms(key: int, positions: "npt.NDArray[np.uint64]") -> "npt.NDArray[np.float64]":
    """Return the numbers at `positions` of the stream `key`, by SplitMix64 as in `uniform`."""
    z = np.uint64(key) + positions * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    return z.astype(np.float64) * 2.0**-53
