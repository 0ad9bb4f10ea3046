"""The form of the doctor's findings."""

from enum import StrEnum
from typing import NamedTuple, Self


class Verdict(StrEnum):
    """The result of a check."""

    GOOD = "[green]✓[/]"
    BEWARE = "[yellow]![/]"
    BAD = "[red]✗[/]"


class Finding(NamedTuple):
    """One line: the subject of the check, the result, and the fix if there is one."""

    verdict: Verdict
    subject: str
    found: str
    fix: str = ""

    @classmethod
    def of(cls, verdict: Verdict, subject: str, words: object) -> Self:
        """Make a finding of the words of an error, which may end with `; fix: …`."""
        found, _, fix = str(words).partition("; fix: ")
        return cls(verdict, subject, found, fix)
