"""The page of a live race that waits, while the machine is another's."""

import time
from contextlib import ExitStack

import pytest

from lab.engines.live.announcement import RunAnnouncement
from lab.engines.live.shop_file import LiveShop
from lab.results.comparison import ComparisonResult
from lab.runner import comparison
from lab.spec.experiment import Spec
from runtime.settings import load
from tests.lab.console.browsing import when
from tests.lab.console.conftest import UNANSWERED, visiting
from tests.lab.console.gateway_scene import Scene, answering, counted
from tests.lab.console.launch_rows import live_launch, write

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

RACE = Spec.model_validate(
    {
        "title": "Race: SQ, 8Q-LIFO-Pri",
        "at_once": "crowded",
        "policy": [{"name": "sq"}, {"name": "8q-lifo-pri"}],
        "load": {"rho": [1.4], "sessions": 100},
    }
)
IS_HIDDEN = "document.getElementById('live-shops').hidden"


@pytest.fixture
def race(console):
    """Return the name of a race that goes on: its runs report, and its shops have a gateway."""
    folder = ComparisonResult.create(console.results, RACE, {}, comparison.plan(RACE))
    port = int(console.environment["DOORBUSTER_GATEWAY_ADMIN_PORT"])
    here = load().changed(gateway_admin_port=port)
    shop = LiveShop.of(here, {"gateway": counted(1)}, came_at=time.time(), time_scale=10.0)
    with ExitStack() as told:
        told.enter_context(answering(Scene(), port))
        for planned in folder.plan():
            run = folder.run(planned)
            run.path.mkdir(parents=True)
            shop.write(run)
            facts = {"experiment": folder.path.name, "run": run.path.name}
            told.callback(RunAnnouncement(console.state, facts).close)
        yield folder.path.name


def test_a_race_that_waits_shows_no_other(chromium, console, race):
    other = live_launch(console, "other", "running", title="Another", result=race)
    mine = live_launch(console, "mine", "queued", title="Mine")
    with other, mine, visiting(chromium, console) as visit:
        theirs = visit("/race/waiting/other/")
        when(theirs, f"!{IS_HIDDEN}")
        page = visit("/race/waiting/mine/")
        when(page, "live.state.newest?.live_shops?.length === 2")
        assert page.evaluate(IS_HIDDEN)
        write(console, "mine", result=race)  # as if it were its own
        when(page, f"!{IS_HIDDEN}")


def test_one_answer_that_fails_does_not_end_the_waiting(chromium, console):
    other = live_launch(console, "other", "running", title="Another")
    mine = live_launch(console, "mine", "queued", title="Mine")
    with other, mine, visiting(chromium, console, bears=UNANSWERED) as visit:
        page = visit("/race/waiting/mine/")
        asked = []

        def fails_once(route):
            asked.append(route)
            route.abort() if len(asked) == 1 else route.continue_()

        page.route("**/race/waiting/mine/", fails_once)
        with page.expect_response("**/race/waiting/mine/"):
            """The one after it."""
        write(console, "mine", state="cancelled")
        page.wait_for_selector("#race-state .tag.cancelled")
