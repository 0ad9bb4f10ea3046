"""The leaderboard's page: the reference alone, a board, an older one, damaged files, reports."""

import re

import pytest

from lab.leaderboard import HYSTERESIS, ROBUSTNESS
from lab.spec.experiment import load_spec, read_spec
from tests.lab.console.boards import board, report, written
from tests.lab.console.conftest import FORM


@pytest.fixture(scope="module")
def boards(console):
    """Before there is any; then an old one, the newest, and two that cannot be read."""
    before = console.get("/leaderboard/").text
    written(console, "20260101T000000Z-leaderboard", board(mean=0.123))
    written(console, "20260102T000000Z-leaderboard", board())
    written(console, "20260103T000000Z-leaderboard", "{}")
    written(console, "20260104T000000Z-leaderboard", board(rows=[{"title": "<b>"}]))
    report(console, "20260105T000000Z-leaderboard-robustness", ROBUSTNESS)
    report(console, "20260106T000000Z-leaderboard-hysteresis", HYSTERESIS)
    return before


def test_before_there_is_one_it_shows_the_reference_and_how_to_make_one(boards):
    assert "This board comes with Doorbuster" in boards
    assert "make leaderboard" in boards
    assert "/launch/leaderboard/" in boards
    assert "/launch/leaderboard-hysteresis/" in boards


def test_the_newest_that_can_be_read_is_shown(console, boards):
    text = console.get("/leaderboard/").text
    assert re.search(r'<td class="shade-10" data-value="0.961">0.96 ± 0.02</td>', text)
    assert '<td class="shade-0" data-value="">–</td>' in text
    assert "no measurable difference from DAGOR" in text
    assert "5 of 6 runs are complete" in text
    assert "Few hands carry it." in text
    assert '<th scope="row">Few hands</th><td data-value=""><span class="help">step' in text
    assert "20260103" not in text
    assert "20260104" not in text


def test_an_older_one_has_its_address(console, boards):
    text = console.get("/leaderboard/?of=20260101T000000Z-leaderboard").text
    assert re.search(r'data-value="0.123">0.12<', text)
    assert re.search(r'of=20260101T000000Z-leaderboard" aria-current="page"', text)
    assert console.get("/leaderboard/?of=nothing").status_code == 404
    assert console.get("/leaderboard/?of=20260103T000000Z-leaderboard").status_code == 404


def test_robustness_and_hysteresis_stand_below(console, boards):
    text = console.get("/leaderboard/").text
    assert "20260105T000000Z-leaderboard-robustness/files/figures/robustness.svg" in text
    assert "20260106T000000Z-leaderboard-hysteresis/files/figures/stubborn.svg" in text
    assert "They ask again." in text


def test_the_gallerys_pages_of_the_reports_have_nothing_to_set(console):
    for name in ("leaderboard-robustness", "leaderboard-hysteresis"):
        text = console.get(f"/launch/{name}/").text
        assert f"doorbuster leaderboard {name.removeprefix('leaderboard-')}" in text


@pytest.mark.parametrize("name", ["leaderboard", "door-ablation"])
def test_launched_as_it_is_it_is_the_spec_that_comes_along(console, name):
    spec = load_spec(name)
    fields = FORM | {
        "title": spec.title, "rho": "1, 1.1, 1.2, 1.4, 2, 3", "download": "1",
        "policies": list({policy.name for policy in spec.policy}),
        "admission": list({policy.admission for policy in spec.policy}),
        "sessions": spec.load.sessions, "repetitions": spec.repetitions,
    }  # fmt: skip
    answer = console.post(f"/launch/{name}/", fields)
    assert read_spec(answer.text, "the answer") == spec
    fewer = console.post(f"/launch/{name}/", {**fields, "policies": ["8q-lifo-pri", "door-lifo"]})
    assert len(read_spec(fewer.text, "the answer").policy) < len(spec.policy)


@pytest.mark.browser
def test_a_head_sorts_by_its_column_by_keyboard_too(console, boards, chromium):
    page = chromium.new_page()
    page.set_default_timeout(120_000)
    page.goto(console.url("/leaderboard/"))
    first = page.locator("table.sortable tbody tr").first.locator("th")
    heads = page.locator("table.sortable thead th > button:first-child")
    head = heads.filter(has_text="Policy")
    head.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("th[aria-sort=ascending]")
    assert first.inner_text() == "DOOR-LIFO"
    page.keyboard.press("Enter")
    page.wait_for_selector("th[aria-sort=descending]")
    assert first.inner_text() == "Few hands"
    assert page.get_by_role("status").filter(has_text="Sorted by Policy, descending").count() == 1
    heads.filter(has_text="ρ = 2").click()
    assert first.inner_text() == "DOOR-LIFO"  # the other has no figure, and comes last
    page.close()
