"""The queries that read contracted banners from the database into memory."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from shop.ads import inventory
from shop.ads.artwork import wording
from shop.ads.delivery.ledger import Totals
from shop.ads.inventory import NUMBER_OF, Banner, Inventory

_BANNERS = """
    SELECT ads_banner.id, advertiser_id, size, impressions,
           extract(epoch FROM starts)::float8, extract(epoch FROM ends)::float8, delivered,
           headline, text, name
    FROM ads_contract
    JOIN ads_banner ON ads_banner.id = banner_id
    JOIN ads_advertiser ON ads_advertiser.id = advertiser_id
    JOIN ads_delivery ON ads_delivery.banner_id = ads_banner.id
    WHERE ads_contract.revision > %s
    ORDER BY ads_banner.id
"""
_SLOTS = """
    SELECT ads_page.id, ads_publisher.name, ads_page.name, size, count(*)
    FROM ads_slot JOIN ads_page ON ads_page.id = page_id
    JOIN ads_publisher ON ads_publisher.id = publisher_id
    GROUP BY ads_page.id, ads_publisher.name, ads_page.name, size
"""


class Page(NamedTuple):
    """A publisher's page; `slots` maps the name of a size to the number of slots of this size."""

    id: int
    slots: Mapping[str, int]


class Names(NamedTuple):
    """The names that requests may use: concepts, and pairs of a publisher and a page."""

    concepts: Mapping[str, int]
    pages: Mapping[tuple[str, str], Page]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The state of the database at one revision."""

    inventory: Inventory
    delivered: Totals
    names: Names
    revision: int


def everything() -> Loaded:
    """Return the complete state of the database; the caller's transaction must have the isolation
    level REPEATABLE READ.
    """
    at = revision()
    rows = _rows(_BANNERS, [-1])
    columns = list(zip(*rows, strict=True)) or [()] * 10
    id = np.array(columns[0], np.int64)
    size_number = np.vectorize(NUMBER_OF.__getitem__, otypes=[np.int64])
    return Loaded(
        inventory=inventory.of_columns(
            id=id,
            advertiser=np.array(columns[1], np.int64),
            size=size_number(np.array(columns[2], object)),
            concepts=_concepts(id),
            contracted=np.array(columns[3], np.int64),
            starts_s=np.array(columns[4], np.float64),
            ends_s=np.array(columns[5], np.float64),
            not_beside_banners=_by_row(id, _links("not_beside_banners")),
            not_beside_advertisers=_by_row(id, _links("not_beside_advertisers")),
            alt=[wording(*words) for words in zip(*columns[7:], strict=True)],
        ),
        delivered=np.array(columns[6], np.float64),
        names=names(),
        revision=at,
    )


def changed_since(revision: int) -> list[Banner]:
    """Return the banners that have changed, or whose contract has changed, after this revision."""
    rows = _rows(_BANNERS, [revision])
    if not rows:
        return []
    ids = [row[0] for row in rows]
    concepts = _links("concepts", ids)
    banners = _links("not_beside_banners", ids)
    advertisers = _links("not_beside_advertisers", ids)
    return [
        Banner(
            id=id,
            advertiser=advertiser,
            size=NUMBER_OF[size],
            concepts=tuple(sorted(concepts[id])[: inventory.MOST_CONCEPTS]),
            contracted=contracted,
            starts_s=starts_s,
            ends_s=ends_s,
            not_beside_banners=frozenset(banners[id]),
            not_beside_advertisers=frozenset(advertisers[id]),
            alt=wording(*words),
        )
        for id, advertiser, size, contracted, starts_s, ends_s, _, *words in rows
    ]


def totals_since(revision: int) -> dict[int, int]:
    """Return the delivered impressions, by banner id, of the banners with reports after this
    revision.
    """
    return dict(
        _rows("SELECT banner_id, delivered FROM ads_delivery WHERE revision > %s", [revision])
    )


def totals_of(banners: list[int]) -> dict[int, int]:
    """Return the delivered impressions of these banners, by banner id."""
    return dict(
        _rows("SELECT banner_id, delivered FROM ads_delivery WHERE banner_id = ANY(%s)", [banners])
    )


def revision() -> int:
    return int(_rows("SELECT revision FROM ads_state", [])[0][0])


def names() -> Names:
    """Return all names that requests may use now."""
    slots: dict[tuple[int, str, str], dict[str, int]] = defaultdict(dict)
    for id, publisher, page, size, number in _rows(_SLOTS, []):
        slots[id, publisher, page][size] = number
    return Names(
        concepts=dict(_rows("SELECT word, id FROM ads_concept", [])),
        pages={
            (publisher, page): Page(id, found) for (id, publisher, page), found in slots.items()
        },
    )


def _rows(sql: str, parameters: list[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return list(cursor.fetchall())


# By field: its table, the columns of the banner and of the linked object.
_LINKS = {
    "concepts": ("ads_banner_concepts", "banner_id", "concept_id"),
    "not_beside_banners": ("ads_banner_not_beside_banners", "from_banner_id", "to_banner_id"),
    "not_beside_advertisers": (
        "ads_banner_not_beside_advertisers",
        "banner_id",
        "advertiser_id",
    ),
}


def _links(field: str, of: list[int] | None = None) -> dict[int, set[int]]:
    table, banner, other = _LINKS[field]
    where, parameters = (f"WHERE {banner} = ANY(%s)", [of]) if of is not None else ("", [])
    links: dict[int, set[int]] = defaultdict(set)
    for one, linked in _rows(f"SELECT {banner}, {other} FROM {table} {where}", parameters):
        links[one].add(linked)
    return links


def _by_row(id: inventory.Column, links: dict[int, set[int]]) -> dict[int, frozenset[int]]:
    named = np.array(sorted(links), np.int64)
    if not len(id) or not len(named):
        return {}
    rows = np.searchsorted(id, named)
    return {
        row: frozenset(links[banner])
        for row, banner in zip(rows.tolist(), named.tolist(), strict=True)
        if row < len(id) and id[row] == banner
    }


def _concepts(id: inventory.Column) -> inventory.Column:
    """Return the inventory's column of concepts for the banners in `id`, which must be in ascending
    order.
    """
    links = np.array(
        _rows(
            "SELECT banner_id, concept_id FROM ads_banner_concepts "
            "WHERE banner_id IN (SELECT banner_id FROM ads_contract) "
            "ORDER BY banner_id, concept_id",
            [],
        ),
        np.int64,
    ).reshape(-1, 2)
    concepts = np.full((inventory.MOST_CONCEPTS, len(id)), inventory.NO_CONCEPT, np.int64)
    row = np.searchsorted(id, links[:, 0])
    # A concept's place is its distance from its banner's first concept.
    place = np.arange(len(links)) - np.searchsorted(links[:, 0], links[:, 0], side="left")
    kept = place < inventory.MOST_CONCEPTS
    concepts[place[kept], row[kept]] = links[kept, 1]
    return concepts
