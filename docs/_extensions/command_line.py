"""The commands of `doorbuster` from their parsers, and the targets of `make` from the Makefile."""

import inspect
import re
from collections.abc import Iterable, Iterator

import click

from doorbuster.program import Entry, Group
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
    """Return a section for each command of `doorbuster`, in the order of its help."""
    from doorbuster.commands import main

    context = click.Context(main, info_name="doorbuster")
    return "\n".join(
        text
        for section in main.sections
        for text in (f"### doorbuster: {section.title}", "", *_sections(section.entries, context))
    )


def load_options() -> str:
    """Return a table of the load generator's options."""
    from loadgen.options import OPTIONS

    lines = ["| option | default | meaning |", "| --- | --- | --- |"]
    for option in OPTIONS:
        default = f"`{option.default}`" if option.default else ""
        meaning = re.sub(r"--[a-z-]*[a-z]", r"`\g<0>`", cell(option.meaning))
        lines.append(f"| `{option.flag}` | {default} | {meaning} |")
    return "\n".join(lines)


def _sections(entries: Iterable[Entry | Group], parent: click.Context) -> Iterator[str]:
    for entry in entries:
        if isinstance(entry, Entry) and entry.place.startswith("bench."):
            # The image of the containers has no benchmarks, and this site is also built there.
            yield (
                f"#### {parent.command_path} {entry.name}\n\n"
                f"{entry.summary}. `--help` lists the options.\n"
            )
            continue
        command = entry.load()
        context = click.Context(command, parent, entry.name)
        if isinstance(entry, Group):
            yield from _sections(entry.entries, context)
        else:
            yield _section(context, command)


def _section(context: click.Context, command: click.Command) -> str:
    help_text = inspect.cleandoc(command.help or "").replace("\b\n", "").replace("<", "&lt;")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"#### {context.command_path}", "", help_text, "", "```text", usage, "```", ""]
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    rows = [record for one in options if (record := one.get_help_record(context))]
    if rows:
        lines += ["| option | meaning |", "| --- | --- |"]
        lines += [
            f"| `{names.replace('|', chr(92) + '|')}` | {cell(text)} |" for names, text in rows
        ]
    return "\n".join([*lines, ""])
