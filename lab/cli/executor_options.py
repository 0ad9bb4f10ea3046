"""The options for the executor of simulations, and for resuming an interrupted result."""

from collections.abc import Callable
from typing import Any

import click

from lab.executors import broker
from runtime import settings

FRESH = click.option(
    "--fresh", is_flag=True, help="Start again, also if the same experiment was interrupted."
)


def spread(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options `processes` and `celery`, which determine where simulations
    run."""
    for option in (
        click.option(
            "--celery",
            metavar="[BROKER]",
            is_flag=False,
            flag_value="",
            help="On the workers that `doorbuster worker` started, here or elsewhere; BROKER: "
            "redis://…, by default DOORBUSTER_GRID_BROKER or DOORBUSTER_CELERY_BROKER.",
        ),
        click.option(
            "--processes", type=click.IntRange(1), help="Number of cores to use; by default all."
        ),
    ):
        command = option(command)
    return command


def broker_of(celery: str | None) -> str | None:
    """Return the broker that `--celery` or the settings name; None without the option."""
    if celery is None:
        return None
    return broker.checked(celery or settings.load().simulations_broker, "--celery")
