"""A step of a lesson and its hand-in, by keyboard alone and without scripts."""

from typing import Any

import pytest

from tests.lab.console.browsing import press, type_into
from tests.lab.console.conftest import Console, visiting

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
STEP = "/lessons/1/steps/7/"


def test_a_step_is_done_and_handed_in_by_keyboard(console: Console, chromium: Any) -> None:
    console.start_workers()
    with visiting(chromium, console) as visit:
        page = visit("/")
        press(page, "a.button[href='/lessons/1/']")
        press(page, f"a[href='{STEP}']")
        type_into(page, "#id_prediction-7", "In none of them")
        press(page, "form[action$='predict'] button[type=submit]")
        press(page, "form[action$='launch'] button[type=submit]")
        page.wait_for_selector(".findings tbody tr")
        assert page.locator(".findings .tag.done").count() == 4
        type_into(page, "#id_step-7", "Yes, in every column")
        press(page, ".notes button[type=submit]")
        page.wait_for_url("**/lessons/1/steps/8/")
        press(page, "a[href='/lessons/1/questions/']")
        type_into(page, "#id_question-1", "It cannot know which half")
        press(page, "button[name=hand-in]")
        with page.expect_download() as download:
            press(page, "a[href^='/lessons/handed-in/']")
        text = download.value.path().read_text(encoding="utf-8")
    assert download.value.suggested_filename == "lab-1.md"
    for written in ("In none of them", "Yes, in every column", "It cannot know which half"):
        assert f"\n> {written}\n" in text
    assert text.count("| in the range |") == 4


def test_a_step_works_without_scripts(console: Console, chromium: Any) -> None:
    with visiting(chromium, console) as visit:
        page = visit("/lessons/1/steps/4/", java_script_enabled=False)
        page.fill("#id_prediction-4", "Half")
        page.click("form[action$='predict'] button")
        page.wait_for_selector("text=Look at the result")
        page.fill("#id_step-4", "A quarter")
        page.click(".notes button")
        page.wait_for_url("**/lessons/1/steps/5/")
        page.click("text=Back to step 4")
        page.wait_for_url("**/lessons/1/steps/4/")
        assert page.input_value("#id_step-4") == "A quarter"
