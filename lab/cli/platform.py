"""The command `doorbuster platform`, which runs a hosting platform and shows its counts."""

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hosting.options import Finite
from hosting.starting import HostingError
from lab.cli.command import LabCommand
from lab.cli.platform_options import of_platform, platform_options
from lab.errors import ExperimentError
from lab.machine.lock import live_run_lock
from lab.report.terminal import console
from lab.runner.live import running_appliance
from runtime import settings

if TYPE_CHECKING:
    from hosting.platform import Platform
    from hosting.running import RunningApplication

FIRST_PORT = 8451
LOG_EVERY_S = 10.0
"""The real seconds between two tables if the output is a file or a pipe."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The cumulative counts of an application at one moment. `cpu_s` is in real seconds."""

    at_s: float
    connections: Mapping[str, Any]
    cpu_s: float

    @classmethod
    def of(cls, application: "RunningApplication") -> "Figures":
        """Return an application's current counts; raises HostingError if it does not answer."""
        connections = application.snapshot()["connections"]
        return cls(time.monotonic(), connections, application.cpu_s())


@click.command(cls=LabCommand)
@of_platform
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=FIRST_PORT,
    show_default=True,
    help="The HTTPS port of the first application; other applications use the next ports.",
)
@click.option(
    "--every-s",
    type=Finite(0.2, 3600),
    default=1.0,
    show_default=True,
    help="The real seconds between two updates of the table (in a file or a pipe: at least 10).",
)
def platform(every_s: float, **given: Any) -> None:
    """Run several complete shops on this machine's processors until Ctrl-C.

    The CPU manager assigns processors to the shops, and each shop's gateway refuses new
    connections if the processors cannot serve them (eDragon). The shops use the PostgreSQL and
    Redis of the running appliance (`make up`).
    """
    from hosting.platform import Platform

    lab = settings.load()
    options = platform_options(lab, given)
    running_appliance(lab)
    try:
        with ExitStack() as held:
            held.enter_context(live_run_lock())
            hosted = held.enter_context(Platform(lab, options, _say))
            for application in hosted.applications:
                console.print(f"{application.name}: {application.https_url}/")
            console.print(f"Certificate authority: {hosted.applications[0].authority}")
            console.print(f"The logs are in {hosted.folder}. Ctrl-C ends the platform.")
            _watch(hosted, every_s if console.is_terminal else max(every_s, LOG_EVERY_S))
    except HostingError as fault:
        raise ExperimentError(str(fault)) from None


def _say(words: str) -> None:
    console.print(Text(words, style="dim"))


def _watch(hosted: "Platform", every_s: float) -> None:
    before = [Figures.of(one) for one in hosted.applications]
    with Live(console=console, auto_refresh=False) as live:
        while True:
            time.sleep(every_s)
            hosted.check()
            now = [Figures.of(one) for one in hosted.applications]
            table = _table(hosted.applications, before, now)
            if console.is_terminal:
                live.update(table, refresh=True)
            else:
                console.print(table)
            before = now


def _table(
    applications: tuple["RunningApplication", ...], before: list[Figures], now: list[Figures]
) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("application")
    for heading in (
        "priority", "requested", "assigned", "CPU used", "new/s", "resumed/s", "refused/s",
        "new", "resumed", "refused",
    ):  # fmt: skip
        table.add_column(heading, justify="right")
    for application, then, current in zip(applications, before, now, strict=True):
        table.add_row(*row(application.name, application.plan.priority, then, current))
    return table


def row(name: str, priority: float, then: Figures, now: Figures) -> list[str]:
    """Return the table row of an application. Rates are per real second since `then`, and the CPU
    use is in processors.
    """
    elapsed_s = max(now.at_s - then.at_s, 1e-3)
    admission = now.connections["admission"]["snapshot"]

    def rate(count: str) -> str:
        return f"{(now.connections[count] - then.connections[count]) / elapsed_s:.1f}"

    def known(field: str) -> str:
        value = admission.get(field)
        return "–" if value is None else f"{value:g}"

    return [
        name,
        f"{priority:g}",
        known("requested"),
        known("processors"),
        f"{(now.cpu_s - then.cpu_s) / elapsed_s:.2f}",
        *(rate(count) for count in ("new", "resumed", "refused")),
        *(str(now.connections[count]) for count in ("new", "resumed", "refused")),
    ]
