"""The shell's completion of names: specs, policies and results."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import click
from click.shell_completion import CompletionItem

from gateway.policies import POLICIES
from gateway.students import files
from lab.spec.experiment import SPECS

Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def beginning(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """Return the names that begin with the typed letters."""
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def complete_spec(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the included specs that begin with the typed letters, then files."""
    names = (path.stem for path in sorted(SPECS.glob("*.toml")))
    return [*beginning(names, incomplete), CompletionItem(incomplete, type="file")]


def complete_policy(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the included policies and the files in own/ that begin with the typed letters."""
    return beginning(_policies(), incomplete)


def complete_policies(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return completions for the last policy in a list that is separated by commas."""
    return _continued(_policies(), incomplete)


def completing_lists(names: Iterable[str]) -> Complete:
    """Return a function that completes the last name in a list of these names, separated by
    commas.
    """

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _continued(names, incomplete)

    return complete


def _continued(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    before, comma, _ = incomplete.rpartition(",")
    return beginning((before + comma + name for name in names), incomplete)


def _policies() -> list[str]:
    return [*POLICIES, *files.listed(Path(files.FOLDER))]
