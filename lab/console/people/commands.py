"""The commands `doorbuster class …`, which create accounts of the console at a terminal."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import click

from lab.console.site.database import explained, make_database


@click.command()
@click.argument("name")
def teacher(name: str) -> None:
    """Create a teacher's account, or make an existing person a teacher. Print the new password."""
    _enrol(lambda accounts: [(name, accounts.enrol(name, teacher=True))])


@click.command()
@click.argument("name")
def student(name: str) -> None:
    """Create a student's account, or give a student's existing account a new password. Print the
    password."""
    _enrol(lambda accounts: [(name, accounts.enrol(name, teacher=False))])


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def students(file: Path) -> None:
    """Create students' accounts for the names in the first column of a CSV file, and print the
    names and passwords. An existing account gets a new password.

    FILE is the path of the file, or - for the standard input.
    """
    _enrol(
        lambda accounts: accounts.enrol_students(
            accounts.names_in(accounts.text_of(file), str(file))
        )
    )


def _enrol(make: Callable[[ModuleType], Iterable[tuple[str, str]]]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.site.settings")
    with explained():
        make_database()  # accounts may be made before the console was ever started
        from lab.console.people import accounts
        from lab.console.site.settings import LAB

        try:
            for name, password in make(accounts):
                click.echo(f"{name},{password}")
        except accounts.AccountError as fault:
            raise click.UsageError(str(fault)) from None  # a fault in a name or in the file
        if not LAB.lab_accounts:
            click.echo(
                "Accounts are switched off. To use them, set DOORBUSTER_LAB_ACCOUNTS=1.", err=True
            )
