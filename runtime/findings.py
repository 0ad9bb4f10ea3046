"""What the doctor says of one condition.

Owns: the shape of a line. Must not know: what is looked at.
"""

from enum import StrEnum
from typing import NamedTuple, Self


class Verdict(StrEnum):
    """What a check found."""

    GOOD = "[green]✓[/]"
    BEWARE = "[yellow]![/]"
    BAD = "[red]✗[/]"


class Finding(NamedTuple):
    """One line: what was looked at, what was found, and the fix if there is one to make."""

    verdict: Verdict
    subject: str
    found: str
    fix: str = ""

    @classmethod
    def of(cls, verdict: Verdict, subject: str, words: object) -> Self:
        """From the words of an error, which may end with `; fix: …`."""
        found, _, fix = str(words).partition("; fix: ")
        return cls(verdict, subject, found, fix)
