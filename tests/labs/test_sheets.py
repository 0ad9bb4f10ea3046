"""Every sheet has the form that a student knows from the one before; nothing in it leads nowhere.

Nothing is run here: `make test-labs` does (test_running.py).
"""

import re
import struct
from urllib.parse import unquote

import pytest

from lab.experiments.leaderboard.studying import STUDIES
from lab.experiments.reproduction.studies import PAPERS
from lab.experiments.spec import load_spec
from lab.experiments.students.template import write_policy
from tests.labs import addresses, commands, readings
from tests.labs.sheets import FOLDER, SECTIONS, Sheet, Step, links, number, pages, sheets
from tests.labs.sheets import addresses as addresses_of
from tests.labs.small_results import small_result

SHEETS = pytest.mark.parametrize("sheet", sheets(), ids=lambda sheet: sheet.name)
PICTURES = FOLDER.parent / "images" / "labs"
MOST_BYTES = 150_000
WIDTH_PX = 1280


def test_there_are_sheets():
    assert sheets()
    assert [int(sheet.name[:2]) for sheet in sheets()] == list(range(1, len(sheets()) + 1))


@SHEETS
def test_a_sheet_has_the_form_of_all_others(sheet: Sheet):
    assert sheet.headings == list(SECTIONS)
    assert sheet.text.startswith(f"# Lab {int(sheet.name[:2])}: ")
    steps = sheet.steps
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert sheet.section("Steps").count("\n### ") == len(steps)
    assert 75 <= sum(step.minutes for step in steps) <= 95
    for step in steps:
        assert step.commands or addresses_of(step.text), f"step {step.number} does nothing"
    questions = [line for line in sheet.section("Questions").splitlines() if line[:1].isdigit()]
    assert len(questions) >= 4


@SHEETS
def test_every_block_that_looks_like_a_command_is_one(sheet: Sheet):
    blocks = sheet.section("Steps").count("\n```") // 2
    assert sum(len(step.commands) for step in sheet.steps) == blocks


@SHEETS
def test_every_command_is_one_that_there_is(sheet: Sheet):
    files = written_by(sheet)
    for step in sheet.steps:
        for command in step.commands:
            for text in {command.text, command.quick} if command.file is None else ():
                for argv in commands.lines(text):
                    commands.check(argv, files)


@SHEETS
def test_every_band_is_of_a_figure_that_there_is(sheet: Sheet, tmp_path):
    made = {step.number: small(sheet, step, tmp_path) for step in sheet.steps}
    assert sheet.bands
    for band in sheet.bands:
        if band.lowest not in ("yes", "no"):
            assert number(band.lowest) < number(band.highest), band.figure
        result, papers = made[band.step]
        place, _, rest = (part.strip() for part in band.where.partition(" > "))
        if place == "Claims":
            claims = [claim.text for paper in papers for claim in paper.claims]
            assert claims, f"step {band.step} reproduces nothing"
            assert rest == "held" or sum(claim.startswith(rest) for claim in claims) == 1, rest
        elif place not in ("Printed", "Scoreboard") and not papers:
            readings.read(band.where, result, "")


@pytest.fixture(autouse=True)
def own(tmp_path, monkeypatch):
    """A folder of one's own, where `make new-policy` of the sheets has been."""
    monkeypatch.chdir(tmp_path)
    for sheet in sheets():
        for name in re.findall(r"make new-policy NAME=(\S+)", sheet.text):
            write_policy(name, tmp_path / "own")


def written_by(sheet: Sheet) -> dict[str, str]:
    """The files that a student writes."""
    return {
        command.file: command.text
        for step in sheet.steps
        for command in step.commands
        if command.file
    }


def small(sheet: Sheet, step: Step, folder):
    """A result of the step's last experiment with a handful of customers, and the papers that it
    reproduces."""
    specs, papers = [], []
    for command in step.commands:
        for argv in commands.lines(command.quick) if command.file is None else ():
            specs += commands.check(argv, written_by(sheet))
            joined = " ".join(argv)
            papers += [
                study(load_spec("leaderboard"), quick=True)
                for name, study in STUDIES.items()
                if re.search(rf"leaderboard {name}\b", joined)
            ]
            papers += [
                paper.study(quick=True)
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
