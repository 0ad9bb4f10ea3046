"""The concept pages as the tests read them: text, figure, command and tables.

A page has one screen of text, one figure, and a section *Try it* with one command and its numbers.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterable
from csv import reader
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from runtime.settings import REPOSITORY

FOLDER = REPOSITORY / "docs" / "concepts"
FIGURES = REPOSITORY / "docs" / "images" / "concepts"
TRY_IT = "## Try it"
PATIENCE_S = 900.0

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FIGURE = re.compile(r"^!\[([^\]]+)\]\(([^)]+)\)$", re.MULTILINE)
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a page or of a result."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def is_part_of(self, other: "Table") -> bool:
        """Whether the other table has all columns of this one, and all of its rows in them."""
        if not set(self.header) <= set(other.header):
            return False
        places = [other.header.index(name) for name in self.header]
        return set(self.rows) <= {tuple(row[place] for place in places) for row in other.rows}


@dataclass(frozen=True)
class Page:
    """A concept page."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the page, which is also the name of its figure."""
        return self.path.stem

    @cached_property
    def text(self) -> str:
        """The whole page."""
        return self.path.read_text(encoding="utf-8")

    @property
    def figures(self) -> list[tuple[str, Path]]:
        """Each figure: its description and its file."""
        return [(words, (FOLDER / path).resolve()) for words, path in _FIGURE.findall(self.text)]

    @property
    def commands(self) -> list[str]:
        """Return the commands of *Try it*."""
        return [block.strip() for block in _BLOCK.findall(self.text.partition(TRY_IT)[2])]

    @property
    def tables(self) -> list[Table]:
        """Return the tables of *Try it*."""
        return [_table(block) for block in _TABLE.findall(self.text.partition(TRY_IT)[2])]

    @property
    def prose(self) -> str:
        """Return the text without figure, command, tables and link targets."""
        text = _FIGURE.sub("", _BLOCK.sub("", _TABLE.sub("", self.text)))
        return _LINK.sub(r"\1", text)

    @property
    def targets(self) -> list[str]:
        """Return the targets of all links."""
        return [target for _, target in _LINK.findall(self.text)]


def pages() -> list[Page]:
    """Return all concept pages."""
    return [Page(path) for path in sorted(FOLDER.glob("*.md"))]


def run(command: str, folder: Path) -> Path:
    """Run a page's command with its results in this folder; return the result's folder."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=REPOSITORY,
        env=os.environ | {"DOORBUSTER_RESULTS_DIR": str(folder), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, f"{command}\nended with {done.returncode}:\n{done.stdout}"
    [result] = folder.iterdir()
    return result


def printed_tables(result: Path) -> Iterable[Table]:
    """Yield the tables of a comparison or of a report."""
    if (result / "tables.json").is_file():
        for table in json.loads((result / "tables.json").read_text(encoding="utf-8")):
            yield Table(tuple(table["header"]), tuple(map(tuple, table["rows"])))
    for path in sorted(result.glob("tables/*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            header, *rows = reader(file)
        yield Table(tuple(header), tuple(map(tuple, rows)))


def _table(block: str) -> Table:
    lines = [line.strip().strip("|").split("|") for line in block.splitlines()]
    header, _, *rows = [tuple(cell.strip().replace("\\*", "*") for cell in line) for line in lines]
    return Table(header, tuple(rows))
