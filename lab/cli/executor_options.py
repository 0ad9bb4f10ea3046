"""The options that choose the executor of simulations, and whether an interrupted result is
resumed.
"""

from collections.abc import Callable
from typing import Any

import click

from lab.errors import SpecError
from lab.executors import broker
from runtime import settings

FRESH = click.option(
    "--fresh", is_flag=True, help="Start a new result instead of resuming an interrupted one."
)


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add to a command the options `--processes` and `--celery`, which determine where simulations
    run.
    """
    for option in (
        click.option(
            "--celery",
            metavar="[BROKER]",
            is_flag=False,
            flag_value="",
            help="Run simulations on the workers that `doorbuster worker` has started, on this or "
            "other machines; BROKER: redis://…, by default DOORBUSTER_GRID_BROKER or "
            "DOORBUSTER_CELERY_BROKER.",
        ),
        click.option(
            "--processes",
            type=click.IntRange(1),
            help="The number of cores to use; by default all cores.",
        ),
    ):
        command = option(command)
    return command


def broker_of(celery: str | None) -> str | None:
    """Return the broker that `--celery` or the settings name; None without `--celery`."""
    if celery is None:
        return None
    return broker.checked(celery or settings.load().simulations_broker, "--celery")


def refuse_for_live(processes: int | None, celery: str | None) -> None:
    """Raise SpecError if one of the options is given, because a live run has no executor."""
    if processes is not None or celery is not None:
        option = "--processes" if celery is None else "--celery"
        raise SpecError(
            f"{option}: does not apply to live runs, which take turns on this machine; allowed: "
            "with simulated runs"
        )
