"""The base classes of the lab's commands, which report a failure in one line, and common options.

Exit statuses: 0: done; 1: a run failed; 2: the command or its input is invalid; 130: interrupted.
"""

import errno
import json
import sys
from collections.abc import Callable
from typing import Any

import click

from common.one_line import OneLineCommand
from lab.errors import ExperimentError, SpecError

_CANNOT_BE_WRITTEN = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
}
"""The system errors that a user can fix, such as a missing permission or a full disk."""


class LabCommand(OneLineCommand):
    """A command of the lab, which reports an error in one line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. If text is given for a number, the error names the range."""
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as fault:
            kind = None if fault.param is None else fault.param.type
            text, is_not, _ = fault.message.partition(" is not a valid ")
            if is_not and isinstance(kind, click.IntRange | click.FloatRange):
                error = f"{text} is not a number; allowed: {_range_words(kind)}"
                raise click.BadParameter(error, fault.ctx, fault.param) from None
            raise

    def invoke(self, ctx: click.Context) -> Any:
        from runtime.settings import SettingsError

        try:
            return super().invoke(ctx)
        except (ExperimentError, SettingsError) as fault:
            click.echo(f"Error: {fault}", err=True)
            sys.exit(2 if isinstance(fault, SpecError) else 1)
        except OSError as fault:
            if fault.errno not in _CANNOT_BE_WRITTEN:
                raise
            where = f"{fault.filename}: " if fault.filename else ""
            click.echo(
                f"Error: {where}{fault.strerror}; if the results are stored there, set "
                "DOORBUSTER_RESULTS_DIR to another folder.",
                err=True,
            )
            sys.exit(1)


def _range_words(kind: click.IntRange | click.FloatRange) -> str:
    number = "a whole number" if isinstance(kind, click.IntRange) else "a number"
    low = f" {'above' if kind.min_open else 'from'} {kind.min:,.12g}"
    if kind.max is None:
        return number + low
    return f"{number}{low} to {'less than ' if kind.max_open else ''}{kind.max:,.12g}"


class TimedCommand(LabCommand):
    """A command whose duration is measured. Later estimates use the measured duration."""

    def invoke(self, ctx: click.Context) -> Any:
        from lab.runner.stopwatch import stopwatch

        try:
            return super().invoke(ctx)
        finally:
            stopwatch.forget()


def print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=1, ensure_ascii=False))


# ---- common options ------------------------------------------------------------------------------

Decorator = Callable[[Any], Any]
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")
QUIET = click.option(
    "--quiet", is_flag=True, help="Print only warnings, the conclusion, the main table and errors."
)
FRESH = click.option(
    "--fresh", is_flag=True, help="Start a new result instead of resuming an interrupted one."
)


def all_of(*options: Decorator) -> Decorator:
    """Return a decorator that adds these options to a command, in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


spread = all_of(
    click.option(
        "--processes",
        type=click.IntRange(1),
        help="The number of cores to use; by default all cores.",
    ),
    click.option(
        "--celery",
        metavar="[BROKER]",
        is_flag=False,
        flag_value="",
        help="Run simulations on the workers that `doorbuster worker` has started, on this or "
        "other machines; BROKER: redis://…, by default DOORBUSTER_GRID_BROKER or "
        "DOORBUSTER_CELERY_BROKER.",
    ),
)
"""The options that determine where simulations run."""


def broker_of(celery: str | None) -> str | None:
    """Return the broker that `--celery` or the settings name; None without `--celery`."""
    from lab.executors import tasks
    from runtime import settings

    if celery is None:
        return None
    return tasks.checked(celery or settings.load().simulations_broker, "--celery")


def refuse_for_live(processes: int | None, celery: str | None) -> None:
    """Raise SpecError if one of the options is given, because a live run has no executor."""
    if processes is not None or celery is not None:
        option = "--processes" if celery is None else "--celery"
        raise SpecError(
            option,
            "does not apply to live runs, which take turns on this machine",
            allowed="with simulated runs",
        )
