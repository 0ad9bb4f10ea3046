"""The playground in a real browser: Python is loaded there, and a slider changes the outcome."""

import pytest

from lab.playground import experiment, pyodide
from tests.lab.console.browsing import press, when
from tests.lab.console.conftest import visiting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

DONE = "document.getElementById('state').textContent.includes('simulated in')"

IN_A_WORKER = """(choice) => new Promise((done) => {
  const addresses = JSON.parse(document.getElementById('addresses').textContent);
  for (const name in addresses) addresses[name] = new URL(addresses[name], location.href).href;
  const source = document.getElementById('worker').dataset.source;
  const worker = new Worker(source, {type: 'module'});
  worker.onmessage = ({data}) => {
    if (data.answer) done(data.answer[0].metrics);
    else worker.postMessage({id: 2, choices: [choice]});
  };
  worker.postMessage({id: 1, load: addresses});
})"""
"""Simulates a choice in the browser; the metrics with all their digits."""


@pytest.fixture(scope="module", autouse=True)
def fetched():
    """Pyodide is there, as after `make playground`."""
    if not pyodide.is_there():
        pyodide.fetch()


def metrics(page):
    """The table of metrics: name → the cells of both policies."""
    rows = page.locator("#metrics tr").all()
    return {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in rows}


def test_the_browser_s_numbers_are_those_of_the_command_line(chromium, console):
    with visiting(chromium, console) as visit:
        page = visit("/playground/?rho=2&sessions=500&seed=7&policy-a=8q-lifo-pri")
        when(page, DONE)
        shown = metrics(page)
        common = {"rho": 2.0, "sessions": 500, "seed": 7}
        here = [
            experiment.run({**common, "policy": policy})["metrics"]
            for policy in ("8q-lifo-pri", "door-lifo")
        ]
        assert shown["Purchases (confirms)"] == [str(one["confirms"]) for one in here]
        assert shown["Bound: the most that any policy could sell"] == [
            f"{one['confirm_bound']:.1f}" for one in here
        ]
        assert shown["Requests completed"] == [
            f"{100 * one['completed_ratio']:.1f} %" for one in here
        ]
        answer = page.evaluate(IN_A_WORKER, {"policy": "door-lifo", **common})
        assert answer == here[1]  # every digit


def test_a_slider_moved_by_keyboard_changes_the_outcome_and_the_link(chromium, console):
    """The address keeps what was set, so that a lecturer can put it on a slide."""
    with visiting(chromium, console) as visit:
        page = visit("/playground/?sessions=300")
        when(page, DONE)
        before = metrics(page)
        press(page, "#rho", "End")
        when(
            page,
            f"{DONE} && location.search.includes('rho=4')",
        )
        page.wait_for_function(
            "(before) => document.querySelector('#metrics td').textContent !== before",
            arg=before["Purchases (confirms)"][0],
        )
        assert "sessions=300" in page.url
        assert "rho=4" in page.url


def test_a_link_that_asks_for_what_is_not_there_shows_the_defaults(chromium, console):
    """A policy of another version must not break the page."""
    with visiting(chromium, console) as visit:
        page = visit("/playground/?policy-a=gone&rho=99&sessions=200")
        when(page, DONE)
        assert page.locator("#policy-a").input_value() == "sq"
        assert page.locator("#rho").input_value() == "4"
