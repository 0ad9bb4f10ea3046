"""Commands that answer invalid arguments with a one-line error and exit status 2."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click


class _Refusal(click.ClickException):
    exit_code = 2


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:  # shows the help
        raise
    except click.UsageError as fault:
        raise _Refusal(fault.format_message()) from None


class OneLineCommand(click.Command):
    """A command that prints only the error, without click's lines about usage."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        with _in_one_line():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        with _in_one_line():
            return super().invoke(ctx)


class OneLineGroup(OneLineCommand, click.Group):
    """A group of commands; the error for an unknown command names the known commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            allowed = ", ".join(self.list_commands(ctx))
            raise click.UsageError(f"no command {name!r}; allowed: {allowed}", ctx)
        return super().resolve_command(ctx, args)
