"""Watch on one screen: the sentence, the queue, the charts and the controls together."""

import dataclasses
from contextlib import ExitStack
from pathlib import Path

import pytest

from common import ports
from lab.results.comparison import ComparisonResult
from tests.lab.console.browsing import press, tab_to, when
from tests.lab.console.conftest import served, visiting
from tests.lab.console.gateway_scene import Rush, answering

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

CUSTOMERS = {"planned": 100, "started": 60, "confirms": 23, "revenue_cents": 94_000}
SCREEN = {"viewport": {"width": 1366, "height": 768}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True}
SENTENCE = "document.querySelector('.moment').textContent"
TEXT = "document.querySelector('[data-show=\"{}\"]').textContent"
ON_SCREEN = (
    "[...document.querySelectorAll('.moment, #bar, #bar summary, .strip, .queues, .now canvas,"
    " #bar button:not(details:not([open]) *)')]"
    ".filter(one => one.getBoundingClientRect().bottom > innerHeight"
    " || !one.getBoundingClientRect().width).map(one => one.id || one.className || one.tagName)"
)


@dataclasses.dataclass
class Rushing:
    """A console whose gateway has a rush; `console` has a second server of its own."""

    console: object
    scene: Rush
    run: object = None


@pytest.fixture
def rushing(console, tmp_path):
    """Serve a console next to a gateway and a shop that only these tests have."""
    lab_port, gateway_port, shop_port = ports.free(3)
    second = dataclasses.replace(console, port=lab_port)
    scene = Rush()
    with ExitStack() as servers:
        servers.enter_context(answering(scene, gateway_port))
        servers.enter_context(answering(scene, shop_port))
        servers.enter_context(
            served(
                second,
                tmp_path,
                DOORBUSTER_GATEWAY_ADMIN_PORT=str(gateway_port),
                DOORBUSTER_SHOP_CONTROLLER_PORT=str(shop_port),
            )
        )
        yield Rushing(second, scene)


@pytest.fixture
def run(rushing, runs_of):
    """Begin a run whose customers have bought 23 books; return it."""
    first, *_ = runs_of(rushing.console)
    begun = first()
    for plan in Path(rushing.console.results).glob("*/plan.json"):
        folder = ComparisonResult(plan.parent)
        for planned in folder.plan():
            folder.run(planned).path.mkdir(parents=True, exist_ok=True)
    begun.tell(CUSTOMERS)
    return begun


def test_all_that_a_class_needs_is_on_one_screen(chromium, rushing, run):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", **SCREEN)
        when(page, f"{SENTENCE}.includes('One page')")
        said = page.inner_text(".moment")
        assert "88 requests wait, and 27 of their customers have left." in said
        assert (
            "The next request to be served has waited 17 s. Customers leave after 20 s on "
            "average." in said
        )
        assert "One page in three is made for a customer who has left." in said
        assert page.evaluate(ON_SCREEN) == []
        assert page.locator(".strip .request.left:not(.goes)").count() == 27
        assert page.inner_text("[data-show=confirms]") == "23"
        assert page.inner_text("[data-show=revenue]") == "€940"
        page.mouse.wheel(0, 600)
        bar = "document.getElementById('bar').getBoundingClientRect()"
        when(page, f"scrollY > 0 && {bar}.top >= 0 && {bar}.bottom <= innerHeight")


def test_the_pointer_moves_one_cursor_in_all_charts_and_reads_the_marks(chromium, rushing, run):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", **SCREEN)
        when(page, f"{SENTENCE}.includes('88 requests wait')")
        when(page, "document.getElementById('changes').textContent.includes('begins: run 1/2')")
        box = page.locator("#chart-rates .u-over").bounding_box()
        hint = page.locator("#chart-rates .mark-hint")
        for x in range(1, int(box["width"]), 6):  # along the chart, to the line of the begin
            page.mouse.move(box["x"] + x, box["y"] + 30)
            if hint.is_visible():
                break
        when(page, "[...document.querySelectorAll('.now .u-cursor-x')].length === 4")
        places = page.evaluate(
            "[...document.querySelectorAll('.now .u-cursor-x')].map(one => one.style.transform)"
        )
        assert len(set(places)) == 1, places
        assert "begins: run 1/2: SQ" in hint.inner_text()


def test_changes_are_made_and_put_back_by_keyboard(chromium, rushing, run):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", **SCREEN)
        when(page, f"{TEXT.format('policy')} === 'SQ'")
        page.focus("#id_policy")
        page.keyboard.type("8Q-LIFO-Pri")
        page.wait_for_selector("#id_cpu_upper_threshold", state="attached")
        press(page, "#switch")
        when(page, f"{TEXT.format('policy')} === '8Q-LIFO-Pri'")
        assert "now 8Q-LIFO-Pri decides" in page.inner_text("[data-show=run]")
        assert page.inner_text("#policy-control .said").startswith("Applied at ")
        page.select_option("#id_abandonment", "cancel")
        tab_to(page, "#change-abandonment")
        page.keyboard.press("Enter")
        when(page, f"{TEXT.format('abandonment')}.includes('are stopped')")
        press(page, "#as-it-began")
        when(page, f"{TEXT.format('policy')} === 'SQ'")
        when(page, "document.querySelector('#began-control .said').textContent.length > 5")
        assert page.inner_text("#began-control .said").startswith("As it began at ")
        assert page.input_value("#id_policy") == "sq"
        assert page.input_value("#id_abandonment") == "ignore"
        assert rushing.scene.abandonment == "ignore"


def test_the_bar_shows_the_policy_of_a_run_that_begins(chromium, rushing, runs_of):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", **SCREEN)
        when(page, f"{TEXT.format('policy')} === 'SQ'")
        assert page.input_value("#id_policy") == "sq"
        rushing.scene.policy, rushing.scene.abandonment = "8q-lifo-pri", "cancel"
        first, *_ = runs_of(rushing.console)
        first().tell(CUSTOMERS)
        when(page, "document.getElementById('id_policy').value === '8q-lifo-pri'")
        assert page.input_value("#id_abandonment") == "cancel"


def test_a_fault_is_caused_by_keyboard_and_put_back(chromium, rushing, run):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", **SCREEN)
        when(page, f"{TEXT.format('policy')} === 'SQ'")
        press(page, "#fault-control summary")
        assert "ends after the time that you give" in page.inner_text("#fault-control .help")
        page.fill("#id_for_s", "5")
        page.click("#cause-fault")
        page.wait_for_selector("#fault-control .fault")
        said = page.inner_text("#fault-control .fault")
        assert said == "Duration (paper s): must be a number from 10 to 600"
        page.fill("#id_for_s", "50")
        press(page, "#cause-fault")
        changes = "document.getElementById('changes').textContent.includes('{}')"
        when(page, changes.format("the database is slow"))
        assert rushing.scene.slow_s == 50
        assert page.inner_text("#fault-control .said").startswith("Begun at ")
        press(page, "#as-it-began")
        when(page, changes.format("the database is normal again"))


def test_without_javascript_the_page_says_what_is_needed(chromium, rushing):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", java_script_enabled=False, **SCREEN)
        assert "needs JavaScript" in page.inner_text("main")
        assert not page.locator(".now").is_visible()
        assert page.locator("#switch").is_visible()


def test_a_phone_shows_the_sentence_and_need_not_scroll_sideways(chromium, rushing, run):
    with visiting(chromium, rushing.console) as visit:
        page = visit("/watch/", **PHONE)
        when(page, f"{SENTENCE}.includes('88 requests wait')")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
