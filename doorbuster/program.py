"""Groups of commands that are imported when they are called.

A table has the names and summaries, so that help and shell completion import no command.
"""

import importlib
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from common import early_signals
from common.one_line import OneLineGroup

HELP_OPTIONS = ["-h", "--help"]
_IS_CHECKOUT = (Path(__file__).parents[1] / "docker-compose.yml").is_file()
"""Whether the code runs from a clone of the repository; the appliance's containers need a clone."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of the table."""

    name: str
    place: str
    """The place of the code: `module:object`."""
    summary: str
    """The line for this command in the help of its group."""
    goes_inside: bool = False
    """Whether the command must run in a container if the appliance runs in containers."""

    def load(self) -> click.Command:
        """Import the command. Ctrl-C during the import ends the program with a one-line message."""
        module, _, name = self.place.partition(":")
        with early_signals.ending_at_once():
            command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command), self.place
        return command


@dataclass(frozen=True, slots=True)
class Group:
    """A command of the table that has subcommands."""

    name: str
    summary: str
    entries: tuple[Entry, ...]

    def load(self) -> click.Command:
        """Return the group without importing any command."""
        section = Section("Commands", self.entries)
        return TableGroup([section], name=self.name, help=self.summary)


@dataclass(frozen=True, slots=True)
class Section:
    """Commands under one heading of the help."""

    title: str
    entries: tuple[Entry | Group, ...]


def _is_for_here(args: Iterable[str]) -> bool:
    """Return whether this machine itself can carry out the call, because the call only prints help
    or uses the console at the URL of --server.
    """
    return any(word in HELP_OPTIONS or word.startswith("--server") for word in args)


def run_inside(arguments: Sequence[str]) -> int | None:
    """Run `doorbuster ARGUMENTS` in a container of the appliance; return its exit status.

    Returns None if the appliance does not run in containers; the caller then runs the command.
    """
    wants_containers = os.environ.get("RUNTIME", "") not in ("", "native")
    if not _IS_CHECKOUT or not (wants_containers or shutil.which("docker")):
        return None  # without the import of the runtime, which takes a second
    from runtime import commands

    return commands.run_inside(("doorbuster", *arguments))


class TableGroup(OneLineGroup):
    """A group whose commands are in a table."""

    def __init__(self, sections: Iterable[Section], **more: Any) -> None:
        super().__init__(context_settings={"help_option_names": HELP_OPTIONS}, **more)
        self.sections = tuple(sections)
        self._entries = {one.name: one for each in self.sections for one in each.entries}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self._entries.get(cmd_name)
        return None if entry is None else entry.load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        entry = self._entries.get(args[0])
        if isinstance(entry, Entry) and entry.goes_inside and not _is_for_here(args):
            _, *groups = ctx.command_path.split()
            if (status := run_inside([*groups, *args])) is not None:
                ctx.exit(status)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section in self.sections:
            with formatter.section(section.title):
                formatter.write_dl([(one.name, one.summary) for one in section.entries])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(one.name, help=one.summary)
            for one in self._entries.values()
            if one.name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)


class Program(TableGroup):
    """The whole program; `older` maps the former name of a command to its present one."""

    def __init__(self, sections: Iterable[Section], older: Mapping[str, str], **more: Any) -> None:
        super().__init__(sections, **more)
        self.older = older

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] in self.older:
            now = self.older[args[0]]
            raise click.UsageError(f"{args[0]} is now called: doorbuster {now}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        # SIGTERM has the same effect as Ctrl-C. A shell's background jobs ignore Ctrl-C by default;
        # this program must not.
        for sign in (signal.SIGTERM, signal.SIGINT):
            signal.signal(sign, signal.default_int_handler)
        try:
            return super().invoke(ctx)
        except ModuleNotFoundError as fault:
            if importlib.util.find_spec("django") is not None:
                raise  # the missing module is not an optional library
            click.echo(
                f"Error: this command needs {fault.name}, which is not installed; fix: clone the "
                "repository and run `make up`, or install Doorbuster with its extra `appliance`",
                err=True,
            )
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("\nInterrupted.", err=True)
            sys.exit(early_signals.INTERRUPTED)
