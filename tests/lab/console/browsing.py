"""Using a page as people do: waiting for what it shows, going through it by keyboard."""

from typing import Any

from tests.lab.console.conftest import PATIENCE_S

MOST_TABS = 200
"""No page has more that can be reached."""


def when(page: Any, condition: str) -> None:
    """Waits until the JavaScript expression holds."""
    # As a function: the page's own policy lets nobody evaluate text.
    page.wait_for_function(f"() => {condition}", timeout=1000 * PATIENCE_S)


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until the focus is on what the selector means; fails if it never comes there."""
    target = page.locator(selector).first
    target.wait_for()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if target.evaluate("one => one === document.activeElement"):
            return
    raise AssertionError(f"{selector} is not reached by the keyboard")


def press(page: Any, selector: str, key: str = "Enter") -> None:
    """Go there by Tab and press the key."""
    tab_to(page, selector)
    page.keyboard.press(key)


def type_into(page: Any, selector: str, text: str) -> None:
    """Go there by Tab and write `text` instead of what is there."""
    tab_to(page, selector)
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def choose(page: Any, selector: str, title: str) -> None:
    """Go to a select by Tab and move in it to what begins with `title`."""
    tab_to(page, selector)
    wanted = page.locator(selector).locator("option", has_text=title).first.get_attribute("value")
    page.keyboard.press("Home")
    for _ in range(page.locator(f"{selector} option").count()):
        if page.locator(selector).input_value() == wanted:
            return
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{selector} does not come to {title}")
