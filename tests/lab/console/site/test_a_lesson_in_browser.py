"""A whole lesson on the running appliance, by keyboard: from a launch to a result brought back."""

import re

import pytest

from tests.lab.console.browsing import choose, press, tab_to, type_into, when
from tests.lab.console.conftest import is_idle
from tests.lab.console.launches.test_launching import commands_of
from tests.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.timeout(1200)]

SHOWN = "document.querySelector('[data-show=\"{}\"]').textContent"


def race(page, lab, seed):
    """Two policies over the same customers; the name of the result."""
    page.goto(lab.url("/race/"))
    type_into(page, "#id_sessions", "400")
    type_into(page, "#id_seed", str(seed))
    press(page, "main form button[type=submit]")
    page.wait_for_selector(".race-runs[data-ready]")
    return re.search(r"result=([^&]+)", page.url)[1]


def test_launch_watch_switch_cancel_race_compare_take_away_bring_back(
    visit, lab, appliance, tmp_path
):
    page = visit("/")
    press(page, "a[href='/launch/lifo-pri/']")
    type_into(page, "#id_rho", "2")
    type_into(page, "#id_sessions", "5000")
    press(page, "main form summary")  # the settings that few change
    type_into(page, "#id_time_scale", "20")
    press(page, "button[name=launch]")
    page.wait_for_url("**/launches/*/")
    launch = page.url.rstrip("/").rsplit("/", 1)[-1]

    press(page, "#watch")
    when(page, f"{SHOWN.format('run')}.includes('run 1/3')")
    when(page, f"parseInt({SHOWN.format('waiting')}) > 0")
    choose(page, "#id_policy", "Always-LIFO")
    when(page, "document.querySelectorAll('#policy-parameters input').length > 0")
    press(page, "#switch")
    when(page, f"{SHOWN.format('policy')} === 'Always-LIFO'")
    when(page, "document.activeElement.id === 'switch'")  # the form is a new one
    assert page.inner_text("#policy-control [role=status]").startswith("Applied at ")

    page.goto(lab.url(f"/launches/{launch}/"))
    press(page, "#says")
    tab_to(page, "#output")
    page.evaluate("document.querySelector('.state').dataset.old = 'yes'")
    when(page, "!document.querySelector('.state').dataset.old")  # renewed: what is read stays
    assert page.is_visible("#output")
    assert page.evaluate("document.activeElement.id") == "output"
    press(page, "#cancel")
    when(page, "document.querySelector('.state .tag').textContent === 'cancelled'")
    assert not commands_of(lab)
    until(lambda: is_idle(appliance), "an idle shop")

    first, second = (race(page, lab, seed) for seed in (1, 2))
    page.goto(lab.url("/results/"))
    for name in (second, first):  # the newest stands first
        press(page, f"input[value='{name}']", "Space")
    press(page, "form[action$='overlay'] button[type=submit]")
    page.wait_for_selector("#curves-charts canvas")
    assert page.locator("#lines input").count() == 4
    choose(page, "#against", "confirms")
    when(page, "location.search.includes('against=')")

    page.goto(lab.url(f"/results/{first}/"))
    page.wait_for_selector("#curves-charts canvas")
    table = page.locator("table").first.inner_text()
    with page.expect_download() as download:
        press(page, "a[href$='bundle.zip']")
    bundle = tmp_path / download.value.suggested_filename
    download.value.save_as(bundle)
    page.goto(lab.url(f"/results/{first}/delete"))
    press(page, "button.danger")
    page.wait_for_selector(".message.success")
    assert lab.get(f"/results/{first}/").status_code == 404
    page.set_input_files("#bundle", bundle)
    press(page, "form[action$='import'] button[type=submit]")
    page.wait_for_url(f"**/results/{first}/")
    assert page.locator("table").first.inner_text() == table
