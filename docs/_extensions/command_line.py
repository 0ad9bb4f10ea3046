"""The commands of `doorbuster` from their parsers, and the targets of `make` from the Makefile."""

import inspect
import re

import click

from runtime.settings import REPOSITORY

_SECTION = re.compile(r"^##@ (.+)$")
_TARGET = re.compile(r"^([a-z-]+(?: [a-z-]+)*):.*?## (.+)$")


def cell(text: str) -> str:
    """Return `text` as the cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def make_targets() -> str:
    """Return a table of targets for each section of the Makefile."""
    lines: list[str] = []
    for line in (REPOSITORY / "Makefile").read_text(encoding="utf-8").splitlines():
        if section := _SECTION.match(line):
            lines += [
                "",
                f"### make: {section[1]}",
                "",
                "| target | what it does |",
                "| --- | --- |",
            ]
        elif target := _TARGET.match(line):
            names = ", ".join(f"`make {name}`" for name in target[1].split())
            lines.append(f"| {names} | {cell(target[2])} |")
    return "\n".join(lines)


def commands() -> str:
    """Return a section with usage and options for each command of `doorbuster`."""
    from lab.cli.commands import main

    context = click.Context(main, info_name="doorbuster")
    parts = []
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        parts.append(_section(click.Context(command, context, name), command))
    return "\n".join(parts)


def _section(context: click.Context, command: click.Command) -> str:
    help_text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("<", "&lt;")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"### doorbuster {command.name}", "", help_text, "", "```text", usage, "```", ""]
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    rows = [record for one in options if (record := one.get_help_record(context))]
    if rows:
        lines += ["| option | meaning |", "| --- | --- |"]
        lines += [
            f"| `{names.replace('|', chr(92) + '|')}` | {cell(text)} |" for names, text in rows
        ]
    return "\n".join([*lines, ""])
