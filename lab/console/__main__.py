"""The commands of `python -m lab.console`; the runtime calls them."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import click


@click.group()
def main() -> None:
    """The lab console."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")


@main.command()
@click.option(
    "--wait-s",
    default=60.0,
    show_default=True,
    type=click.FloatRange(0, 3600),
    help="How long PostgreSQL may take to answer, seconds.",
)
def prepare(wait_s: float) -> None:
    """Make the databases and gather the static files; quick when they are there."""
    from django.core.management import call_command

    _check_limits()
    with _explained():
        _make_database()
        call_command("collectstatic", verbosity=0, interactive=False)
        from lab.console.site.settings import LAB
        from lab.database import publishing as results_publishing
        from lab.runner import estimates

        estimates.calibrated(LAB)  # one second, once: the gallery shows how long each card takes
        results_publishing.prepare(LAB, click.echo, wait_s)


@main.command()
def serve() -> None:
    """Serve the pages."""
    _check_limits()
    from lab.console.server import serving

    serving.serve()


@main.command()
def work() -> None:
    """Carry out launches."""
    # A background process may ignore SIGINT and would miss a stop during its start.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    _check_limits()
    import django

    django.setup()
    from lab.console.launches import workers

    workers.serve()


@main.command()
@click.argument("name")
def teacher(name: str) -> None:
    """Make an account that may do everything, or give it a new password; prints it."""
    _enrol(lambda accounts: [(name, accounts.enrol(name, teacher=True))])


@main.command()
@click.argument("name")
def student(name: str) -> None:
    """Make an account that may launch and write notes, or give it a new password; prints it."""
    _enrol(lambda accounts: [(name, accounts.enrol(name, teacher=False))])


@main.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def students(file: Path) -> None:
    """Make the accounts named in the first column of a CSV file; prints names and passwords.

    FILE is its path, or - for what comes in.
    """
    _enrol(
        lambda accounts: accounts.enrol_students(
            accounts.names_in(accounts.text_of(file), str(file))
        )
    )


def _enrol(make: Callable[[ModuleType], Iterable[tuple[str, str]]]) -> None:
    with _explained():
        _make_database()  # accounts may be made before the console was ever started
        from lab.console.people import accounts
        from lab.console.site.settings import LAB

        try:
            for name, password in make(accounts):
                click.echo(f"{name},{password}")
        except accounts.AccountError as fault:
            raise click.ClickException(str(fault)) from None
        if not LAB.lab_accounts:
            click.echo("Accounts are off; they count with DOORBUSTER_LAB_ACCOUNTS=1.", err=True)


def _check_limits() -> None:
    """Check the settings that only the console understands."""
    with _explained():
        from lab.console.site import allowances  # noqa: F401 - it reads the setting


def _make_database() -> None:
    """Make the console's database with the tables of this version; Django starts after it."""
    import django
    from django.core.management import call_command

    from lab.console.site.settings import DATABASE_FILE, FOLDER, LAB
    from runtime.state import State

    if not LAB.state_dir.exists():
        State(LAB.state_dir).make()  # as `make up` would, so that it takes it for its own
    _close(FOLDER, DATABASE_FILE)
    django.setup()
    call_command("migrate", verbosity=0)


def _close(folder: Path, database: Path) -> None:
    """Make the folder and the database if they are missing, and deny other users access first.

    SQLite gives the files next to a database the database's mode.
    """
    os.umask(0o077)
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    database.touch()
    for path in (database, *folder.glob(f"{database.name}-*")):
        path.chmod(0o600)


@contextmanager
def _explained() -> Iterator[None]:
    """Print an error that the user can fix in one line, not with a traceback."""
    from django.db import Error as DatabaseFault

    from lab.errors import ExperimentError
    from runtime.settings import SettingsError
    from runtime.state import StateError

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


if __name__ == "__main__":
    main()
