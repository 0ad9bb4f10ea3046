"""The shop's command line: `python -m shop serve | migrate-and-seed | calibrate | costs`."""

import os
import sys

import click
import django
from django.core.exceptions import ImproperlyConfigured

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")


@click.group()
def main() -> None:
    """The bookshop of Doorbuster."""
    try:
        django.setup()
    except ImproperlyConfigured as error:
        raise click.ClickException(str(error)) from error


@main.command()
def serve() -> None:
    """Serve the shop with Gunicorn on the CPUs of DOORBUSTER_SHOP_CPUS."""
    from shop.server import serving

    serving.serve()


@main.command("migrate-and-seed")
def migrate_and_seed() -> None:
    """Bring the database, the catalogue and the static files up to date."""
    from shop.stock import preparation

    preparation.prepare(click.echo)


@main.command()
@click.option(
    "--url",
    help="The address of a running shop; by default, the command starts a shop and stops it at the "
    "end.",
)
@click.option("--controller-url", help="The address of the controller of the shop at --url.")
@click.option(
    "--rounds",
    default=100,
    show_default=True,
    help="The number of walks through the eight pages.",
)
@click.option(
    "--time-scale", default=10.0, show_default=True, help="Paper seconds per real second."
)
def calibrate(url: str | None, controller_url: str | None, rounds: int, time_scale: float) -> None:
    """Compare an idle shop's execution times with LIFO-Pri's Table 2; fail if a page deviates by
    more than 5 %.
    """
    from shop.page_costs import calibration

    sys.exit(calibration.run(url, controller_url, rounds, time_scale))


@main.command()
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(1), help="Repetitions.")
def costs(rounds: int) -> None:
    """Print PostgreSQL's CPU time for each browsing page with the present catalogue."""
    from shop.page_costs import browsing_costs

    browsing_costs.run(rounds)


if __name__ == "__main__":
    main(prog_name="python -m shop")
