"""The moving parts in a real browser: the watch page, the race, the keyboard."""

import re

import pytest

from tests.lab.console.browsing import when

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

TEXT = "document.querySelector('[data-show=\"{}\"]').textContent"


def test_watch_shows_who_waits_and_takes_a_switch(visit, queue):
    page = visit("/watch/")
    when(page, "document.querySelectorAll('.strip .request').length >= 20")
    when(page, "document.querySelector('.queue .bar').getBoundingClientRect().width > 10")
    when(page, f"{TEXT.format('in-service')} === '30 / 30'")
    when(page, "document.querySelectorAll('.chart canvas').length === 4")
    for customer in queue:
        customer.close()
    when(page, "document.querySelectorAll('.strip .request.left').length > 0")

    page.click("#policy-control summary")
    page.select_option("#id_policy", "8q-lifo-pri")
    page.wait_for_selector("#id_cpu_upper_threshold")
    page.fill("#id_cpu_upper_threshold", "7")
    page.click("#switch")
    page.wait_for_selector("#policy-control .fault")
    assert page.inner_text("#policy-control .fault").startswith("cpu upper threshold: must be")
    page.fill("#id_cpu_upper_threshold", "0.97")
    page.focus("#switch")
    page.keyboard.press("Enter")
    when(page, f"{TEXT.format('policy')} === '8Q-LIFO-Pri'")
    assert page.inner_text("#policy-control [role=status]").startswith("Applied at ")
    assert page.inner_text("#summary")

    page.click("#shadows-title")
    page.select_option("#shadow_policy", "sq")
    page.wait_for_selector("#shadow_capacity", state="attached")
    page.focus("#ask-also")
    page.keyboard.press("Enter")
    page.wait_for_selector("#shadows [data-rows] th")
    assert page.inner_text("#shadows [data-rows] th") == "SQ"
    page.focus("#shadows [data-rows] button.quiet")
    page.keyboard.press("Enter")
    when(page, "document.querySelector('#shadows [data-some]').hidden")


def test_a_race_plays_and_seeks_by_keyboard(visit, lab):
    page = visit("/race/")
    page.check("text=Always-LIFO")
    page.fill("#id_sessions", "400")
    page.get_by_role("button", name="Race", exact=True).click()
    page.wait_for_selector(".race-runs[data-ready]")
    assert page.locator(".race-run").count() == 3
    when(page, "document.getElementById('clock').textContent !== '0 s'")

    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    when(page, "document.getElementById('play').textContent === 'Play'")
    stands = page.inner_text("#clock")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert page.inner_text("#clock") == stands

    page.keyboard.press("End")
    when(page, "document.getElementById('play').textContent === 'Again'")
    name = re.search(r"result=([^&]+)", page.url)[1]
    confirms = {
        run_card.get_attribute("data-title"): int(run_card.locator(".confirms").inner_text())
        for run_card in page.locator(".race-run").all()
    }
    board = page.locator("#board li")
    assert [int(row.locator(".score").inner_text()) for row in board.all()] == [*confirms.values()]
    for run_card in page.locator(".race-run").all():
        run = run_card.get_attribute("data-run")
        frames = lab.get(f"/race/lanes/{name}/{run}.json").json()
        assert confirms[run_card.get_attribute("data-title")] == frames["confirms_total"][-1]
    best = max(confirms.values())
    leads = "wins" if list(confirms.values()).count(best) == 1 and best else ""
    assert "".join(row.inner_text() for row in page.locator(".leads").all()) == leads
    assert page.inner_text("#summary").startswith("The end")

    page.keyboard.press("Home")
    assert page.inner_text("#clock") == "0 s"
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#clock") != "0 s"

    calm = visit(page.url.removeprefix(lab.url("")), reduced_motion="reduce")
    calm.wait_for_selector(".race-runs[data-ready]")
    assert calm.inner_text("#play") == "Play"
    assert calm.inner_text("#clock") == "0 s"
