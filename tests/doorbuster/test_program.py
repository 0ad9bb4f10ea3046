"""The program `doorbuster`: its table of commands, and what its help imports."""

import os
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from doorbuster import program
from doorbuster.commands import OLDER, main
from doorbuster.program import Entry, Group
from tests.programs import python

IMPORTED = """
import sys
from click.testing import CliRunner
from doorbuster.commands import main
done = CliRunner().invoke(main, sys.argv[1:])
assert done.exit_code == 0, done.output
print(*sorted(sys.modules))
"""


def entries() -> Iterator[tuple[str, Entry]]:
    """Yield every command with its words."""
    for section in main.sections:
        for one in section.entries:
            if isinstance(one, Group):
                yield from ((f"{one.name} {inner.name}", inner) for inner in one.entries)
            else:
                yield one.name, one


@pytest.mark.parametrize(("words", "entry"), list(entries()), ids=lambda one: str(one)[:25])
def test_a_command_of_the_table_explains_itself(words: str, entry: Entry) -> None:
    command = entry.load()
    assert command.help
    assert len(entry.summary) <= 60
    done = CliRunner().invoke(main, [*words.split(), "--help"])
    assert done.exit_code == 0, done.output
    assert "Usage: " in done.output


@pytest.mark.parametrize("older", OLDER)
def test_a_former_name_leads_to_the_present_one(older: str) -> None:
    done = CliRunner().invoke(main, [older, "x"])
    assert done.exit_code == 2
    assert done.stderr == f"Error: {older} is now called: doorbuster {OLDER[older]}\n"
    assert OLDER[older] in dict(entries())


@pytest.mark.parametrize(
    "words", [["--help"], ["policy", "--help"], ["bench", "--help"], ["--version"]], ids=" ".join
)
def test_a_list_of_commands_imports_none_of_them(words: list[str]) -> None:
    done = python("-c", IMPORTED, *words, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"lab", "bench", "numpy", "pyarrow", "pydantic", "django", "psutil"}


@pytest.mark.parametrize(
    ("words", "position", "found"),
    [
        ("doorbuster si", "1", "simulate"),
        ("doorbuster policy ch", "2", "check"),
        ("doorbuster simulate --admission none,sbac-resp", "3", "none,sbac-responsive"),
        ("doorbuster compare --abandonment ignore,can", "3", "ignore,cancel"),
        ("doorbuster compare --gateway hap", "3", "haproxy"),
    ],
)
def test_a_shell_completes_commands(words: str, position: str, found: str) -> None:
    """Completion is click's, for every shell that it knows; the words of a list complete, too."""
    asked = {"_DOORBUSTER_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": position}
    done = python("-m", "doorbuster", env=os.environ | asked)
    assert done.stdout.split() == [f"plain,{found}"]


def test_the_help_of_a_command_needs_no_container(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other calls of the same command go where the appliance runs, with all their words."""
    calls = []

    def run_inside(arguments: list[str]) -> int:
        calls.append(arguments)
        return 7

    monkeypatch.setattr(program, "run_inside", run_inside)
    assert CliRunner().invoke(main, ["results", "draw", "--help"]).exit_code == 0
    assert calls == []
    assert CliRunner().invoke(main, ["results", "draw", "x"]).exit_code == 7
    assert CliRunner().invoke(main, ["compare", "--rho", "2"]).exit_code == 7
    assert calls == [["results", "draw", "x"], ["compare", "--rho", "2"]]


def test_ctrl_c_ends_with_its_status(monkeypatch: pytest.MonkeyPatch) -> None:

    @click.command()
    def slow() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Entry, "load", lambda entry: slow)
    done = CliRunner().invoke(main, ["policy", "list"])
    assert (done.exit_code, done.stderr) == (130, "\nInterrupted.\n")
