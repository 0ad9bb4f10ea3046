"""The comparison of a person's values with the bands (expected ranges) of a step."""

from dataclasses import dataclass

from lab.console.lessons.work import Work
from lab.console.results import result_list
from lab.console.site.settings import LAB
from lab.lessons.readings import Place, UnreadableError, place_of, read
from lab.lessons.sheet import Band, Outcome, number
from lab.students.scoreboard import FOLDER as SCOREBOARD


@dataclass(frozen=True, slots=True)
class Finding:
    """A band and the person's value for it."""

    band: Band
    field: str
    """The name of the field for a typed value; empty if the console reads it from a result."""
    value: float | str | None
    """The person's value; None until the person has one."""

    @property
    def written(self) -> str:
        """Return the value as text; empty if there is no value yet."""
        return f"{self.value:g}" if isinstance(self.value, float) else self.value or ""

    @property
    def outcome(self) -> Outcome | None:
        """Return the range that contains the value, or OUTSIDE; None if there is no value yet."""
        return None if self.value is None else self.band.outcome(self.value)

    @property
    def is_outside(self) -> bool:
        return self.outcome is Outcome.OUTSIDE


def of_step(work: Work, step: int) -> list[Finding]:
    """Return the expected ranges of a step, with this person's values."""
    bands = [band for band in work.sheet.bands if band.step == step]
    return [_finding(work, step, i, band) for i, band in enumerate(bands)]


def _finding(work: Work, step: int, row: int, band: Band) -> Finding:
    place = place_of(band.where)
    if place.kind == "printed":  # the console cannot start such commands
        field = value_field(step, row)
        typed = work.answers.get(field)
        return Finding(band, field, None if typed is None else number(typed))
    return Finding(band, "", _read(work, step, place))


def value_field(step: int, row: int) -> str:
    """Return the name of the field for a value that a person reads from the output of a command."""
    return f"value-{step}-{row}"


def _read(work: Work, step: int, place: Place) -> float | str | None:
    if place.kind == "scoreboard":
        folder = LAB.results_dir / SCOREBOARD
    else:
        entry = result_list.entry_of(work.result_of(step))
        if entry is None:
            return None
        folder = entry.path
    try:
        return read(place, folder, "")
    except (UnreadableError, OSError, ValueError):  # ValueError: a damaged file
        return None
