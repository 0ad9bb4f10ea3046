"""Every concept page has the same form, and its numbers are those that its command prints."""

import re
from pathlib import Path

import pytest

from lab.lessons.sheet import sheets
from tests.concepts.figures import DRAWINGS
from tests.concepts.pages import FIGURES, TRY_IT, Page, pages, printed_tables, run
from tests.labs.commands import check, lines

PAGES = pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
MOST_WORDS = 360
MOST_BYTES = 100_000
EXPLANATION = FIGURES.parent.parent / "explanation.md"


@PAGES
def test_a_page_has_a_figure_a_command_and_numbers(page: Page):
    assert re.findall(r"^#+ .+", page.text, re.MULTILINE)[1:] == [TRY_IT]
    assert len(page.figures) == 1
    assert len(page.commands) == 1
    assert page.tables


@PAGES
def test_a_page_fits_on_a_screen(page: Page):
    assert len(page.prose.split()) <= MOST_WORDS


@PAGES
def test_the_figure_of_a_page_is_a_small_svg_with_a_description(page: Page):
    [(description, file)] = page.figures
    assert file == FIGURES / f"{page.name}.svg"
    assert file.stat().st_size <= MOST_BYTES
    assert len(description.split()) >= 10


def test_every_figure_belongs_to_a_page_and_can_be_drawn_again():
    names = {page.name for page in pages()}
    assert {file.name for file in FIGURES.iterdir()} == {f"{name}.svg" for name in names}
    assert set(DRAWINGS) == names


@PAGES
def test_the_command_of_a_page_exists(page: Page):
    """The command line accepts it, with its spec, policies and options."""
    for argv in lines(page.commands[0]):
        check(argv, {})


@PAGES
def test_a_page_links_to_terms_and_to_a_lab(page: Page):
    assert any(target.startswith("../glossary.md#") for target in page.targets)
    assert any(target.startswith("../labs/0") for target in page.targets)


@PAGES
def test_a_page_is_listed_and_a_lab_sheet_links_to_it(page: Page):
    assert f"\nconcepts/{page.name}\n" in EXPLANATION.read_text(encoding="utf-8")
    assert any(f"(../concepts/{page.name}.md)" in sheet.text for sheet in sheets())


@pytest.mark.long
@PAGES
def test_the_numbers_of_a_page_are_those_that_its_command_prints(page: Page, tmp_path: Path):
    found = list(printed_tables(run(page.commands[0], tmp_path)))
    for table in page.tables:
        assert any(table.is_part_of(one) for one in found), table
