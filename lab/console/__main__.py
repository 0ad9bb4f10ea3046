"""`python -m lab.console`: the console's own commands; the runtime calls them.

Owns: their names. Must not know: what they do inside.
"""

import os

import click


@click.group()
def main() -> None:
    """The lab console."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "lab.console.settings")


@main.command()
def prepare() -> None:
    """Make the database and gather the static files; quick when they are there."""
    import django
    from django.core.management import call_command

    from lab.console.settings import FOLDER

    FOLDER.mkdir(parents=True, exist_ok=True)
    django.setup()
    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)


@main.command()
def serve() -> None:
    """Serve the pages."""
    from lab.console import serving

    serving.serve()


@main.command()
def work() -> None:
    """Carry out launches."""
    import django

    django.setup()
    from lab.console import working

    working.serve()


if __name__ == "__main__":
    main()
