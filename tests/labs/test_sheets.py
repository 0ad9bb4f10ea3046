"""Every sheet has the form that a student knows from the one before; nothing in it leads nowhere.

Nothing is run here: `make test-labs` does (test_running.py).
"""

import re
import shutil
import struct
from urllib.parse import unquote

import pytest

from lab.leaderboard.run_study import STUDIES
from lab.lessons import readings
from lab.lessons.sheet import (
    FOLDER,
    NONE,
    Band,
    Sheet,
    Step,
    number,
    range_of,
    sheets,
    table,
    words_of,
)
from lab.spec.experiment import load_spec
from lab.students.template import write_policy
from lab.studies.registry import PAPERS
from tests.labs import addresses, commands
from tests.labs.sheets import (
    QUESTIONS_MIN,
    SECTIONS,
    STEPS_MIN,
    links,
    pages,
    prose,
)
from tests.labs.sheets import addresses as addresses_of
from tests.labs.small_results import small_result
from tests.labs.wrong_systems import WRONG_SYSTEMS, WrongSystem, in_place, wrong_systems

SHEETS = pytest.mark.parametrize("sheet", sheets(), ids=lambda sheet: sheet.name)
INSTRUCTOR = (FOLDER / "instructor.md").read_text(encoding="utf-8")
PICTURES = FOLDER.parent / "images" / "labs"
MOST_BYTES = 150_000
WIDTH_PX = 1280


def test_there_are_sheets():
    assert sheets()
    assert [int(sheet.name[:2]) for sheet in sheets()] == list(range(1, len(sheets()) + 1))


@SHEETS
def test_a_sheet_has_the_form_of_all_others(sheet: Sheet):
    assert re.findall(r"^## (.+)$", sheet.text, re.MULTILINE) == list(SECTIONS)
    assert sheet.text.startswith(f"# Lab {int(sheet.name[:2])}: ")
    steps = sheet.steps
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert sheet.section("Steps").count("\n### ") == len(steps)
    for step in steps:
        assert step.commands or addresses_of(step.text), f"step {step.number} does nothing"
    assert len(sheet.questions) >= 4


@SHEETS
def test_a_sheet_asks_for_predictions(sheet: Sheet):
    """In at least two steps, once in a step, and before the step's last command."""
    asking = [step for step in sheet.steps if step.asks_prediction]
    assert len(asking) >= 2
    for step in asking:
        assert sum(part.is_prediction for part in step.parts) == 1
        assert step.answer, f"step {step.number} has nothing to look at"
        if step.commands:
            assert step.before_answer[-1].command, f"step {step.number} predicts afterwards"


@SHEETS
def test_the_steps_leave_time_for_the_questions(sheet: Sheet):
    """Steps take 60 minutes, and the instructor's timing table has the same minutes."""
    minutes = [step.minutes for step in sheet.steps]
    assert sum(minutes) == STEPS_MIN
    timing = INSTRUCTOR.partition("\n## Timing\n")[2].partition("\nThe steps contain")[0]
    _, rows = table(timing)
    (row,) = [row for row in rows if row[0] == f"{sheet.number}"]
    assert row[1] == f"{' + '.join(map(str, minutes))} = {STEPS_MIN}"
    assert row[2] == f"{QUESTIONS_MIN}"


@SHEETS
def test_every_question_has_an_answer(sheet: Sheet):
    """The instructor's page answers the questions at the end and those inside the steps."""
    answers = INSTRUCTOR.partition(f"\n### Lab {sheet.number}\n")[2].partition("\n### ")[0]
    answered = re.findall(r"^(\d+)\. ", answers, re.MULTILINE)
    assert answered == [f"{i}" for i in range(1, len(sheet.questions) + 1)]
    asking = [step.number for step in sheet.steps if "?" in prose(step)]
    assert [n for n in asking if f"\nStep {n}." not in answers] == []


@SHEETS
def test_a_sheet_has_a_wrong_system(sheet: Sheet):
    """At least one wrong system is declared, so that the bands are known to catch something."""
    assert wrong_systems(sheet.number)


@pytest.mark.parametrize("wrong", WRONG_SYSTEMS, ids=lambda wrong: f"{wrong.sheet}: {wrong.what}")
def test_a_wrong_system_makes_what_the_bands_read(wrong: WrongSystem, tmp_path):
    """The command exists, and at least one band of the step can be read from its result."""
    sheet = next(one for one in sheets() if one.number == wrong.sheet)
    bands = [band for band in sheet.bands if band.step == wrong.step]
    assert bands, f"step {wrong.step} has no bands"
    files, specs = sheet.files, []
    made = re.findall(r"> (own/\S+)", wrong.command)  # by sed, of a file of the sheet's
    for argv in commands.lines(wrong.command):
        if not any(file in word for file in made for word in argv):
            specs += commands.check(argv, files)
    if specs:
        result = small_result(specs[-1], tmp_path)
        assert any(is_readable(band, wrong, result) for band in bands)


def is_readable(band: Band, wrong: WrongSystem, result) -> bool:
    """Whether the band's value is in the result of the wrong system."""
    try:
        readings.read(in_place(readings.place_of(band.where), wrong.instead), result, "")
    except readings.UnreadableError:
        return False
    return True


