"""The update of tables, books, accounts and static files before the shop starts."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from shop.sessions import SessionStore
from shop.stock import seeding, tables
from shop.stock.shelf_filling import Progress

_SOURCE = Path(__file__).parents[1] / "static"
_MARK = ".source"


def prepare(progress: Progress) -> None:
    """Migrate the database, delete expired sessions, seed the shop and collect the static files,
    where necessary.
    """
    tables.migrate(settings.SHOP_SCHEMA, "Migrating the database", progress)
    SessionStore.clear_expired()
    if not seeding.seed(settings.CATALOGUE_BOOKS, progress):
        progress("The catalogue is complete")
    collect_static_files(progress)


def collect_static_files(progress: Progress) -> None:
    """Copy the static files to STATIC_ROOT under hashed names, if any of them has changed."""
    digest = hashlib.sha256()
    for path in sorted(_SOURCE.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(_SOURCE)).encode() + path.read_bytes())
    mark = Path(settings.STATIC_ROOT) / _MARK
    if mark.exists() and mark.read_text() == digest.hexdigest():
        return
    progress("Collecting static files")
    call_command("collectstatic", interactive=False, verbosity=0, clear=True)
    mark.write_text(digest.hexdigest())
