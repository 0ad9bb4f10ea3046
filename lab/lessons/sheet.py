"""Parse a lab sheet into steps, commands, predictions, expected ranges and questions.

docs/labs/authors.md describes the format.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from itertools import dropwhile, takewhile
from pathlib import Path

from runtime.settings import REPOSITORY

FOLDER = REPOSITORY / "docs" / "labs"
BAND_COLUMNS = ("Figure", "Step", "Read from", "Expected", "Quiet machine", "Busy machine")
NONE = "–"
"""The text of an empty cell in the table *What you should find*."""
PREDICT = "**Predict.** "
"""The beginning of a paragraph that asks for a prediction."""

_STEP = re.compile(r"^### Step (\d+)\. (.+) \((\d+) min\)$", re.MULTILINE)
_BLOCK = re.compile(
    r"^```(?P<kind>\S+) lab(?: (?P<file>\S+))?\n(?P<text>.*?)^```\n(?P<after>(?:<!--.*?-->\n)*)",
    re.MULTILINE | re.DOTALL,
)
_QUICK = re.compile(r"<!-- quick: (.*?) -->", re.DOTALL)
_PREDICTION = re.compile(rf"^{re.escape(PREDICT)}(.+?)(?=\n\n|\n*\Z)", re.MULTILINE | re.DOTALL)
_QUESTION = re.compile(r"^(\d+)\. (.+?)(?=^\d+\. |\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command that a student types, or a file that a student writes."""

    text: str
    """The text of the command or file, as it is in the sheet."""
    quick: str
    """The command that the tests run: the sheet's quick form, or `text` if the sheet has none."""
    file: str | None
    """The path of the file to write, relative to the repository; None for a command."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a step: Markdown, a prediction to write down, or a command."""

    markdown: str = ""
    command: Command | None = None
    is_prediction: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """A numbered step of a sheet."""

    number: int
    title: str
    minutes: int
    text: str

    @property
    def parts(self) -> list[Part]:
        """Return the parts of the step, in the order of the sheet."""
        found: list[Part] = []
        end = 0
        for block in _BLOCK.finditer(self.text):
            found += _prose(self.text[end : block.start()])
            quick = _QUICK.search(block["after"])
            command = Command(block["text"], quick[1] if quick else block["text"], block["file"])
            found.append(Part(command=command))
            end = block.end()
        return [*found, *_prose(self.text[end:])]

    @property
    def commands(self) -> list[Command]:
        """Return the blocks of the step that are marked `lab`, in the order of the sheet."""
        return [part.command for part in self.parts if part.command]

    @property
    def asks_prediction(self) -> bool:
        return any(part.is_prediction for part in self.parts)

    @property
    def before_answer(self) -> list[Part]:
        """Return the parts up to the last prediction or command; all parts if the step asks for no
        prediction.
        """
        return self.parts[: self._answer_begins]

    @property
    def answer(self) -> list[Part]:
        """Return the parts after the last prediction or command; empty if the step asks for no
        prediction."""
        return self.parts[self._answer_begins :]

    @property
    def _answer_begins(self) -> int:
        parts = self.parts
        if not self.asks_prediction:
            return len(parts)
        return 1 + max(i for i, part in enumerate(parts) if part.command or part.is_prediction)


def _prose(text: str) -> Iterator[Part]:
    end = 0
    for asked in _PREDICTION.finditer(text):
        yield from _markdown(text[end : asked.start()])
        yield Part(asked[1].strip(), is_prediction=True)
        end = asked.end()
    yield from _markdown(text[end:])


def _markdown(text: str) -> Iterator[Part]:
    if text.strip():
        yield Part(text.strip())


@dataclass(frozen=True, slots=True)
class Question:
    """A numbered question at the end of a sheet."""

    number: int
    text: str


class Outcome(Enum):
    """The range that contains a measured value."""

    QUIET = "in the range"
    BUSY = "in the range of a busy machine"
    OUTSIDE = "outside the range"


