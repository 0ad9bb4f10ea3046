"""The command `python -m loadgen`, which runs customers without a web UI, prints a session file for
httperf, or shows the session model.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from common.page_types import CAPACITY_RPS
from common.settings import SettingsError
from loadgen.options import OPTIONS, gateway_url
from loadgen.workload.partly_open import PartlyOpenModel
from loadgen.workload.sessions import MEAN_EXECUTION_S, PAGES, SessionModel


def describe_sessions() -> Iterator[str]:
    """Yield the lines of a table of LIFO-Pri's session model. Times are in paper seconds, except
    the mean execution time (paper milliseconds).
    """
    model = SessionModel()
    chain = model.chain
    visits = chain.visits()
    yield f"{'page':<5} {'per 1000':>9} {'P(Tr-4)':>8} {'mean s':>7}  leads to"
    for page in PAGES:
        leads = [f"{following} {share:g}" for following, share in chain.row(page).items()]
        exits = 1 - sum(chain.row(page).values())
        yield (
            f"{page:<5} {visits[page] * 1000:>9.2f} {chain.probability_of_confirm(page):>8.4f} "
            f"{MEAN_EXECUTION_S[page]:>7.3f}  {', '.join([*leads, f'exit {exits:.3g}'])}"
        )
    yield ""
    yield f"requests per session      {model.mean_requests():.3f}"
    yield f"mean execution time       {model.mean_execution_s() * 1000:.1f} ms"
    for rho in (0.85, 1.4, 2.0):
        rate = model.session_rate(rho, CAPACITY_RPS)
        yield f"sessions/s at rho = {rho:<4}  {rate:.3f}, capacity {CAPACITY_RPS} requests/s"
    yield f"patience                  {model.timeout_s:g} s + Exp({model.think_timeout_mean_s:g} s)"
    yield f"retry                     p = {model.retry_probability:g}, at most {model.max_retries}"


def describe_partly_open() -> Iterator[str]:
    """Yield the lines of a table of eDragon's partly-open model, in paper seconds."""
    model = PartlyOpenModel()
    visits = model.visits()
    yield f"{'page':<5} {'per session':>11}  leads to"
    for page, row in model.transitions().items():
        leads = ", ".join(f"{following} {share}" for following, share in row.items() if share)
        yield f"{page:<5} {visits[page]:>11.2f}  {leads}"
    yield ""
    yield (
        f"interactions per session  {model.interactions_mean:g}, at most "
        f"{model.interactions_most}: p(end) = {model.end_probability():.4f}"
    )
    yield f"replies per session {model.replies_mean():g}, images included"
    yield f"think time                Exp({model.think_time_mean_s:g} s)"
    yield f"timeout                   {model.timeout_s:g} s, then at most {model.reconnects} again"


LOCUSTFILE = Path(__file__).with_name("locustfile.py")


def _gateway() -> str:
    try:
        return gateway_url()
    except SettingsError as error:
        raise click.ClickException(str(error)) from None


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Simulate Doorbuster's customers, or show the model of their behaviour."""


def _help_of_run() -> str:
    formatter = click.HelpFormatter(width=100)
    formatter.write_usage("python -m loadgen run", "[OPTIONS]")
    formatter.write_paragraph()
    formatter.write_text(
        "Run customers without a web UI. Other options are Locust's: --host sets "
        "the address of the shop, and `locust --help` lists all of them."
    )
    with formatter.section("Options"):
        formatter.write_dl(
            [
                (
                    f"{one.flag} {one.metavar}".strip(),
                    one.meaning + (f"  [default: {one.default}]" if one.default else ""),
                )
                for one in OPTIONS
            ]
        )
    return formatter.getvalue()


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def run(options: tuple[str, ...]) -> None:
    """Run customers without a web UI; OPTIONS are Locust's options and those that --help lists.

    --plan FILE reads a JSON plan in place of options; --plan - reads it from standard input.
    Standard output gets only the progress lines (--progress json); all other output goes to
    standard error.
    """
    if {"-h", "--help"} & set(options):
        click.echo(_help_of_run(), nl=False)
        return
    command = [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE)]
    if "--worker" not in options:
        command += ["--headless", "--only-summary"]
    command += ["--loglevel", "WARNING", *options]
    sys.stdout.flush()
    os.execv(sys.executable, command)


@main.command()
@click.option("--host", default=_gateway, show_default="the gateway", help="The URL of the shop.")
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
    """Print the numbers of a session model, by default LIFO-Pri's."""
    for line in describe_partly_open() if partly_open else describe_sessions():
        click.echo(line)


if __name__ == "__main__":
    main(prog_name="python -m loadgen")