@SHEETS
def test_every_block_that_looks_like_a_command_is_one(sheet: Sheet):
    blocks = sheet.section("Steps").count("\n```") // 2
    assert sum(len(step.commands) for step in sheet.steps) == blocks


@SHEETS
def test_every_command_is_one_that_there_is(sheet: Sheet):
    files = sheet.files
    for step in sheet.steps:
        for command in step.commands:
            for text in {command.text, command.quick} if command.file is None else ():
                for argv in commands.lines(text):
                    commands.check(argv, files)


@SHEETS
def test_a_button_of_the_console_starts_what_make_would(sheet: Sheet):
    """The console's words of `doorbuster` are those of the Makefile."""
    lines = [line for step in sheet.steps for command in step.commands
             if command.file is None for line in command.text.splitlines()]  # fmt: skip
    for line in lines:
        if line.startswith("make ") and (words := words_of(line)):
            assert commands.made(line) == [[".venv/bin/doorbuster", *words]]


@SHEETS
def test_every_band_is_of_a_figure_that_there_is(sheet: Sheet, tmp_path):
    made = {step.number: small(sheet, step, tmp_path) for step in sheet.steps}
    assert sheet.bands
    for band in sheet.bands:
        place = readings.place_of(band.where)
        if place.kind != "claim":
            is_within(band)
        result, papers = made[band.step]
        if place.kind in ("claim", "held"):
            claims = [claim.text for paper in papers for claim in paper.claims]
            assert claims, f"step {band.step} reproduces nothing"
            matching = sum(claim.startswith(place.name) for claim in claims)
            assert place.kind == "held" or matching == 1, place.name
        elif place.kind == "table" and not papers:
            readings.read(place, result, "")


def is_within(band: Band) -> None:
    """The expected value is in the quiet machine's range, and that in the busy machine's."""
    lowest, highest = range_of(band.quiet)
    assert lowest < highest, band.figure
    assert lowest <= number(band.expected) <= highest, band.figure
    if band.busy != NONE:
        assert range_of(band.busy)[0] <= lowest < highest <= range_of(band.busy)[1], band.figure


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A folder of one's own, where `make new-policy` of the sheets has been."""
    monkeypatch.chdir(tmp_path)
    for sheet in sheets():
        for name in re.findall(r"make new-policy NAME=(\S+)", sheet.text):
            write_policy(name, tmp_path / "own")
        for old, new in re.findall(r"^cp (own/\S+) (own/\S+)$", sheet.text, re.MULTILINE):
            shutil.copy(tmp_path / old, tmp_path / new)


def small(sheet: Sheet, step: Step, folder):
    """A result of the step's last experiment with a handful of customers, and the papers that it
    reproduces."""
    specs, papers = [], []
    for command in step.commands:
        for argv in commands.lines(command.quick) if command.file is None else ():
            specs += commands.check(argv, sheet.files)
            joined = " ".join(argv)
            papers += [
                study(load_spec("leaderboard"), quick=True)
                for name, study in STUDIES.items()
                if re.search(rf"leaderboard {name}\b", joined)
            ]
            papers += [
                paper.build(quick=True)
                for name, paper in PAPERS.items()
                if re.search(rf"reproduce[ -]{name}\b", joined)
            ]
    return (small_result(specs[-1], folder) if specs else None), papers


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_links_and_pictures_are_there(page):
    text = page.read_text(encoding="utf-8")
    for is_picture, words, where in links(text):
        if "://" in where:
            continue
        path, _, anchor = where.partition("#")
        target = (page.parent / unquote(path)).resolve() if path else page
        assert target.exists(), where
        if anchor and target.suffix == ".md":
            assert anchor in _anchors(target.read_text(encoding="utf-8")), where
        if is_picture:
            assert len(words) > 20, f"{where} has no words for those who do not see it"


def _anchors(text: str) -> set[str]:
    """Of the headings, as GitHub makes them."""
    headings = [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]
    kept = ["".join(c for c in one.lower() if c.isalnum() or c in " -_") for one in headings]
    return {one.replace(" ", "-") for one in kept}


def test_every_address_is_one_of_the_appliance():
    named = [each for page in pages() for each in addresses_of(page.read_text(encoding="utf-8"))]
    assert named
    assert addresses.nowhere(named) == []


@SHEETS
def test_a_sheet_shows_a_picture(sheet: Sheet):
    assert any(is_picture for is_picture, _, _ in links(sheet.text))


def test_pictures_are_of_one_width_small_and_shown():
    shown = {
        (page.parent / where).resolve()
        for page in pages()
        for is_picture, _, where in links(page.read_text(encoding="utf-8"))
        if is_picture
    }
    there = set(PICTURES.glob("*"))
    assert there == {one for one in shown if one.parent == PICTURES}
    for path in there:
        head = path.read_bytes()
        assert head[:8] == b"\x89PNG\r\n\x1a\n", path.name
        assert struct.unpack(">I", head[16:20])[0] == WIDTH_PX, path.name
        assert len(head) < MOST_BYTES, path.name
