"""The preparation of the ad server, which brings its schema and inventory up to date."""

from collections.abc import Callable

from django.conf import settings

from shop.ads import seeding, shop_pages
from shop.stock import tables

Progress = Callable[[str], None]


def prepare(banners: int, progress: Progress) -> None:
    """Migrate the tables, seed `banners` contracts and create the shop's pages, where necessary."""
    tables.migrate(settings.SCHEMA, "Migrating the ad server's tables", progress)
    if not seeding.seed(banners, progress):
        progress("The inventory is complete")
    shop_pages.open_pages()
