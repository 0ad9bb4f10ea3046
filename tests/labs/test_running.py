"""Every command of every sheet, in its quick form, on an appliance of the tests' own: what comes
out lies in the bands that the sheet tells its students."""

import pytest

from tests.labs.readings import UnreadableError, read
from tests.labs.running import Class, Done, students_files
from tests.labs.sheets import Band, Sheet, sheets

pytestmark = pytest.mark.timeout(3600)


@pytest.mark.parametrize("sheet", sheets(), ids=lambda sheet: sheet.name)
def test_a_sheet_can_be_done_and_finds_what_it_says(sheet: Sheet, appliance):
    done: dict[int, Done] = {}
    here = Class(appliance)
    with students_files(sheet):
        for step in sheet.steps:
            here.opens(step)
            done[step.number] = here.does(step)
    found = [(band, value_of(band, done[band.step])) for band in sheet.bands]
    for band, value in found:
        print(f"{sheet.name}, step {band.step}: {band.figure}: {value}"
              f" ({band.lowest} to {band.highest})")  # fmt: skip
    assert not [
        f"{band.figure}: {value}, not {band.lowest} to {band.highest} ({band.where})"
        for band, value in found
        if isinstance(value, UnreadableError) or not band.holds(value)
    ]


def value_of(band: Band, done: Done) -> float | str | UnreadableError:
    """What stands there, or why nothing does."""
    try:
        return read(band.where, done.folder, done.printed)
    except UnreadableError as fault:
        return fault
