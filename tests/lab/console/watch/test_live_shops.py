"""Shops at the same time as the console sees them: which there are, and their counts."""

from dataclasses import replace

import pytest

from gateway.policies.interface import FATES, PAGES
from lab.console.watch.live_shops import LiveShops, Seen, live_shop_of
from lab.engines.live import shop_file
from lab.engines.live.shop_file import LiveShop
from lab.files.run_folder import RunFolder
from lab.results.comparison import ComparisonResult
from runtime.settings import load
from tests.lab.console.streaming import first, looks, stream
from tests.lab.console.watch.test_frames import snapshot
from tests.waiting import until

COUNTS = {"gateway": {page: dict.fromkeys(FATES, 1) for page in PAGES}}


def live_shop_here(**other):
    found = LiveShop.of(load(), COUNTS, came_at=1000.0, time_scale=10.0)
    return replace(found, **other)


def test_a_live_shop_counts_from_the_start_of_its_run():
    found = live_shop_of(Seen("run", "SQ", live_shop_here()), snapshot())
    assert found["confirms"] == 1
    assert found["counts"]["arrived"] == 8
    assert found["counts"].keys() == set(FATES)
    assert (found["title"], found["discipline"], found["waiting"]) == ("SQ", "LIFO", 3)
    assert found["waiting_by_page"][1] == 3


def test_a_run_folder_has_its_live_shop_while_customers_come(tmp_path):
    folder = RunFolder(tmp_path)
    assert shop_file.read(folder) is None
    live_shop_here(gateway_admin_port=22999).write(folder)
    found = shop_file.read(folder)
    assert found == live_shop_here(gateway_admin_port=22999)
    assert found.settings(load()).gateway_admin_port == 22999
    folder.live_shop_file.write_text('{"host": 1}')
    assert shop_file.read(folder) is None


def test_without_live_shops_a_frame_says_nothing_of_them():
    assert LiveShops(load(), lambda: ()).look(1001.0) == {}


def test_a_live_shop_that_does_not_answer_hides_them_until_the_next_look():
    gone = Seen("run", "SQ", live_shop_here(gateway_admin_port=1))
    assert LiveShops(load(), lambda: [gone]).look(1001.0) == {}


CROWDED = b"""version = 1
title = "Side by side"
at_once = "crowded"
time_scale = 20
catalogue_books = 1000
[[policy]]
name = "sq"
[[policy]]
name = "8q-lifo-pri"
[load]
rho = [0.8]
sessions = 400
"""


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_two_shops_are_watched_side_by_side(appliance, lab):
    answer = lab.upload("spec", "/upload/", "my.toml", CROWDED)
    launch = answer.url.rstrip("/").rsplit("/", 1)[-1]
    # Tables, shops and capacity come first.
    until(
        lambda: (
            list(lab.results.glob("*/runs/*/live-shop.json")) or lab.state_of(launch) == "failed"
        ),
        within_s=900,
    )
    assert lab.state_of(launch) == "running", lab.get(f"/launches/{launch}/state").text
    with stream(lab.url("/watch/stream?glance")) as events:
        seen = looks(events)
        frame = first(seen, lambda one: "live_shops" in one, "the live shops")
        assert [one["title"] for one in frame["live_shops"]] == ["SQ", "8Q-LIFO-Pri"]
        assert [one["policy"] for one in frame["live_shops"]] == ["SQ", "8Q-LIFO-Pri"]
        assert frame["run"]["words"] == "runs 1 to 2 of 2 at once: SQ | 8Q-LIFO-Pri, ρ = 0.8"
        assert "A live race is running" in lab.get("/race/").text
        assert 'data-follow="yes"' in lab.get(f"/race/waiting/{launch}/").text
        refused = lab.post("/watch/policy", {"policy": "always-lifo", "admission": "none"}).text
        assert "Each must keep its policy" in refused
        assert "Applied at " in lab.post("/watch/load", {"load_factor": "3"}).text
        later = first(
            seen,
            lambda one: min(n for _, n, _ in one.get("live_shop_totals", [(0, 0, 0)])) > 20,
            "pages of both",
        )
        assert later["live_shops_time_s"] > frame["live_shops_time_s"]
        assert later["live_shop_totals"][0][1] == later["live_shops"][0]["counts"]["answered"]
        first(seen, lambda one: "live_shops" not in one, "their end")
    lab.wait_until(launch, "done")
    name = lab.result_of(launch)
    runs = ComparisonResult(lab.results / name).whole_runs()
    assert len(runs) == 2
    for _, run in runs:
        assert run.summary().reconciles
        (change,) = run.summary().load_generator.load_changes
        assert change.factor == 3.0
        assert not run.live_shop_file.exists()
        assert not run.load_factor_file.exists()
    page = lab.get(f"/race/?result={name}").text
    assert 'data-count="2"' in page
    assert f"/race/?result={name}" in lab.get(f"/race/waiting/{launch}/").url
