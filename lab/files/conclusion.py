"""The conclusion of a comparison: the content of conclusion.json, which tables and pages show."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

CONCLUSION_FILE: Final = "conclusion.json"
_MOST_NAMES: Final = 40
"""The maximum length of the names of several policies in a short form, in characters."""

_Text = Annotated[str, Field(max_length=10_000)]


class _Part(BaseModel):
    """A part of conclusion.json. The file can come from another machine."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LoadVerdict(_Part):
    """The verdict on the policies at one load."""

    load: _Text
    sentence: _Text
    best: list[_Text]
    """The titles of the best policies. Several policies are best if chance can explain their
    differences or, with too few shared seeds, if their numbers are equal. The list is empty if no
    policy sold or completed anything."""
    is_unsure: bool = False
    """Whether the runs share too few seeds, so that chance may explain the verdict."""

    @property
    def winner(self) -> str:
        """The best policies as a short text; `none` if there are none."""
        if not self.best:
            return "none"
        names = joined(self.best)
        if len(self.best) > 1:
            return f"{names if len(names) <= _MOST_NAMES else 'several'} (alike)"
        return names + (" (may be chance)" if self.is_unsure else "")


class Conclusion(_Part):
    """The verdict at each load, and the lines that a reader needs to judge the tables."""

    verdict: list[LoadVerdict] = []
    """The verdict at each load at which at least two policies can be compared."""
    lines: list[_Text] = []
    """The warnings, the passed checks, and notes on the runs (`lab.analysis.warnings`)."""

    @property
    def sentences(self) -> list[str]:
        """The sentence of each verdict."""
        return [one.sentence for one in self.verdict]

    @property
    def is_unsure(self) -> bool:
        """Whether the runs share too few seeds for at least one of the verdicts."""
        return any(one.is_unsure for one in self.verdict)

    @property
    def winner(self) -> str:
        """A short text, for lists, with the best policies at each load: `DOOR-LIFO`, or `ρ = 1: SQ;
        ρ = 2: DOOR-LIFO`. The text is empty if there is no verdict."""
        winners = [one.winner for one in self.verdict]
        if len(set(winners)) == 1:
            return winners[0]
        return "; ".join(f"ρ = {one.load}: {one.winner}" for one in self.verdict)


def joined(names: Sequence[str]) -> str:
    """Return the names as a list in a sentence: `SQ, 8Q-AF and DOOR-LIFO`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
