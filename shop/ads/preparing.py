"""The preparation of the ad server, which brings its schema and inventory up to date."""

from collections.abc import Callable

from django.conf import settings
from django.db import transaction

from common.page_types import PAGE_TYPES
from shop.ads import seeding
from shop.ads.models import Page, Publisher, Slot
from shop.page_types import PUBLISHER, SIZES
from shop.stock import tables

Progress = Callable[[str], None]


def prepare(banners: int, progress: Progress) -> None:
    """Migrate the tables, seed `banners` contracts and create the shop's pages, where necessary."""
    tables.migrate(settings.SCHEMA, "Migrating the ad server's tables", progress)
    if not seeding.seed(banners, progress):
        progress("The inventory is complete")
    open_pages()


def open_pages() -> None:
    """Create the missing pages; existing pages do not change, because people may have edited
    them.
    """
    with transaction.atomic():
        publisher, _ = Publisher.objects.get_or_create(name=PUBLISHER)
        for page_type in PAGE_TYPES:
            page, made = Page.objects.get_or_create(
                publisher=publisher, name=page_type.name, defaults={"views_per_day": 0}
            )
            if made:
                for device, size in SIZES.items():
                    Slot.objects.create(page=page, name=device, size=size)
