"""The benchmarks of the console during overload: page times, and the cost and effect of viewers.

The commands need the running appliance, which must have nothing else to do.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import click
import psutil
import requests

from bench.console import gateway_cost, page_times, watched_runs
from bench.console.watched_runs import watching
from bench.harness import console_of, percentile, times_table
from common import hosts
from common.one_line import OneLineGroup
from lab.engines.live.appliance import Appliance
from lab.errors import ExperimentError
from lab.runner.live import running_appliance
from runtime.settings import Settings, load

TARGET_P95_MS = 300.0
CLASS = 60
"""The number of viewers of one run for which the console is designed."""

out = console_of(100)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except (ExperimentError, RuntimeError, requests.RequestException) as fault:
        raise click.ClickException(str(fault)) from None


@click.group(cls=OneLineGroup, invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Measure the console of the running appliance, which must have nothing else to do."""
    if context.invoked_subcommand is None:
        context.invoke(looks)
        context.invoke(pages)


@main.command()
def looks() -> None:
    """Print the gateway's CPU time per call of its admin API, in µs."""
    gateway_cost.main()


@main.command()
@click.option("--rounds", default=40, type=click.IntRange(5, 10_000), show_default=True)
@click.option("--viewers", default=CLASS, type=click.IntRange(0, 1000), show_default=True)
def pages(rounds: int, viewers: int) -> None:
    """Print the pages' times at twice the shop's capacity. The exit status is 1 if the p95 misses
    its target.
    """
    lab, appliance = _running()
    browser = page_times.Browser(*_console(lab))
    before = _machine()
    with (
        _in_one_line(),
        page_times.drowning_shop(browser, appliance) as launch,
        watching(*_console(lab), viewers),
    ):
        psutil.cpu_percent(percpu=True)
        asked = page_times.pages_of(lab, launch)
        times, shop = page_times.times_ms(browser, appliance, asked, rounds)
        busy = psutil.cpu_percent(percpu=True)
    out.print(times_table(f"Pages at ρ = {page_times.RHO:g}, {viewers} viewers, ms", times))
    out.print(f"Machine before the measurement: {before}; CPUs busy during it: {_percents(busy)}.")
    out.print(
        f"Shop during the measurement: CPU {100 * shop.cpu_utilisation_ratio:.0f} %, "
        f"{shop.in_service:.0f} in service, {shop.waiting:.0f} waiting."
    )
    p95_ms = percentile([*chain(*times.values())], 0.95)
    verdict = "reached" if p95_ms <= TARGET_P95_MS else "missed"
    out.print(f"p95 of all pages: {p95_ms:.0f} ms, target {TARGET_P95_MS:g}: {verdict}.")
    sys.exit(verdict == "missed")


@main.command()
@click.option("--pairs", default=10, type=click.IntRange(2, 100), show_default=True)
@click.option("--viewers", default=CLASS, type=click.IntRange(1, 1000), show_default=True)
@click.option("--rho", default=1.4, type=click.FloatRange(0.1, 5), show_default=True)
@click.option("--sessions", default=500, type=click.IntRange(50, 100_000), show_default=True)
def watched(pairs: int, viewers: int, rho: float, sessions: int) -> None:
    """Compare runs with and without viewers. The exit status is 0 if the verdict on every metric is
    `within`, otherwise 1.
    """
    lab, appliance = _running()
    before = _machine()
    with _in_one_line():
        rows = watched_runs.pairs(
            appliance,
            _console(lab),
            seeds=range(1, pairs + 1),
            viewers=viewers,
            rho=rho,
            sessions=sessions,
            say=out.print,
        )
    found = watched_runs.compared(*rows)
    title = f"{pairs} pairs of runs, {viewers} viewers, 8Q-LIFO-Pri at ρ = {rho:g}"
    kinds = ("unwatched", f"{viewers} viewers")
    out.print(watched_runs.table(f"{title}, {sessions} sessions", kinds, found))
    out.print(f"Machine before: {before}.")
    if any(one.verdict == "undecided" for one in found):
        out.print("Undecided: the pairs vary too much; run more pairs (--pairs).")
    sys.exit(any(one.verdict != "within" for one in found))


def _running() -> tuple[Settings, Appliance]:
    with _in_one_line():
        lab = load()
        if lab.lab_accounts:
            raise RuntimeError(
                "DOORBUSTER_LAB_ACCOUNTS=1: this command calls the console without logging in; "
                "fix: set DOORBUSTER_LAB_ACCOUNTS=0 and run make up, or measure a console with "
                "accounts by make bench-class"
            )
        return lab, running_appliance(lab)


def _console(lab: Settings) -> tuple[str, int]:
    return hosts.from_here(lab.lab_host), lab.lab_port


def _machine() -> str:
    busy = psutil.cpu_percent(2.0, percpu=True)
    return f"load average {os.getloadavg()[0]:.1f}, CPUs busy {_percents(busy)}"


def _percents(values: list[float]) -> str:
    return ", ".join(f"{value:.0f} %" for value in values)
