"""`python -m lab.console`: the console's own commands; the runtime calls them.

Owns: their names. Must not know: what they do inside.
"""

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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.settings")


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

    with _explained():
        _make_database()
        call_command("collectstatic", verbosity=0, interactive=False)
        from lab.console.settings import LAB
        from lab.experiments import results_publishing

        results_publishing.prepare(LAB, click.echo, wait_s)


@main.command()
def serve() -> None:
    """Serve the pages."""
    from lab.console import serving

    serving.serve()


@main.command()
def work() -> None:
    """Carry out launches."""
    # Who is started in the background may have it ignored, and would miss its end while it starts.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    import django

    django.setup()
    from lab.console import working

    working.serve()


@main.command()
@click.argument("name")
def teacher(name: str) -> None:
    """Make an account that may do everything, or give it a new password; prints it."""
    _enrol(lambda people: [(name, people.enrol(name, teacher=True))])


@main.command()
@click.argument("name")
def student(name: str) -> None:
    """Make an account that may launch and write notes, or give it a new password; prints it."""
    _enrol(lambda people: [(name, people.enrol(name, teacher=False))])


@main.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def students(file: Path) -> None:
    """Make the accounts named in the first column of a CSV file; prints names and passwords.

    FILE is its path, or - for what comes in.
    """
    _enrol(lambda people: people.enrol_students(people.names_in(file)))


def _enrol(make: Callable[[ModuleType], Iterable[tuple[str, str]]]) -> None:
    with _explained():
        _make_database()  # accounts may be made before the console was ever started
        from lab.console import people
        from lab.console.settings import LAB

        try:
            for name, password in make(people):
                click.echo(f"{name},{password}")
        except people.PeopleError as fault:
            raise click.ClickException(str(fault)) from None
        if not LAB.lab_accounts:
            click.echo("Accounts are off; they count with DOORBUSTER_LAB_ACCOUNTS=1.", err=True)


def _make_database() -> None:
    """The console's own, with the tables of this version; Django is set up after it."""
    import django
    from django.core.management import call_command

    from lab.console.settings import FOLDER, LAB
    from runtime.state import State

    if not LAB.state_dir.exists():
        State(LAB.state_dir).make()  # as `make up` would, so that it takes it for its own
    FOLDER.mkdir(parents=True, exist_ok=True)
    django.setup()
    call_command("migrate", verbosity=0)


@contextmanager
def _explained() -> Iterator[None]:
    """What a person can mend is said in a line, not with a traceback."""
    from django.db import Error as DatabaseFault

    from lab.experiments.errors import ExperimentError
    from runtime.settings import SettingsError
    from runtime.state import StateError

    try:
        yield
    except DatabaseFault as fault:
        from lab.console.settings import DATABASES

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
