"""The papers' terms are one tap away on every page that has them."""

from collections.abc import Iterator
from typing import Any

import pytest

from lab.report import glossary
from tests.lab.console.boards import board, written

TERMS = {
    "sq": r"SQ",
    "q-lifo-pri": r"8Q-LIFO-Pri",
    "offered-load": r"ρ|[Oo]ffered loads?",
    "confirm": r"[Cc]onfirms",
    "bound": r"[Tt]he bound|Bound",
    "revenue-efficiency": r"[Ee]fficiency",
    "paper-second": r"[Pp]aper seconds?",
    "br-1-home browsing-page": r"Br-1",
}
"""The anchors of a term's entries, one of which suffices, and the term in a page's text."""
PAGES = {
    "experiments": "/",
    "launch form": "/launch/lifo-pri-simulated/",
    "short launch form": "/launch/first-look/",
    "lesson": "/lessons/1/steps/6/",
    "watch": "/watch/",
    "races": "/race/",
    "race": "/race/?result={result}",
    "attempts": "/results/{result}/attempts",
    "playground": "/playground/",
    "results": "/results/",
    "result": "/results/reference-comparison/",
    "overlay": "/results/overlay?of=reference-comparison",
    "leaderboard": "/leaderboard/",
    "scoreboard": "/scoreboard/",
}
MISSING = """terms => {
  const main = document.querySelector("main");
  const shown = [...main.querySelectorAll("*")]
    .filter(one => one.checkVisibility({visibilityProperty: true}));
  const text = shown.flatMap(one => one.matches("script, style, option, code, pre") ? [] :
    [...one.childNodes].filter(node => node.nodeType === 3).map(node => node.data)).join("\\n");
  return Object.entries(terms).filter(([anchor, pattern]) =>
    new RegExp(`(?<![\\\\w-])(?:${pattern})(?![\\\\w-])`, "u").test(text) &&
    ![...main.querySelectorAll(anchor.split(" ").map(one => `[data-term="${one}"]`).join())]
      .some(one => one.checkVisibility())
  ).map(([anchor]) => anchor);
}"""
"""Finds the terms that visible text has and no visible button explains."""


@pytest.fixture(scope="module")
def filled(console: Any) -> Any:
    """A console with a leaderboard, a result to race, and reference results."""
    written(console, "20260102T000000Z-leaderboard", board())
    launch = console.launch("Explained", sessions=100)
    console.wait_until(launch, "done")
    return console, console.result_of(launch)


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    """A phone that is touched."""
    made = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, reduced_motion="reduce"
    )
    made.set_default_timeout(120_000)
    yield made
    made.close()


def test_each_of_the_terms_has_an_entry() -> None:
    assert set(" ".join(TERMS).split()) <= {entry.anchor for entry in glossary.entries()}


@pytest.mark.browser
@pytest.mark.timeout(600)
def test_no_page_has_a_term_that_is_not_explained_on_it(filled: Any, context: Any) -> None:
    console, result = filled
    missing = {}
    for name, path in PAGES.items():
        page = context.new_page()
        errors: list[object] = []
        page.on("pageerror", lambda error, errors=errors: errors.append(error))
        page.goto(console.url(path.format(result=result)))
        page.wait_for_selector("main [data-term]")
        if found := [*page.evaluate(MISSING, TERMS), *errors]:
            missing[name] = found
        page.close()
    assert missing == {}


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_a_term_in_a_sentence_and_a_choice_of_a_list_are_explained(
    filled: Any, context: Any
) -> None:
    console, _ = filled
    page = context.new_page()
    page.goto(console.url("/results/reference-comparison/"))
    page.locator("main p [data-term]").first.tap()
    card = page.locator("#glossary-card")
    card.wait_for(state="visible")
    page.goto(console.url("/watch/"))
    help_of_policy = page.locator(".label-with-help", has_text="Policy").first
    chosen = help_of_policy.locator("label").evaluate("one => one.control.selectedOptions[0].text")
    help_of_policy.locator(".term-help").tap()
    card.wait_for(state="visible")
    assert chosen in card.inner_text()
