"""Commands of a sheet, checked with the real command line but not run."""

import importlib.util
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence

import click

from doorbuster.commands import main
from lab.cli.experiments import spec_of
from lab.spec.experiment import Spec, checked, load_checked, read_spec
from runtime.settings import REPOSITORY

DOORBUSTER = (".venv/bin/doorbuster",)
SIMPLE = (
    *(
        "cat",
        "cp",
        "curl",
        "date",
        "echo",
        "grep",
        "head",
        "ls",
        "mkdir",
        "openssl",
        "rm",
        "sed",
        "seq",
    ),
    *("sleep", "sort", "true", "uniq"),
)
"""Programs that are accepted without a check."""
_KEYWORDS = ("for", "done", "[")
_REDIRECTION = re.compile(r"\s\d?(?:>&\d|[<>]\s*\S+)")
_PYTHON = (".venv/bin/python", "-m")
_EXPERIMENTS = ("compare", "simulate", "run")


def lines(text: str) -> list[list[str]]:
    """Return each command of a block as its arguments; |, ||, && and ; separate commands."""
    text = _REDIRECTION.sub("", text.replace("\\\n", " "))
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;\n")
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    lexer.commenters = "#"
    found: list[list[str]] = [[]]
    for token in lexer:
        if set(token) <= set("|&;\n"):
            found.append([])
        else:
            found[-1].append(token)
    return [argv for argv in found if argv]


def check(argv: Sequence[str], files: Mapping[str, str]) -> list[Spec]:
    """Return the specs that the command would run; raise the error of the command line.

    `files` are those that the sheet lets the student write.
    """
    argv = list(argv)
    if argv[0] == "do":
        argv = argv[1:]
    if argv[0] in _KEYWORDS:
        return []
    if argv[0] == "timeout":
        while not argv[0][0].isdigit():
            argv = argv[2:] if argv[0] == "-s" else argv[1:]
        argv = argv[1:]
    if argv[0] == "make":
        return [spec for line in made(shlex.join(argv)) for spec in check(line, files)]
    if tuple(argv[:1]) == DOORBUSTER:
        return _doorbuster(argv[1:], files)
    if tuple(argv[:2]) == _PYTHON:
        return _module(argv[2:], files)
    if argv[0] not in SIMPLE:
        raise ValueError(f"{argv[0]}: no program that a sheet may use")
    return []


_OF_OUR_MAKE = ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MFLAGS")
"""Variables that `make test ARGS=…` would pass to the make of a sheet."""


def made(line: str) -> list[list[str]]:
    """Return the commands of `make …` without the bootstrap; raise CalledProcessError for a
    bad target."""
    done = subprocess.run(
        [*shlex.split(line), "--dry-run"],
        cwd=REPOSITORY,
        env={name: value for name, value in os.environ.items() if name not in _OF_OUR_MAKE},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [line for line in lines(done.stdout) if line != ["runtime/bootstrap.sh"]]


def _module(argv: Sequence[str], files: Mapping[str, str]) -> list[Spec]:
    name, *_ = argv
    if importlib.util.find_spec(name) is None:
        raise ValueError(f"{name}: no such module")
    return []


def _doorbuster(argv: Sequence[str], files: Mapping[str, str]) -> list[Spec]:
    context, rest = click.Context(main, info_name="doorbuster"), list(argv)
    while isinstance(context.command, click.Group):
        name, command, rest = context.command.resolve_command(context, rest)
        assert name is not None
        assert command is not None
        if not isinstance(command, click.Group):
            break
        context = click.Context(command, context, name)
    if "--help" in rest:
        return []
    if name == "exec":
        return _module(rest[2:], files) if rest[0].endswith("python") else check(rest, files)
    if name not in _EXPERIMENTS:
        command.make_context(name, rest)
        return []

    def load(named: str) -> Spec:
        written = files.get(named)
        if written is not None:
            return checked(read_spec(written, named), named)
        return load_checked(named)

    return [spec_of([name, *rest], load)]
