"""The seeded inventory of the server: advertisers, contracts, publishers with slots.

Concepts are the shop's shelves and the words of its books; a banner is about one shelf. When
another inventory replaces this one, contracts that people made stay, with their banners and counts.
Advertisers, concepts, publishers, pages and slots stay, too. If people made contracts before the
first seeding, the server is not seeded.
"""

import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection, transaction

from shop.ads.inventory import MOST_CONCEPTS, SIZES, due
from shop.ads.models import (
    CONCEPT,
    Advertiser,
    Concept,
    Contract,
    Page,
    Publisher,
    Seed,
    Slot,
    next_revision,
)
from shop.catalogue.digest import digest_of
from shop.catalogue.shelves import SHELVES, Shelf

Progress = Callable[[str], None]

SEED = 20000801  # the paper's measurement lasted a month
ADVERTISERS = 400
PUBLISHERS = ("Dog-Ear Weekly", "The Paper Lantern", "Margin Notes", "Second Impression")
WORDS_PER_BANNER = 3
IMPRESSIONS = (2_000, 60_000)
DAYS = (20, 90)
DELIVERED_SHARE = (0.85, 1.0)  # share of the impressions that are due at the seeding
CLICK_RATE = (0.0, 0.02)
REFUSING_SHARE = 0.05
# Slots are expected to show this multiple of the contracted impressions of their shelf and size, so
# that new contracts are accepted.
SPARE = 1.6

_FIRST = (
    "Aurora", "Bluebell", "Copper", "Driftwood", "Ember", "Foxglove", "Granite", "Harbour", "Ivy",
    "Juniper", "Kestrel", "Lantern", "Meadow", "Northwind", "Orchard", "Pebble", "Quill", "Rowan",
    "Saffron", "Thistle",
)  # fmt: skip
_SECOND = (
    "Press", "Books", "Papers", "Bindery", "Travel", "Kitchen", "Gardens", "Audio", "Tea", "Optics",
    "Lamps", "Studios", "Courses", "Maps", "Furniture", "Theatre", "Records", "Coffee", "Museum",
    "Stationers",
)  # fmt: skip
_HEADLINES = (
    "A {word} of one's own", "All about the {word}", "For lovers of {shelf}",
    "More {word}, less noise",
    "New this week: {shelf}", "One more {word}", "The {word} season", "{shelf}, hand-picked",
    "Start with the {word}", "You had us at {word}",
)  # fmt: skip
_TEXTS = (
    "Chosen by people who read them.", "Delivered before the weekend.", "From {price} euros.",
    "Free returns for thirty days.", "Read the first chapter now.",
    "Signed copies while they last.",
    "Two for one until Sunday.",
)  # fmt: skip


def seed(banners: int, progress: Progress) -> bool:
    """Create an inventory of `banners` contracts unless it exists; return whether it
    was created.
    """
    wanted = _fingerprint(banners)
    if Seed.objects.filter(fingerprint=wanted).exists():
        return False
    seeded = Seed.objects.exists()
    if not seeded and Contract.objects.exists():
        return False
    with transaction.atomic():
        revision = next_revision()
        progress(f"Contracting {banners:,} banners")
        with _foreign_keys_checked_last():
            _remove_contracts()
            _Inventory(banners, revision).store()
        Seed.objects.all().delete()
        Seed.objects.create(fingerprint=wanted)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return True


def words(shelf: Shelf) -> list[str]:
    """Return the concepts of a shelf: its slug, and the words that only its books have."""
    plain = {word for word in _words_of(shelf) if re.match(CONCEPT, word)}
    elsewhere = {word for other in SHELVES if other is not shelf for word in _words_of(other)}
    return [shelf.slug, *sorted(plain - elsewhere - {other.slug for other in SHELVES})]


def _words_of(shelf: Shelf) -> set[str]:
    return {word for slot in shelf.words.values() for word in slot}


def _fingerprint(banners: int) -> str:
    vocabulary = [words(shelf) for shelf in SHELVES]
    return digest_of(sys.modules[__name__], values=(banners, vocabulary))


def _remove_contracts() -> None:
    """Remove the seeded contracts and their banners.

    They are the contracts that renew themselves, or that begin at the exact microsecond of their
    acceptance.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            CREATE TEMPORARY TABLE ads_gone ON COMMIT DROP AS
            SELECT banner_id AS id FROM ads_contract WHERE renews OR accepted = starts
            """
        )
        for table, column in (
            ("ads_contract", "banner_id"),
            ("ads_delivery", "banner_id"),
            ("ads_banner_concepts", "banner_id"),
            ("ads_banner_not_beside_banners", "from_banner_id"),
            ("ads_banner_not_beside_banners", "to_banner_id"),
            ("ads_banner_not_beside_advertisers", "banner_id"),
            ("ads_banner", "id"),
        ):
            cursor.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT id FROM ads_gone)")


def _next_id(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT coalesce(max(id), 0) + 1 FROM {table}")
        return int(cursor.fetchone()[0])


@contextmanager
def _foreign_keys_checked_last() -> Iterator[None]:
    """Remove the foreign keys within the block; at its end, all rows are checked together."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid)
            FROM pg_constraint
            WHERE contype = 'f' AND conrelid::regclass::text LIKE 'ads\\_%'
            """
        )
        keys = cursor.fetchall()
        for table, name, _ in keys:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}")
        yield
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table, name, definition in keys:
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")


