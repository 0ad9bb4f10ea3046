"""The creation of the console's database before Django starts."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from lab.errors import ExperimentError
from runtime.settings import SettingsError
from runtime.state import State, StateError


def make_database() -> None:
    """Create the console's database, or update its tables. Call this before Django starts."""
    import django
    from django.core.management import call_command

    from lab.console.site.settings import DATABASE_FILE, FOLDER, LAB

    if not LAB.state_dir.exists():
        State(LAB.state_dir).make()  # as `make up` would, so that it takes it for its own
    _close(FOLDER, DATABASE_FILE)
    django.setup()
    call_command("migrate", verbosity=0)


def _close(folder: Path, database: Path) -> None:
    """Create the folder and the database if they are missing, without access for other users.
    SQLite gives the same access rights to the files that it creates next to the database."""
    os.umask(0o077)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    database.touch()
    for path in (database, *folder.glob(f"{database.name}-*")):
        path.chmod(0o600)


@contextmanager
def explained() -> Iterator[None]:
    """Print one line instead of a traceback for an error that the user can fix."""
    from django.db import Error as DatabaseFault

    try:
        yield
    except DatabaseFault as fault:
        from lab.console.site.settings import DATABASES

        raise click.ClickException(
            f"{DATABASES['default']['NAME']} cannot be used ({fault})"
        ) from None
    except OSError as fault:
        where = f"{fault.filename}: " if fault.filename else ""
        raise click.ClickException(f"{where}{fault.strerror or fault}") from None
    except (ExperimentError, SettingsError, StateError) as fault:
        raise click.ClickException(str(fault)) from None
