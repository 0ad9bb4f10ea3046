"""The commands of `python -m hosting`, which run or show parts of a hosting platform."""

import os
import sys
from pathlib import Path

import click

from hosting.ecm.command import ecm, ecm_status


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run or show a part of the hosting platform, which `doorbuster platform` starts."""


def _shop(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> object:
    pairs = []
    for text in given:
        numbers = [int(part) for part in text.split(":") if part.isascii() and part.isdigit()]
        if text.count(":") != 1 or len(numbers) != 2 or not all(0 < n < 65536 for n in numbers):
            raise click.BadParameter(f"{text!r}: must be two ports, such as 8082:8083")
        pairs.append((numbers[0], numbers[1]))
    return pairs


@main.command()
@click.option(
    "--shop",
    "shops",
    multiple=True,
    required=True,
    callback=_shop,
    help="Ports of a shop process and of its controller, such as 8082:8083; repeat the option for "
    "each process.",
)
@click.option("--logs", type=click.Path(path_type=Path), required=True, help="Folder for the logs.")
def application(shops: list[tuple[int, int]], logs: Path) -> None:
    """Run an application's gateway and shop processes, until one ends or a signal arrives.

    All other settings come from the environment that hosting/template.py prepares.
    """
    from hosting import application as parent

    missing = [name for name in parent.VARIABLES if not os.environ.get(name)]
    if missing:
        raise click.ClickException(
            f"{', '.join(missing)}: not in the environment; `doorbuster platform` starts "
            f"applications with all their variables"
        )
    why = parent.run(shops, logs, os.environ)
    if why is not None:
        sys.exit(why)


main.add_command(ecm)
main.add_command(ecm_status)
