"""Words of the glossary show their entries by hover, focus and tap."""

from collections.abc import Iterator
from typing import Any

import pytest

RESULT = "/results/reference-comparison/"


@pytest.fixture
def page(console, chromium: Any) -> Iterator[Any]:
    """A result that comes with Doorbuster, on a screen that is also touched."""
    context = chromium.new_context(
        viewport={"width": 1300, "height": 900}, has_touch=True, reduced_motion="reduce"
    )
    context.set_default_timeout(60_000)
    tab = context.new_page()
    tab.goto(console.url(RESULT))
    tab.wait_for_selector("main .term")
    yield tab
    context.close()


def head(page: Any, words: str) -> Any:
    return page.locator("thead .term", has_text=words).first


def is_open(page: Any) -> bool:
    found: bool = page.evaluate("document.getElementById('glossary-card').matches(':popover-open')")
    return found


@pytest.mark.browser
def test_a_pointer_shows_an_entry_and_hides_it(page: Any) -> None:
    head(page, "Efficiency").hover()
    card = page.locator("#glossary-card")
    card.wait_for(state="visible")
    assert "Revenue efficiency" in card.inner_text()
    assert "efficiency = confirms / bound" in card.inner_text()
    page.mouse.move(5, 5)
    card.wait_for(state="hidden")


@pytest.mark.browser
def test_the_keyboard_shows_an_entry_and_reaches_its_link(page: Any) -> None:
    bound = head(page, "Bound")
    head(page, "Confirms").focus()
    page.keyboard.press("Tab")
    assert bound.evaluate("one => one === document.activeElement")
    assert is_open(page)
    described = bound.get_attribute("aria-describedby")
    assert "the largest number of confirms" in page.locator(f"#{described}").inner_text().lower()
    assert bound.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert not is_open(page)
    assert bound.get_attribute("aria-describedby") is None
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    link = page.locator("#glossary-card a")
    assert link.evaluate("one => one === document.activeElement")
    assert link.get_attribute("href") == "/docs/glossary.html#bound"
    page.keyboard.press("Escape")
    assert not is_open(page)
    assert bound.evaluate("one => one === document.activeElement")


@pytest.mark.browser
def test_a_tap_shows_an_entry_and_a_tap_elsewhere_hides_it(page: Any) -> None:
    head(page, "Estimated").tap()
    assert is_open(page)
    page.locator("h1").first.tap()
    assert not is_open(page)


@pytest.mark.browser
def test_a_policy_is_explained_once_in_a_table(page: Any) -> None:
    table = page.locator("table", has_text="Efficiency").first
    names = table.locator("tbody .term").all_inner_texts()
    assert "8Q-LIFO-Pri" in names
    assert len(names) == len(set(names))
