"""The pages that are written from the code are current, and a page without its place is named."""

import pytest

from runtime.settings import REPOSITORY
from tests.generated_pages import PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    text = (REPOSITORY / name).read_text(encoding="utf-8")
    assert PAGES[name](text) == text, "fix: make pages"


@pytest.mark.parametrize("name", ["docs/settings.md", "docs/gateway.md"])
def test_a_page_that_lost_the_place_of_its_tables_is_a_fault(name: str) -> None:
    with pytest.raises(ValueError, match="has no line '<!--"):
        PAGES[name]("# Another page\n")
