"""The contracted banners in arrays, with one row per banner and one column per property; their
sizes, and the even delivery of their contracts.

A banner keeps its row until the process ends, so counts by row stay valid.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

MOST_CONCEPTS = 6  # of one banner
NO_CONCEPT = -1

Rows = npt.NDArray[np.int64]
Column = npt.NDArray[Any]


class Size(NamedTuple):
    """The width and height of a banner, in CSS pixels."""

    width: int
    height: int


SIZES: dict[str, Size] = {
    "468x60": Size(468, 60),  # full banner
    "234x60": Size(234, 60),  # half banner
    "728x90": Size(728, 90),  # leaderboard
    "300x250": Size(300, 250),  # medium rectangle
    "125x125": Size(125, 125),  # square button
    "160x600": Size(160, 600),  # wide skyscraper
}
"""The advertising industry's standard sizes of banners and slots."""
NUMBER_OF = {name: number for number, name in enumerate(SIZES)}
"""The number that stands for a size in the inventory, by the size's name."""


def due(impressions: int, starts: datetime, ends: datetime, now: datetime) -> int:
    """Return the number of impressions that an even delivery of a contract would have reached at
    `now`, rounded up. `selection.candidates` applies the same rule to all banners.
    """
    elapsed = (now - starts) / (ends - starts)
    return math.ceil(impressions * min(1.0, max(0.0, elapsed)))


@dataclass(frozen=True, slots=True)
class Banner:
    """The properties of a contracted banner; times are seconds since the epoch.

    If a banner excludes another banner or that banner's advertiser, the two banners are never on
    the same page.
    """

    id: int
    advertiser: int
    size: int
    concepts: tuple[int, ...]
    contracted: int
    starts_s: float
    ends_s: float
    not_beside_banners: frozenset[int] = frozenset()
    not_beside_advertisers: frozenset[int] = frozenset()
    alt: str = ""  # its text, for screen readers


@dataclass(frozen=True, eq=False)
class Inventory:
    """The contracted banners at one moment, one per row; a change creates a new inventory.

    Columns have the shape (rows,), except for `concepts` with the shape (MOST_CONCEPTS, rows),
    which is padded with NO_CONCEPT. `rate_per_s` is the number of impressions per second at which a
    contract is delivered evenly over its time.
    """

    id: Column
    advertiser: Column
    size: Column
    concepts: Column
    contracted: Column
    starts_s: Column
    ends_s: Column
    rate_per_s: Column
    alt: Column
    not_beside_banners: Mapping[int, frozenset[int]]  # only rows that exclude others
    not_beside_advertisers: Mapping[int, frozenset[int]]
    row_of: Mapping[int, int]  # by banner id

    def __len__(self) -> int:
        return len(self.id)

    def compatible(self, one: int, other: int) -> bool:
        """Return whether the banners of two rows may be on one page."""
        return not (self._refuses(one, other) or self._refuses(other, one))

    def _refuses(self, one: int, other: int) -> bool:
        return (
            int(self.id[other]) in self.not_beside_banners.get(one, ())
            or int(self.advertiser[other]) in self.not_beside_advertisers.get(one, ())
            or int(self.id[one]) == int(self.id[other])
        )

    def changed(self, banners: Sequence[Banner]) -> "Inventory":
        """Return a copy with these banners in their old rows or, if they are new, at the end."""
        row_of = dict(self.row_of)
        for banner in banners:
            row_of.setdefault(banner.id, len(row_of))
        rows = np.array([row_of[banner.id] for banner in banners], dtype=np.int64)
        new = of(banners)

        def merged(old: Column, column: Column) -> Column:
            grown = np.empty((*old.shape[:-1], len(row_of)), old.dtype)
            grown[..., : len(self)] = old
            grown[..., rows] = column
            return grown

        beside_banners = dict(self.not_beside_banners)
        beside_advertisers = dict(self.not_beside_advertisers)
        for banner, row in zip(banners, rows.tolist(), strict=True):
            beside_banners[row] = banner.not_beside_banners
            beside_advertisers[row] = banner.not_beside_advertisers
        return Inventory(
            **{name: merged(getattr(self, name), getattr(new, name)) for name in _COLUMNS},
            not_beside_banners=beside_banners,
            not_beside_advertisers=beside_advertisers,
            row_of=row_of,
        )


_COLUMNS = tuple(field.name for field in fields(Inventory) if field.type is Column)


def of(banners: Iterable[Banner]) -> Inventory:
    """Return an inventory of these banners, in this order.

    Raises ValueError if a banner has too many concepts, and the errors of `of_columns`.
    """
    banners = list(banners)
    concepts = np.full((MOST_CONCEPTS, len(banners)), NO_CONCEPT, np.int32)
    for row, banner in enumerate(banners):
        if len(banner.concepts) > MOST_CONCEPTS:
            raise ValueError(f"banner {banner.id} has more than {MOST_CONCEPTS} concepts")
        concepts[: len(banner.concepts), row] = banner.concepts
    return of_columns(
        id=np.array([banner.id for banner in banners], np.int64),
        advertiser=np.array([banner.advertiser for banner in banners], np.int64),
        size=np.array([banner.size for banner in banners], np.int64),
        concepts=concepts,
        contracted=np.array([banner.contracted for banner in banners], np.int64),
        starts_s=np.array([banner.starts_s for banner in banners], np.float64),
        ends_s=np.array([banner.ends_s for banner in banners], np.float64),
        not_beside_banners={
            row: banner.not_beside_banners
            for row, banner in enumerate(banners)
            if banner.not_beside_banners
        },
        not_beside_advertisers={
            row: banner.not_beside_advertisers
            for row, banner in enumerate(banners)
            if banner.not_beside_advertisers
        },
        alt=[banner.alt for banner in banners],
    )


def of_columns(
    *,
    id: Column,
    advertiser: Column,
    size: Column,
    concepts: Column,
    contracted: Column,
    starts_s: Column,
    ends_s: Column,
    not_beside_banners: Mapping[int, frozenset[int]],
    not_beside_advertisers: Mapping[int, frozenset[int]],
    alt: Sequence[str] = (),
) -> Inventory:
    """Return an inventory of these columns; without `alt`, the banners have no texts.

    Raises ValueError if a banner occurs twice, or a contract does not end after its start.
    """
    row_of = {banner: row for row, banner in enumerate(id.tolist())}
    if len(row_of) != len(id):
        raise ValueError("a banner occurs more than once")
    if not (ends_s > starts_s).all():
        raise ValueError("a contract does not end after its start")
    texts = np.full(len(id), "", object)
    texts[: len(alt)] = alt
    # Narrow columns, because a search reads all of them, and its speed depends on the memory.
    return Inventory(
        id=id.astype(np.int64),
        advertiser=advertiser.astype(np.int32),
        size=size.astype(np.int16),
        concepts=concepts.astype(np.int32),
        contracted=contracted.astype(np.int64),
        starts_s=starts_s.astype(np.float64),
        ends_s=ends_s.astype(np.float64),
        rate_per_s=contracted / (ends_s - starts_s) if len(id) else np.empty(0),
        alt=texts,
        not_beside_banners=not_beside_banners,
        not_beside_advertisers=not_beside_advertisers,
        row_of=row_of,
    )
