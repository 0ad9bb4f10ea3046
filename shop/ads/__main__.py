"""The ad server's commands: `python -m shop.ads serve`, `migrate-and-seed`, `token` and others."""

import math
import os
import sys
from typing import TYPE_CHECKING

import click
import django
from django.core.exceptions import ImproperlyConfigured

from common.waiting import retry

if TYPE_CHECKING:
    from shop.ads.configuration import Configuration

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.ads.settings"

LOOK_EVERY_S = 0.5
"""Real seconds between two attempts to connect to PostgreSQL while it is unavailable."""


@click.group()
def main() -> None:
    """The ad server of Doorbuster."""
    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise click.ClickException(str(error)) from error


def _configuration() -> "Configuration":
    from shop.ads import configuration

    try:
        return configuration.read()
    except configuration.SettingsError as error:
        raise click.ClickException(str(error)) from error


@main.command()
def serve() -> None:
    """Serve with Gunicorn on DOORBUSTER_INNER_HOST, port DOORBUSTER_ADS_PORT, until stopped.

    Until PostgreSQL is available, the command listens on no port, so that the shop serves pages
    without banners and without delay.
    """
    from shop.server import serving

    _configuration()
    serving.check_inner_host()
    _await_database()
    command = [sys.executable, "-m", "gunicorn", "--config", "python:shop.ads.gunicorn_config"]
    os.execv(sys.executable, command)


def _await_database() -> None:
    from django.db import OperationalError, connection

    try:
        connection.ensure_connection()
    except OperationalError as error:
        first = str(error).strip().partition("\n")[0]
        click.echo(f"The ad server waits for PostgreSQL: {first}", err=True)
        retry(connection.ensure_connection, OperationalError, math.inf, every_s=LOOK_EVERY_S)
        click.echo("PostgreSQL answers; the ad server starts.", err=True)
    connection.close()


@main.command("migrate-and-seed")
def migrate_and_seed() -> None:
    """Bring the tables and the inventory up to date."""
    from shop.ads import preparing

    preparing.prepare(_configuration().banners, click.echo)


@main.command()
def token() -> None:
    """Print the token for calls of the contract API."""
    from shop.ads.management import answers

    click.echo(answers.token())


@main.command()
@click.argument("name")
@click.password_option(help="The password; without this option, the command asks for it.")
def operator(name: str, password: str) -> None:
    """Make NAME an administrator of /ads/admin/, or change that administrator's password."""
    from django.contrib.auth.models import User
    from django.contrib.auth.password_validation import validate_password
    from django.core.exceptions import ValidationError

    user = User.objects.filter(username=name).first() or User(username=name)
    user.is_staff = user.is_superuser = user.is_active = True
    try:
        validate_password(password, user)  # type: ignore[arg-type] # mypy has the shop's users
        user.set_password(password)
        user.full_clean()
    except ValidationError as error:
        raise click.ClickException(" ".join(error.messages)) from error
    user.save()


@main.command()
@click.option("--size", default="468x60", show_default=True, help="The size of the slot.")
@click.option(
    "--concepts", default="crime", show_default=True, help="The concepts, separated by commas."
)
@click.option(
    "--draws", "number", type=click.IntRange(1, 100_000), default=600, show_default=True,
    help="The number of draws, each of which counts as an impression.",
)  # fmt: skip
@click.option(
    "--groups", type=click.IntRange(2, 10), default=6, show_default=True,
    help="The number of groups into which the test divides the candidates.",
)  # fmt: skip
@click.option(
    "--against", type=click.Choice(["weights", "equal"]), default="weights", show_default=True,
    help="The expected draws: in proportion to the weights, or the same number for every banner.",
)  # fmt: skip
def draws(size: str, concepts: str, number: int, groups: int, against: str) -> None:
    """Test whether the running ad server draws banners in proportion to their weights.

    The command draws many times. It sorts the candidates by weight, divides them into groups, and
    prints a chi-squared test of goodness of fit.
    """
    from shop import settings
    from shop.ads.selection import fairness

    try:
        weights, drawn = fairness.draw(
            settings.INNER_HOST, _configuration().port, size, concepts, number
        )
    except fairness.ServerError as fault:
        raise click.ClickException(str(fault)) from None
    if len(weights) < 2:
        raise click.ClickException(
            f"--concepts {concepts}: fewer than two banners of size {size} can be drawn now; try "
            "another concept or --size"
        )
    found = fairness.groups_of(weights, drawn, groups, equal=against == "equal")
    click.echo("group  banners     weight   expected   drawn   (drawn − expected)² / expected")
    for place, group in enumerate(found, start=1):
        click.echo(
            f"{place:5}  {group.banners:7}  {group.weight:9,}  {group.expected:9.1f}  "
            f"{group.drawn:6}   {group.term:.2f}"
        )
    if left_out := sum(count for id, count in drawn.items() if id not in weights):
        click.echo(f"not counted: {left_out} draws of banners that became due during the test")
    freedom = len(found) - 1
    click.echo(
        f"chi-squared: {fairness.chi_squared(found):.2f}   degrees of freedom: {freedom}   "
        f"a correct server's chi-squared exceeds {fairness.CRITICAL[freedom]} in 5 % of all tests"
    )


if __name__ == "__main__":
    main(prog_name="python -m shop.ads")