@dataclass(frozen=True, slots=True)
class Band:
    """A row of the table *What you should find*: a value with its allowed ranges."""

    figure: str
    step: int
    where: str
    """The place from which students, the console and the tests read the value (`readings.py`)."""
    expected: str
    quiet: str
    """The range on a machine without other work, for example `2.2 to 2.9`."""
    busy: str
    """The wider range for a machine with other work; NONE if the machine does not matter."""

    def outcome(self, found: float | str) -> "Outcome":
        """Return which range contains the measured number `found`; a text (yes or no) must equal
        `expected`.
        """
        if isinstance(found, str):
            return Outcome.QUIET if found == self.expected else Outcome.OUTSIDE
        for outcome, limits in ((Outcome.QUIET, self.quiet), (Outcome.BUSY, self.busy)):
            if limits != NONE:
                lowest, highest = range_of(limits)
                if lowest <= found <= highest:
                    return outcome
        return Outcome.OUTSIDE


@dataclass(frozen=True, slots=True)
class Sheet:
    """A lab sheet, with the text of its file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def number(self) -> int:
        return int(self.name[:2])

    @property
    def title(self) -> str:
        """Return the title without the lab's number, for example `Watch a shop collapse`."""
        return self.text.partition("\n")[0].partition(": ")[2]

    def section(self, heading: str) -> str:
        """Return the text below a heading of the second level; empty if the heading is missing."""
        _, _, rest = self.text.partition(f"\n## {heading}\n")
        return rest.partition("\n## ")[0]

    @property
    def steps(self) -> list[Step]:
        """Return the steps of the sheet, in their order."""
        text = self.section("Steps")
        found = list(_STEP.finditer(text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        return [
            Step(int(match[1]), match[2], int(match[3]), text[match.end() : end])
            for match, end in zip(found, ends, strict=True)
        ]

    @property
    def files(self) -> dict[str, str]:
        """Return the text of each file that a student writes, by its path."""
        commands = [command for step in self.steps for command in step.commands]
        return {command.file: command.text for command in commands if command.file}

    @property
    def questions(self) -> list[Question]:
        """Return the numbered questions at the end of the sheet."""
        found = _QUESTION.findall(self.section("Questions"))
        return [Question(int(number), text.strip()) for number, text in found]

    @property
    def bands(self) -> list[Band]:
        """Return the rows of the table *What you should find*, whose columns are BAND_COLUMNS."""
        header = f"| {' | '.join(BAND_COLUMNS)} |"
        _, found, rest = self.text.partition(header)
        if not found:
            raise ValueError(f"{self.name} has no table with the header {header}")
        _, rows = table(header + rest)
        return [
            Band(figure, int(step), where, expected, quiet, busy)
            for figure, step, where, expected, quiet, busy in rows
        ]


def table(text: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and rows of the first Markdown table in a text; empty if there is no
    table."""
    lines = [line.strip() for line in text.splitlines()]
    after = dropwhile(lambda line: not line.startswith("|"), lines)
    lines = list(takewhile(lambda line: line.startswith("|"), after))
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return (rows[0], rows[2:]) if rows else ([], [])


def number(text: str) -> float:
    """Return the measured mean in a text such as `1,479`, `52 ± 2 %` or `published | 0.7 ± 0.1`.

    Raises ValueError if the text has another form.
    """
    measured = text.rpartition("|")[2].partition("±")[0]
    return float(measured.strip().removesuffix("%").strip().replace(",", "").replace("−", "-"))


def range_of(text: str) -> tuple[float, float]:
    """Return the limits of a range such as `−0.05 to 0.35`; raises ValueError for another text."""
    lowest, to, highest = text.partition(" to ")
    if not to:
        raise ValueError(f"{text!r} is not a range; write `lowest to highest`")
    return number(lowest), number(highest)


@cache
def sheets() -> tuple[Sheet, ...]:
    """Return all lab sheets, in the order of the course."""
    return tuple(
        Sheet(path, path.read_text(encoding="utf-8"))
        for path in sorted(FOLDER.glob("[0-9][0-9]-*.md"))
    )


_TARGET = re.compile(r"(compare|simulate|leaderboard)|(reproduce)-(.+)")
"""The make targets that run the `doorbuster` command of the same name, with ARGS as arguments."""


def words_of(line: str) -> tuple[str, ...]:
    """Return the arguments that a line passes to `doorbuster`; empty if it runs another program."""
    program, *rest = shlex.split(line)
    if program.endswith("/doorbuster"):
        return tuple(rest)
    target = _TARGET.fullmatch(rest[0]) if program == "make" and rest else None
    if target is None:
        return ()
    given = [one.removeprefix("ARGS=") for one in rest[1:] if one.startswith("ARGS=")]
    named = [word for word in target.groups() if word]
    return (*named, *(word for text in given for word in shlex.split(text)))
