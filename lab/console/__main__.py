"""The command `python -m lab.console`, with which the runtime starts the console's services."""

import os
import signal

import click

from lab.console.site.database import explained, make_database


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
    help="The longest wait for an answer from PostgreSQL, in real seconds.",
)
def prepare(wait_s: float) -> None:
    """Create or update the databases, collect the static files, measure this machine's speed, and
    remove what an earlier console has left behind."""
    from django.core.management import call_command

    _check_limits()
    with explained():
        make_database()
        call_command("clearsessions")
        call_command("collectstatic", verbosity=0, interactive=False)
        from lab.console.results import imports
        from lab.console.site.settings import LAB
        from lab.database import publishing as results_publishing
        from lab.runner import estimates

        estimates.calibrated(LAB)  # takes one second at the first start
        imports.remove_left_overs(LAB.results_dir)
        results_publishing.prepare(LAB, click.echo, wait_s)


@main.command()
def serve() -> None:
    """Serve the pages."""
    _check_limits()
    from lab.console.server import serving

    serving.serve()


@main.command()
def work() -> None:
    """Run the launches in the queue."""
    # A background process may ignore SIGQUIT, with which the runtime stops the worker.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    _check_limits()
    import django

    django.setup()
    from lab.console.launches import workers

    workers.serve()


def _check_limits() -> None:
    """Check the settings that only the console reads."""
    with explained():
        from lab.console.site import allowances  # noqa: F401 - it reads the setting


if __name__ == "__main__":
    main()