class _Inventory:
    """The rows of the inventory, drawn with one random number generator."""

    def __init__(self, banners: int, revision: int) -> None:
        self._rng = random.Random(SEED)
        self._revision = revision
        self._banners = banners
        self._now = datetime.now(UTC)
        self._today = self._now.replace(hour=0, minute=0, second=0, microsecond=0)
        self._daily: dict[tuple[str, str], float] = {}  # impressions a day, by shelf and size

    def store(self) -> None:
        vocabulary = sorted({word for shelf in SHELVES for word in words(shelf)})
        Concept.objects.bulk_create(
            (Concept(word=word) for word in vocabulary), ignore_conflicts=True
        )
        concepts = dict(Concept.objects.filter(word__in=vocabulary).values_list("word", "pk"))
        names = [f"{first} {second}" for first in _FIRST for second in _SECOND]
        chosen = self._rng.sample(names, ADVERTISERS)
        Advertiser.objects.bulk_create(
            (Advertiser(name=name) for name in chosen), ignore_conflicts=True
        )
        advertisers = dict(Advertiser.objects.filter(name__in=chosen).values_list("name", "pk"))
        self._contract(concepts, [advertisers[name] for name in chosen])
        self._open_pages(concepts)

    def _contract(self, concepts: dict[str, int], advertisers: list[int]) -> None:
        rng = self._rng
        shelves = [(shelf, words(shelf)[1:]) for shelf in SHELVES]
        weights = [shelf.share for shelf in SHELVES]
        sizes = list(SIZES)
        banners, links, contracts, deliveries, rivals, strangers = [], [], [], [], [], []
        revision = self._revision
        first, first_contract = _next_id("ads_banner"), _next_id("ads_contract")
        for number in range(self._banners):
            id = first + number
            shelf, shelf_words = rng.choices(shelves, weights)[0]
            size = rng.choice(sizes)
            chosen = rng.sample(shelf_words, WORDS_PER_BANNER)
            assert len(chosen) < MOST_CONCEPTS
            headline = rng.choice(_HEADLINES).format(word=chosen[0], shelf=shelf.name)
            text = rng.choice(_TEXTS).format(price=rng.randint(4, 30))
            banners.append(
                (id, rng.choice(advertisers), size, headline[:40], text, f"/browse/{shelf.slug}/")
            )
            links += [(id, concepts[word]) for word in (shelf.slug, *chosen)]
            days = rng.randint(*DAYS)
            starts = self._today - timedelta(days=rng.randrange(days))
            impressions = rng.randint(*IMPRESSIONS)
            ends = starts + timedelta(days=days)
            contracts.append(
                (first_contract + number, id, impressions, starts, ends, starts, True, revision)
            )
            delivered = int(
                rng.uniform(*DELIVERED_SHARE) * due(impressions, starts, ends, self._now)
            )
            clicks = int(rng.uniform(*CLICK_RATE) * delivered)
            deliveries.append((id, delivered, clicks, revision))
            place = (shelf.slug, size)
            self._daily[place] = self._daily.get(place, 0.0) + impressions / days
            if rng.random() < REFUSING_SHARE:
                strangers.append((id, rng.choice(advertisers)))
                other = first + rng.randrange(self._banners)
                if other != id:
                    rivals += [(id, other), (other, id)]
        copy("ads_banner", "id, advertiser_id, size, headline, text, target", banners)
        copy("ads_banner_concepts", "banner_id, concept_id", links)
        copy("ads_banner_not_beside_banners", "from_banner_id, to_banner_id", sorted(set(rivals)))
        copy("ads_banner_not_beside_advertisers", "banner_id, advertiser_id", strangers)
        copy(
            "ads_contract",
            "id, banner_id, impressions, starts, ends, accepted, renews, revision",
            contracts,
        )
        copy("ads_delivery", "banner_id, delivered, clicks, revision", deliveries)
        with connection.cursor() as cursor:
            for table in ("ads_banner", "ads_contract"):
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), %s, false)",
                    [_next_id(table)],
                )

    def _open_pages(self, concepts: dict[str, int]) -> None:
        """Create a page for each publisher and shelf, with a slot of every size and a forecast of
        views.
        """
        links = []
        for name in PUBLISHERS:
            publisher, _ = Publisher.objects.get_or_create(name=name)
            for shelf in SHELVES:
                busiest = max(
                    (self._daily.get((shelf.slug, size), 0.0) for size in SIZES), default=0.0
                )
                page, _ = Page.objects.update_or_create(
                    publisher=publisher,
                    name=shelf.name,
                    defaults={"views_per_day": round(1_000 + SPARE * busiest / len(PUBLISHERS))},
                )
                names = [f"slot {number}" for number in range(1, len(SIZES) + 1)]
                Slot.objects.bulk_create(
                    (
                        Slot(page=page, name=name, size=size)
                        for name, size in zip(names, SIZES, strict=True)
                    ),
                    ignore_conflicts=True,
                )
                slots = Slot.objects.filter(page=page, name__in=names).values_list("pk", flat=True)
                links += [(slot, concepts[word]) for slot in slots for word in words(shelf)]
        Slot.concepts.through.objects.bulk_create(
            (Slot.concepts.through(slot_id=slot, concept_id=concept) for slot, concept in links),
            ignore_conflicts=True,
            batch_size=10_000,
        )


def copy(table: str, columns: str, rows: list[Any]) -> None:
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as to:
        for row in rows:
            to.write_row(row)
