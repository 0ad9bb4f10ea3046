"""Sessions that are described only by their number of requests, as in SBAC.

Source: Cherkasova, Phaal, *Session-Based Admission Control: A Mechanism for Peak Load Management of
Commercial Web Sites*, section 4 (lengths "exponentially distributed") and Table 1 (two classes of
sessions at a real shop). The paper does not define how an exponential number becomes a whole number
of requests, so the module offers two ways (`LengthKind`).
"""

import math
from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, cycle, islice
from typing import Any, Literal, NamedTuple, get_args

from loadgen.workload.chain import FIRST_PAGE
from loadgen.workload.draws import LONGEST_WALK, exponential
from loadgen.workload.refusals import SessionModelError

LengthKind = Literal["geometric", "exponential"]

_SHARES_TOLERANCE = 1e-9

_LONGEST = (FIRST_PAGE, *islice(cycle(("Br-2", "Br-4")), LONGEST_WALK - 1))
"""The longest walk without a purchase; each page is linked from the page before it."""


class LengthClass(NamedTuple):
    """A class of sessions, with its share of all sessions and its mean number of requests."""

    name: str
    share: float
    mean: float


SBAC_TABLE_1 = (LengthClass("sales", 0.183, 73.6), LengthClass("non-sales", 0.817, 28.2))
"""SBAC's two classes of sessions, with and without a purchase: their shares and mean lengths."""


@dataclass(frozen=True, slots=True)
class SessionLengths:
    """The distribution of the number of requests in a session: one mean for all, or a mixture of
    classes.

    `geometric`: P(L = n) = (1 − 1/m)^(n−1) / m, mean m exactly. `exponential`: L = max(1, round(X))
    with X exponential of mean m. The mean of L is then 1 + e^(−1.5/m) / (1 − e^(−1/m)), which is
    slightly above m.

    A length is at most `LONGEST_WALK` (4096). Without this limit, a length would exceed it with a
    probability of about e^(−4096/m).

    Raises `SessionModelError`, which names the field, for:

    - an unknown kind,
    - both or neither of `mean` and `mixture`,
    - shares that do not add up to 1, and names that occur twice,
    - means out of range: 1 to 4096 requests for `geometric`, above 0 to 4096 for `exponential`.
    """

    kind: LengthKind = "geometric"
    mean: float | None = None
    """The mean number of requests per session, before rounding."""
    mixture: tuple[LengthClass, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in get_args(LengthKind):
            raise SessionModelError(
                "kind", f"{self.kind!r} is unknown; give geometric or exponential"
            )
        if self.mean is not None:
            if self.mixture:
                raise SessionModelError("mixture", "give either a mean or a mixture, not both")
            self._require_mean("mean", self.mean)
        elif not self.mixture:
            raise SessionModelError("mean", "is missing; give a mean or a mixture")
        for entry in self.mixture:
            self._require_mean(f"mixture.{entry.name}.mean", entry.mean)
            if not 0 < entry.share <= 1:
                raise SessionModelError(
                    f"mixture.{entry.name}.share", f"{entry.share}: give more than 0, at most 1"
                )
        names = [entry.name for entry in self.mixture]
        if len(set(names)) < len(names):
            raise SessionModelError("mixture", f"a name occurs twice: {', '.join(names)}")
        total = math.fsum(entry.share for entry in self.mixture)
        if self.mixture and abs(total - 1) > _SHARES_TOLERANCE:
            raise SessionModelError("mixture", f"shares add up to {total:g}; make them 1")

    def classes(self) -> tuple[LengthClass, ...]:
        """Return the mixture or, without one, a single class of all sessions."""
        if self.mean is not None:
            return (LengthClass("all", 1.0, self.mean),)
        return self.mixture

    def at_least(self, length: int) -> float:
        """Return the probability that a session has at least `length` requests, for `length` up to
        `LONGEST_WALK`.
        """
        if length <= 1:
            return 1.0
        if self.kind == "geometric":
            return math.fsum(c.share * (1 - 1 / c.mean) ** (length - 1) for c in self.classes())
        return math.fsum(c.share * math.exp((0.5 - length) / c.mean) for c in self.classes())

    def visits(self) -> dict[str, float]:
        """Return the expected requests per session for each page type, if all succeed."""
        return dict(_visits(self))

    def parameters(self) -> dict[str, object]:
        """Return all parameters by name, ready for JSON, with either `mean` or `mixture`."""
        if self.mean is not None:
            return {"kind": self.kind, "mean": self.mean}
        return {"kind": self.kind, "mixture": [entry._asdict() for entry in self.mixture]}

    @classmethod
    def of_parameters(cls, given: Mapping[str, Any]) -> "SessionLengths":
        mixture = tuple(LengthClass(**part) for part in given.get("mixture", ()))
        return cls(given["kind"], given.get("mean"), mixture)

    def _require_mean(self, field: str, mean: float) -> None:
        lowest_fits = mean >= 1 if self.kind == "geometric" else mean > 0
        if not (lowest_fits and mean <= LONGEST_WALK):
            low = "1" if self.kind == "geometric" else "above 0"
            raise SessionModelError(field, f"{mean}: give {low} to {LONGEST_WALK} requests")


class LengthLaw:
    """The class and the length of a session, as functions of random numbers in [0, 1)."""

    __slots__ = ("_offset", "_scales", "_uppers")

    def __init__(self, lengths: SessionLengths) -> None:
        classes = lengths.classes()
        self._uppers = list(accumulate(entry.share for entry in classes[:-1]))
        # Both kinds are based on an exponential X: a geometric length is 1 + floor(X), where the
        # mean of X makes e^(−1/mean of X) = 1 − 1/m.
        if lengths.kind == "geometric":
            self._offset = 1.0
            self._scales = [geometric_scale(entry.mean) for entry in classes]
        else:
            self._offset = 0.5
            self._scales = [entry.mean for entry in classes]

    def kind_at(self, place: float) -> int:
        """Return the class at `place`, a number in [0, 1), as an index in the mixture."""
        return bisect(self._uppers, place)

    def length_at(self, kind: int, place: float) -> int:
        """Return the length at `place`, a number in [0, 1), in the distribution of class `kind`."""
        length = int(exponential(place, self._scales[kind]) + self._offset)
        return min(length or 1, LONGEST_WALK)


def geometric_scale(mean: float) -> float:
    """Return the mean of the exponential X for which 1 + floor(X) is geometric with mean `mean` (at
    least 1).
    """
    return 0.0 if mean == 1 else -1 / math.log1p(-1 / mean)


def walk_of(length: int) -> tuple[str, ...]:
    """Return a walk of `length` pages: Br-1, then alternately Br-2 and Br-4."""
    return _LONGEST[:length]


@lru_cache(maxsize=256)  # thousands of terms
def _visits(lengths: SessionLengths) -> Mapping[str, float]:
    reached = [lengths.at_least(step + 1) for step in range(LONGEST_WALK)]
    return {
        FIRST_PAGE: reached[0],
        _LONGEST[1]: math.fsum(reached[1::2]),
        _LONGEST[2]: math.fsum(reached[2::2]),
    }
