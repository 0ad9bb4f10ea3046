"""The tasks of a newcomer, by keyboard alone: launch, compare, ask why, change, write, delete."""

from typing import Any

import pytest

from tests.lab.console.browsing import choose, press, tab_to, type_into
from tests.lab.console.conftest import Console, visiting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

RACE = "reference-race"
SIMULATED = "/launch/lifo-pri-simulated/"


@pytest.fixture(scope="module")
def result(console: Console) -> str:
    """The name of a finished result with two policies and two repetitions."""
    launch = console.launch("Mine", sessions=150, repetitions=2)
    console.wait_until(launch, "done")
    return console.result_of(launch)


def test_the_first_launch_leads_to_its_verdict(console: Console, chromium: Any) -> None:
    console.start_workers()
    with visiting(chromium, console) as visit:
        page = visit("/")
        press(page, f"a[href='{SIMULATED}']")
        type_into(page, "#id_rho", "2")
        type_into(page, "#id_sessions", "150")
        type_into(page, "#id_repetitions", "2")
        press(page, "button[name=launch]")
        page.wait_for_url("**/results/*/")
        assert page.locator(".verdict p").first.inner_text().startswith("At ρ = 2, ")


def test_three_policies_are_chosen_and_a_fault_is_told_by_its_label(
    console: Console, chromium: Any
) -> None:
    """A wrong launch is refused with the labels of the form; the choice of policies stays."""
    with visiting(chromium, console, bears=("Failed to load resource",)) as visit:
        page = visit(SIMULATED)
        press(page, "input[name=policies][value='door-lifo']", "Space")
        type_into(page, "#id_sessions", "0")
        press(page, ".further-fields summary")
        press(page, "input[name=gateway][value='nginx']", "Space")
        press(page, "button[name=launch]")
        page.wait_for_selector(".fault")
        told = " ".join(page.locator(".fault").all_inner_texts())
        assert "Sessions must be between 1 and 1,000,000." in told
        assert "nginx is a real program, so the simulated engine cannot run it." in told
        assert page.locator(".further-fields").get_attribute("open") is not None
        assert page.is_checked("input[name=policies][value='door-lifo']")


def test_results_are_compared_with_a_reference_and_taken_away(
    console: Console, chromium: Any, result: str
) -> None:
    with visiting(chromium, console) as visit:
        page = visit("/results/")
        for name in (result, RACE):
            press(page, f"input[value='{name}']", "Space")
        press(page, "form[action$='overlay'] button[type=submit]")
        page.wait_for_selector("#curves-charts canvas")
        titles = page.locator("#lines label").all_inner_texts()
        assert any(title.strip().startswith("Mine: ") for title in titles)
        assert any(title.strip().startswith("A small rush") for title in titles)
        page.goto(console.url(f"/results/{result}/"))
        with page.expect_download() as download:
            press(page, ".take a:text('Who sells')")
        assert download.value.suggested_filename == "who-sells.csv"


def test_a_race_leads_to_the_reason_of_a_decision(console: Console, chromium: Any) -> None:
    with visiting(chromium, console) as visit:
        page = visit(f"/results/{RACE}/")
        press(page, "a[href$='/attempts']")
        choose(page, "#run", "DOOR-LIFO")
        press(page, "form.inline button[type=submit]")
        page.wait_for_selector("a[href*='/why?']")
        press(page, "a[href*='/why?']")
        page.wait_for_selector(".story")
        assert page.locator(".answer").first.inner_text()


def test_a_result_is_changed_and_run_again(console: Console, chromium: Any, result: str) -> None:
    """The form has the result's settings, and the way back ends in the result's date."""
    with visiting(chromium, console) as visit:
        page = visit(f"/results/{result}/")
        press(page, "#change")
        page.wait_for_selector("form.launch")
        assert page.input_value("#id_sessions") == "150"
        assert page.inner_text(".trail").rstrip()[-1].isdigit()  # the time of the result
        tab_to(page, "button[name=launch]")
        assert page.locator("button[name=launch]").evaluate(
            "one => one.getBoundingClientRect().bottom <= innerHeight"
        )
