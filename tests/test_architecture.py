"""docs/architecture.md shows the packages as they are and leads through files that exist."""

import re

import pytest

from tests import architecture_figure
from tests.test_arrows import REPOSITORY

PAGE = REPOSITORY / "docs" / "architecture.md"
MOST_FILES = 15
MOST_WORDS = 1500
"""The page takes about five minutes to read."""

WALKS = {
    title: re.findall(r"^(\d+)\. \[`([^`]+)`\]\(\.\./([^)]+)\): (.+)$", text, re.MULTILINE)
    for title, text in re.findall(
        r"^## Walk \d: ([^\n]+)\n(.*?)(?=^## |\Z)",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
}
STEPS = [
    pytest.param(path, said, id=path) for steps in WALKS.values() for _, path, _, said in steps
]


def test_the_figure_is_drawn_from_the_present_imports() -> None:
    assert architecture_figure.FILE.read_text(encoding="utf-8") == architecture_figure.drawn(), (
        "python -m tests.architecture_figure"
    )


def test_the_figure_has_each_arrow_that_no_other_implies() -> None:
    arrows = {"a": {"b", "c", "d"}, "b": {"c"}, "c": {"d"}, "d": set[str]()}
    assert architecture_figure.needed(arrows) == {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": set()}


def test_the_walks_are_short_and_in_order() -> None:
    assert list(WALKS) == ["a request", "an experiment", "a student's policy"]
    for title, steps in WALKS.items():
        assert [int(number) for number, *_ in steps] == list(range(1, len(steps) + 1)), title
        assert 5 <= len(steps) <= MOST_FILES, title
        assert all(shown == linked for _, shown, linked, _ in steps), title


@pytest.mark.parametrize(("path", "said"), STEPS)
def test_a_step_names_something_in_its_file(path: str, said: str) -> None:
    text = (REPOSITORY / path).read_text(encoding="utf-8")
    names = re.findall(r"`(\w+)`", said)
    assert names
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_the_page_is_read_in_five_minutes() -> None:
    words = re.sub(r"\]\([^)]+\)|[#|*`]", " ", PAGE.read_text(encoding="utf-8")).split()
    assert len(words) <= MOST_WORDS
