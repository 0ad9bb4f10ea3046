"""`python -m lab.console`: the console's own commands; the runtime calls them.

Owns: their names. Must not know: what they do inside.
"""

import os
import signal
from collections.abc import Callable, Iterable
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
    import django
    from django.core.management import call_command

    from lab.console.settings import FOLDER

    FOLDER.mkdir(parents=True, exist_ok=True)
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    from lab.console.settings import LAB
    from lab.experiments import results_publishing
    from lab.experiments.errors import ExperimentError

    try:
        results_publishing.prepare(LAB, click.echo, wait_s)
    except ExperimentError as fault:
        raise click.ClickException(str(fault)) from None


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
@click.argument("file", type=click.Path(path_type=Path))
def students(file: Path) -> None:
    """Make the accounts named in the first column of a CSV file; prints names and passwords."""
    _enrol(lambda people: people.enrol_students(people.names_in(file)))


def _enrol(make: Callable[[ModuleType], Iterable[tuple[str, str]]]) -> None:
    import django

    django.setup()
    from lab.console import people
    from lab.console.settings import LAB

    try:
        for name, password in make(people):
            click.echo(f"{name},{password}")
    except people.PeopleError as fault:
        raise click.ClickException(str(fault)) from None
    if not LAB.lab_accounts:
        click.echo("Accounts are off; they count with DOORBUSTER_LAB_ACCOUNTS=1.", err=True)


if __name__ == "__main__":
    main()
