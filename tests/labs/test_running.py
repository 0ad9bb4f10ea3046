"""Every command of every sheet runs, in its quick form, on an appliance of the tests' own.

What comes out lies in the bands that the sheet gives its students; what a wrong system gives does
not.
"""

import pytest

from lab.lessons.readings import Place, UnreadableError, place_of, read
from lab.lessons.sheet import Band, Outcome, Sheet, sheets
from tests.labs.running import Class, Done, students_files, write
from tests.labs.wrong_systems import WRONG_SYSTEMS, WrongSystem, in_place

pytestmark = pytest.mark.timeout(3600)


@pytest.mark.parametrize("sheet", sheets(), ids=lambda sheet: sheet.name)
def test_a_sheet_can_be_done_and_finds_what_it_says(sheet: Sheet, appliance):
    """A student who does the steps finds values within the bands."""
    done: dict[int, Done] = {}
    here = Class(appliance)
    with students_files(sheet):
        for step in sheet.steps:
            here.opens(step)
            done[step.number] = here.does(step)
    found = [(band, value_of(place_of(band.where), done[band.step])) for band in sheet.bands]
    for band, value in found:
        print(words(sheet, band, value))
    assert not [
        words(sheet, band, value)
        for band, value in found
        if isinstance(value, UnreadableError) or band.outcome(value) is Outcome.OUTSIDE
    ]


@pytest.mark.parametrize("wrong", WRONG_SYSTEMS, ids=lambda wrong: f"{wrong.sheet}: {wrong.what}")
def test_a_wrong_system_is_caught_by_a_band(wrong: WrongSystem, appliance):
    """At least one band of the step does not hold for a system that is wrong."""
    sheet = next(one for one in sheets() if one.number == wrong.sheet)
    with students_files(sheet):
        for command in (command for step in sheet.steps for command in step.commands):
            if command.file:
                write(command)
        done = Class(appliance).types(wrong.command)
    bands = [band for band in sheet.bands if band.step == wrong.step]
    found = [
        (band, value_of(in_place(place_of(band.where), wrong.instead), done)) for band in bands
    ]
    for band, value in found:
        print(words(sheet, band, value))
    readable = [(band, value) for band, value in found if not isinstance(value, UnreadableError)]
    assert readable, f"no band can be read: {[str(value) for _, value in found]}"
    assert any(band.outcome(value) is Outcome.OUTSIDE for band, value in readable), [
        words(sheet, band, value) for band, value in readable
    ]


def value_of(place: Place, done: Done) -> float | str | UnreadableError:
    """Return the value, or why there is none."""
    try:
        return read(place, done.folder, done.printed)
    except UnreadableError as fault:
        return fault


def words(sheet: Sheet, band: Band, value: float | str | UnreadableError) -> str:
    """Say what a band expects and what was found."""
    return (
        f"{sheet.name}, step {band.step}: {band.figure}: {value} (expected {band.expected}, quiet "
        f"{band.quiet}, busy {band.busy}; {band.where})"
    )
