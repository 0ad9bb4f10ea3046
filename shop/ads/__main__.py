"""The command line: `python -m shop.ads serve | migrate-and-seed | token | operator`."""

import os
import sys

import click
import django
from django.core.exceptions import ImproperlyConfigured

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.ads.settings"


@click.group()
def main() -> None:
    """The ad server of Doorbuster."""
    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise click.ClickException(str(error)) from error


def _configuration():  # type: ignore[no-untyped-def]
    from shop.ads import configuration

    try:
        return configuration.read()
    except configuration.ConfigurationError as error:
        raise click.ClickException(str(error)) from error


@main.command()
def serve() -> None:
    """Serve with Gunicorn on DOORBUSTER_INNER_HOST, port DOORBUSTER_ADS_PORT. Never returns."""
    from shop import serving

    _configuration()
    serving.check_inner_host()
    command = [sys.executable, "-m", "gunicorn", "--config", "python:shop.ads.gunicorn_config"]
    os.execv(sys.executable, command)


@main.command("migrate-and-seed")
def migrate_and_seed() -> None:
    """Bring tables and inventory up to date; quick when they are."""
    from shop.ads import preparing

    preparing.prepare(_configuration().banners, click.echo)


@main.command()
def token() -> None:
    """Print the token that calls of the contract API carry."""
    from shop.ads import permission

    click.echo(permission.token())


@main.command()
@click.argument("name")
@click.password_option(help="Asked for when it is not given.")
def operator(name: str, password: str) -> None:
    """Make NAME an administrator of /ads/admin/, or give them another password."""
    from django.contrib.auth.models import User
    from django.contrib.auth.password_validation import validate_password
    from django.core.exceptions import ValidationError

    user = User.objects.filter(username=name).first() or User(username=name)
    user.is_staff = user.is_superuser = user.is_active = True
    try:
        validate_password(password, user)
        user.set_password(password)
        user.full_clean()
    except ValidationError as error:
        raise click.ClickException(" ".join(error.messages)) from error
    user.save()


if __name__ == "__main__":
    main(prog_name="python -m shop.ads")
