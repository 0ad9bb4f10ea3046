"""Brings the ad server's schema and inventory up to date.

Owns: the order of making the schema, migrating and seeding. Must not know: requests.
"""

from collections.abc import Callable

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from shop.ads import seeding, shop_pages

Progress = Callable[[str], None]


def prepare(banners: int, progress: Progress) -> None:
    """Does only what has not been done."""
    migrate(progress)
    if not seeding.seed(banners, progress):
        progress("The inventory is there")
    shop_pages.open_pages()


def migrate(progress: Progress) -> None:
    """Apply migrations that the schema has not seen."""
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {settings.SCHEMA}")
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        progress("Migrating the ad server's tables")
        call_command("migrate", interactive=False, verbosity=0)
