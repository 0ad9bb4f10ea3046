"""Lab sheets as the tests read them: steps, commands, bands, links, pictures.

Owns: the form of a sheet (docs/labs/README.md, *The form of a sheet*). Must not know: how commands
are run, what a result folder looks like.
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
"""Minutes that the steps of a sheet take together."""
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
    """As it stands in the sheet."""
    quick: str
    """What the test runs instead; the same where the sheet has no quick form."""
    file: str | None
    """Of a file to be written: where, from the repository's folder."""


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered step of a sheet."""

    number: int
    title: str
    minutes: int
    text: str

    @property
    def commands(self) -> list[Command]:
        """Its blocks marked `lab`, in their order."""
        found = []
        for block in _BLOCK.finditer(self.text):
            quick = _QUICK.search(block["after"])
            found.append(
                Command(block["text"], quick[1] if quick else block["text"], block["file"])
            )
        return found

    @property
    def words(self) -> str:
        """The text without its blocks, comments and addresses."""
        text = re.sub(r"```.*?```|<!--.*?-->", "", self.text, flags=re.DOTALL)
        return _URL.sub("", text)

    @property
    def links(self) -> list[tuple[bool, str, str]]:
        """Whether it is a picture, its words, where it leads."""
        return links(self.text)


@dataclass(frozen=True, slots=True)
class Band:
    """A row of *What you should find*: a value with the ranges that it may lie in."""

    figure: str
    step: int
    where: str
    """Where students and the test read the value (tests/labs/readings.py)."""
    expected: str
    quiet: str
    """`2.2 to 2.9`: the range on a machine that does nothing else."""
    busy: str
    """The wide range, of a machine with other work; NONE where the machine does not matter."""

    @property
    def range(self) -> tuple[float, float]:
        """The range that the test requires: the wide one where there is one."""
        return range_of(self.quiet if self.busy == NONE else self.busy)

    def holds(self, found: float | str) -> bool:
        """Whether a value lies in the required range; words (yes, no) must be the expected ones."""
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
        """As the file is called."""
        return self.path.stem

    @property
    def number(self) -> int:
        """The number of the lab."""
        return int(self.name[:2])

    @property
    def headings(self) -> list[str]:
        """Its sections, in their order."""
        return re.findall(r"^## (.+)$", self.text, re.MULTILINE)

    def section(self, heading: str) -> str:
        """The text under a heading of the second level."""
        _, _, rest = self.text.partition(f"\n## {heading}\n")
        return rest.partition("\n## ")[0]

    @property
    def steps(self) -> list[Step]:
        """The steps in their order."""
        text = self.section("Steps")
        found = list(_STEP.finditer(text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        return [
            Step(int(match[1]), match[2], int(match[3]), text[match.end() : end])
            for match, end in zip(found, ends, strict=True)
        ]

    @property
    def questions(self) -> list[str]:
        """The numbered questions at the end."""
        return [line for line in self.section("Questions").splitlines() if line[:1].isdigit()]

    @property
    def bands(self) -> list[Band]:
        """The rows of *What you should find* that the test holds."""
        header, rows = table(self.section("What you should find"))
        if header[: len(BAND_COLUMNS)] != list(BAND_COLUMNS):
            raise ValueError(f"{self.name}: the table's columns are {header}")
        return [
            Band(figure, int(step), where, expected, quiet, busy)
            for figure, step, where, expected, quiet, busy in rows
        ]


def links(text: str) -> list[tuple[bool, str, str]]:
    """Links and pictures of a text: whether it is a picture, its words, where it leads."""
    shown = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    return [(bool(mark), words, where) for mark, words, where in _LINK.findall(shown)]


def addresses(text: str) -> list[str]:
    """Addresses of the running appliance that a text names."""
    return [found.rstrip(".,;:") for found in _URL.findall(text)]


def table(text: str) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the first Markdown table of a text; empty where there is none."""
    lines = [line.strip() for line in text.splitlines()]
    after = dropwhile(lambda line: not line.startswith("|"), lines)
    lines = list(takewhile(lambda line: line.startswith("|"), after))
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return (rows[0], rows[2:]) if rows else ([], [])


def number(text: str) -> float:
    """`1,479`, `52 ± 2 %`, `published | 0.7 ± 0.1`: the (measured) mean. Raises ValueError."""
    measured = text.rpartition("|")[2].partition("±")[0]
    return float(measured.strip().removesuffix("%").strip().replace(",", "").replace("−", "-"))


def range_of(text: str) -> tuple[float, float]:
    """`−0.05 to 0.35` as two numbers. Raises ValueError for anything else."""
    lowest, to, highest = text.partition(" to ")
    if not to:
        raise ValueError(f"{text!r} is not a range; write `lowest to highest`")
    return number(lowest), number(highest)


@cache
def sheets() -> tuple[Sheet, ...]:
    """All sheets, in the order of the course."""
    return tuple(
        Sheet(path, path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("[0-9][0-9]-*.md"))
    )


def pages() -> list[Path]:
    """Every page of the folder, the index and the instructor's among them."""
    return sorted(FOLDER.glob("*.md"))
