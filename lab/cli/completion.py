"""Names that a shell completes: specs, policies and results."""

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from gateway.policies import POLICIES
from gateway.students import files
from lab.spec.experiment import SPECS


def beginning(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """Return the names that begin with these letters."""
    return [CompletionItem(name) for name in names if name.startswith(begun)]


def complete_spec(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the included specs that begin so, then files."""
    names = (path.stem for path in sorted(SPECS.glob("*.toml")))
    return [*beginning(names, incomplete), CompletionItem(incomplete, type="file")]


def complete_policy(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the policies that begin so: the included ones, and files in the folder of your own."""
    return beginning(_policies(), incomplete)


def complete_policies(
    _: click.Context, __: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the policies that continue a list with commas."""
    before, comma, begun = incomplete.rpartition(",")
    return beginning((before + comma + name for name in _policies()), before + comma + begun)


def _policies() -> list[str]:
    return [*POLICIES, *files.listed(Path(files.FOLDER))]
