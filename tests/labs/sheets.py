"""Lab sheets as the tests read them: steps, commands, bands, links, pictures.

docs/labs/README.md, *The form of a sheet*, describes the form.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path

from runtime.settings import REPOSITORY

FOLDER = REPOSITORY / "docs" / "labs"
SECTIONS = (
    "Aim",
    "Before you start",
    "Steps",
    "Questions",
    "What you should find",
    "Going further",
)
BAND_COLUMNS = ("Figure", "Step", "Read from", "Expected", "Quiet machine", "Busy machine")
NONE = "–"
"""A cell of the bands that has no value."""
STEPS_MIN = 60
"""The minutes of all steps of a sheet together."""
QUESTIONS_MIN = 30
"""Minutes that are left for its questions."""

_STEP = re.compile(r"^### Step (\d+)\. (.+) \((\d+) min\)$", re.MULTILINE)
_BLOCK = re.compile(
    r"^```(?P<kind>\S+) lab(?: (?P<file>\S+))?\n(?P<text>.*?)^```\n(?P<after>(?:<!--.*?-->\n)*)",
    re.MULTILINE | re.DOTALL,
)
_QUICK = re.compile(r"<!-- quick: (.*?) -->", re.DOTALL)
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_URL = re.compile(r"https?://127\.0\.0\.1:\d+[^\s)>`'\"]*")


@dataclass(frozen=True, slots=True)
class Command:
    """A block that a student types, or a file that a student writes."""

    text: str
    """The text in the sheet."""
    quick: str
    """The command that the test runs instead; the same where the sheet has no quick form."""
    file: str | None
    """The path of a file to write, from the repository's folder."""


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered step of a sheet."""

    number: int
    title: str
    minutes: int
    text: str

    @property
    def commands(self) -> list[Command]:
        """Return the step's blocks marked `lab`, in their order."""
        found = []
        for block in _BLOCK.finditer(self.text):
            quick = _QUICK.search(block["after"])
            found.append(
                Command(block["text"], quick[1] if quick else block["text"], block["file"])
            )
        return found

    @property
    def words(self) -> str:
        """Return the text without its blocks, comments and addresses."""
        text = re.sub(r"```.*?```|<!--.*?-->", "", self.text, flags=re.DOTALL)
        return _URL.sub("", text)

    @property
    def links(self) -> list[tuple[bool, str, str]]:
        """Return for each link whether it is a picture, its words, and its target."""
        return links(self.text)


@dataclass(frozen=True, slots=True)
class Band:
    """A row of *What you should find*: a value with its allowed ranges."""

    figure: str
    step: int
    where: str
    """The place where students and the test read the value (tests/labs/readings.py)."""
    expected: str
    quiet: str
    """`2.2 to 2.9`: the range on a machine that does nothing else."""
    busy: str
    """The wide range, for a machine with other work; NONE where the machine does not matter."""

    @property
    def range(self) -> tuple[float, float]:
        """Return the range that the test requires: the wide one where there is one."""
        return range_of(self.quiet if self.busy == NONE else self.busy)

    def holds(self, found: float | str) -> bool:
        """Return whether a value is in the required range; words (yes, no) must be the expected
        ones."""
        if isinstance(found, str):
            return found == self.expected
        lowest, highest = self.range
        return lowest <= found <= highest


@dataclass(frozen=True, slots=True)
class Sheet:
    """One session."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Return the name of the file, without its ending."""
        return self.path.stem

    @property
    def number(self) -> int:
        """Return the number of the lab."""
        return int(self.name[:2])

    @property
    def headings(self) -> list[str]:
        """Return its sections, in their order."""
        return re.findall(r"^## (.+)$", self.text, re.MULTILINE)

    def section(self, heading: str) -> str:
        """Return the text under a heading of the second level."""
        _, _, rest = self.text.partition(f"\n## {heading}\n")
        return rest.partition("\n## ")[0]

    @property
    def steps(self) -> list[Step]:
        """Return the steps in their order."""
        text = self.section("Steps")
        found = list(_STEP.finditer(text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        return [
            Step(int(match[1]), match[2], int(match[3]), text[match.end() : end])
            for match, end in zip(found, ends, strict=True)
        ]

    @property
    def questions(self) -> list[str]:
        """Return the numbered questions at the end."""
        return [line for line in self.section("Questions").splitlines() if line[:1].isdigit()]

    @property
    def bands(self) -> list[Band]:
        """Return the rows of *What you should find* that the test checks."""
        header, rows = table(self.section("What you should find"))
        if header[: len(BAND_COLUMNS)] != list(BAND_COLUMNS):
            raise ValueError(f"{self.name}: the table's columns are {header}")
        return [
            Band(figure, int(step), where, expected, quiet, busy)
            for figure, step, where, expected, quiet, busy in rows
        ]


def links(text: str) -> list[tuple[bool, str, str]]:
    """Return links and pictures of a text: whether each is a picture, its words, its target."""
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return [(bool(mark), words, where) for mark, words, where in _LINK.findall(shown)]


def addresses(text: str) -> list[str]:
    """Return the addresses of the running appliance that a text names."""
    return [found.rstrip(".,;:") for found in _URL.findall(text)]


def table(text: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the first Markdown table of a text; empty where there is none."""
    lines = [line.strip() for line in text.splitlines()]
    after = dropwhile(lambda line: not line.startswith("|"), lines)
    lines = list(takewhile(lambda line: line.startswith("|"), after))
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return (rows[0], rows[2:]) if rows else ([], [])


def number(text: str) -> float:
    """Return the (measured) mean of `1,479`, `52 ± 2 %` or `published | 0.7 ± 0.1`.

    Raises ValueError.
    """
    measured = text.rpartition("|")[2].partition("±")[0]
    return float(measured.strip().removesuffix("%").strip().replace(",", "").replace("−", "-"))


def range_of(text: str) -> tuple[float, float]:
    """Return `−0.05 to 0.35` as two numbers. Raises ValueError for anything else."""
    lowest, to, highest = text.partition(" to ")
    if not to:
        raise ValueError(f"{text!r} is not a range; write `lowest to highest`")
    return number(lowest), number(highest)


@cache
def sheets() -> tuple[Sheet, ...]:
    """Return all sheets, in the order of the course."""
    return tuple(
        Sheet(path, path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("[0-9][0-9]-*.md"))
    )


def pages() -> list[Path]:
    """Return every page of the folder, the index and the instructor's among them."""
    return sorted(FOLDER.glob("*.md"))
