"""`python -m loadgen`: run customers headless, write httperf's session file, or show the model."""

import os
import sys
from pathlib import Path

import click

from common.settings import SettingsError
from loadgen.gateway_url import gateway_url
from loadgen.workload.describe import describe as describe_sessions
from loadgen.workload.describe import describe_partly_open

LOCUSTFILE = Path(__file__).with_name("locustfile.py")


def _gateway() -> str:
    try:
        return gateway_url()
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Simulate Doorbuster's customers, or show the model of their behaviour."""


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def run(options: tuple[str, ...]) -> None:
    """Run customers without a web UI; OPTIONS are Locust's options and the options in
    docs/loadgen.md (try --help).

    --plan FILE reads a JSON plan in place of options; --plan - reads it from standard input.
    Standard output gets only the progress lines (--progress json); all other output goes to
    standard error.
    """
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE)]
    if "--worker" not in options:
        command += ["--headless", "--only-summary"]
    command += ["--loglevel", "WARNING", *options]
    sys.stdout.flush()
    os.execv(sys.executable, command)


@main.command()
@click.option(
    "--host", default=_gateway, show_default="the gateway", help="The address of the shop."
)
@click.option("--sessions", default=1000, show_default=True, type=click.IntRange(min=1))
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0))
def wsesslog(host: str, sessions: int, seed: int) -> None:
    """Print a session file for httperf's --wsesslog, with URLs that exist in the shop."""
    # Imported here, because only this command needs gevent.
    from loadgen.customers.browser import HostError
    from loadgen.wsesslog import ShopUnreadableError, session_file

    try:
        for line in session_file(host, sessions, seed):
            click.echo(line)
    except (HostError, ShopUnreadableError) as error:
        raise click.ClickException(str(error)) from None


@main.command()
@click.option("--partly-open", is_flag=True, help="Show eDragon's model instead of LIFO-Pri's.")
def describe(partly_open: bool) -> None:
    """Print tables with the numbers of the session model."""
    for line in describe_partly_open() if partly_open else describe_sessions():
        click.echo(line)


if __name__ == "__main__":
    main(prog_name="python -m loadgen")
