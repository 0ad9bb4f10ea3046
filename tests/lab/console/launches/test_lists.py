"""The queue's and the results' rows, and the open page of a launch that goes to its result."""

import shutil

import pytest

from lab.results.reference import FOLDER
from tests.lab.console.conftest import SPEC, visiting
from tests.lab.console.launch_rows import live_launch, write

pytestmark = pytest.mark.slow


NAME = "20261122T172800Z-a-small-rush"


@pytest.fixture
def result(console):
    """A result of three policies whose conclusion names DOOR-LIFO."""
    path = console.results / NAME
    shutil.copytree(FOLDER / "reference-race", path, dirs_exist_ok=True)
    (path / "reference.json").unlink()
    yield NAME
    shutil.rmtree(path, ignore_errors=True)


def launched(console, state, **fields):
    """A launch of two policies with 300 sessions at one load."""
    spec = SPEC.format(title="In the lists", seed=1, repetitions=2, sessions=1300)
    return live_launch(console, "listed", state, title="In the lists", spec=spec, **fields)


def test_a_row_shows_what_was_launched_and_who_won(console, result):
    times = {"began_at": "2026-11-22T17:28:00Z", "ended_at": "2026-11-22T17:28:40Z"}
    with launched(console, "done", result=result, by="anna", **times):
        row = row_of(console.get("/launches/").text, "launch-listed")
        for said in ("SQ, 8Q-LIFO-Pri", "ρ 1.4", "1,300 sessions", "2 repetitions", "DOOR-LIFO",
                     "40 s", "anna", f"/results/{result}/"):  # fmt: skip
            assert said in row, said
        listed = row_of(console.get("/results/").text, f"/results/{result}/")
        for said in ("SQ, 8Q-LIFO-Pri, DOOR-LIFO", "1.4", "600", "3 of 3", "40 s", "anna"):
            assert said in listed, said


def test_a_running_launch_shows_its_step_and_the_time_left(console):
    now = {"began_at": "2026-11-22T17:28:00Z", "words": "[2/4] SQ at ρ = 1.4", "expected_s": 1e7}
    with launched(console, "running", **now):
        for path in ("/launches/", "/launches/listed/"):
            page = console.get(path).text
            for said in ("[2/4] SQ at ρ = 1.4", "left", "SQ, 8Q-LIFO-Pri", "1,300 sessions"):
                assert said in page, (path, said)


def test_the_banner_of_a_run_that_has_ended_leads_to_its_result(console, result):
    """A page that showed the run asks for the banner again; another page has none."""
    ask = "/watch/running?launch=listed"
    with launched(console, "running"):
        assert f'hx-get="{ask}"' in console.get("/results/").text
        assert "Running live: " in console.get(ask).text
        write(console, "listed", state="done", result=result, ended_at="2026-11-22T17:28:40Z")
        ended = console.get(ask).text
        assert "In the lists: done" in ended
        assert f"/results/{result}/" in ended
        assert "In the lists: done" not in console.get("/results/").text
    for stranger in ("", "?launch=", "?launch=listed", "?launch=%00"):
        assert not console.get(f"/watch/running{stranger}").text.strip()


def test_a_deleted_result_is_not_linked(console):
    with launched(console, "done", result="20260101T000000Z-gone", ended_at="2026-11-22T17:28:40Z"):
        assert "deleted" in row_of(console.get("/launches/").text, "launch-listed")
        assert "/results/20260101" not in console.get("/launches/").text
        assert "/results/20260101" not in console.get("/launches/listed/").text
        assert console.get("/launches/listed/result").status_code == 404


@pytest.mark.parametrize(
    "words",
    ["22 Nov", "22 Nov 2026, 17:28", "Sun 22 Nov, 17:28", "22 November", "2026-11-22 17:28",
     "door-lifo 22 nov"],
)  # fmt: skip
def test_results_are_found_by_dates_as_pages_write_them(console, result, words):
    assert f"/results/{result}/" in console.get("/results/", params={"words": words}).text


def test_results_of_another_day_are_not_found(console, result):
    assert result not in console.get("/results/", params={"words": "23 Nov"}).text


@pytest.mark.browser
def test_an_open_page_goes_to_the_result_by_itself(console, chromium, result):
    """It says so in a region that screen readers read, and a link stays."""
    with launched(console, "running"), visiting(chromium, console) as open_page:
        page = open_page("/launches/listed/")
        other = open_page("/launches/listed/")
        plain = open_page("/launches/listed/", java_script_enabled=False)
        write(console, "listed", state="done", result=result, ended_at="2026-11-22T17:28:40Z")
        for one in (page, other):
            one.get_by_text("The launch is done. The result opens in").wait_for()
            assert one.locator("#leads").get_attribute("role") == "status"
        other.get_by_role("link", name="Stay on this page").click()
        page.wait_for_url(f"**/results/{result}/")
        plain.reload()
        for still in (other, plain):
            still.wait_for_timeout(5000)
            assert still.url.endswith("/launches/listed/")
            assert still.locator("#result").is_visible()


def row_of(page: str, said: str) -> str:
    """Return the row of a table with this text."""
    (row,) = [row for row in page.split("<tr>")[1:] if said in row]
    return row.partition("</tr>")[0]
